"""One log-in to dpsql for one call of a tool: each has a session of its own, so that nothing of one is left for another."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import AsyncConnection, AsyncRawCursor
from psycopg.conninfo import make_conninfo

from dpsql.bounded_rows import BoundedConnection, RowTooLong
from dpsql.errors import DpsqlError
from dpsql.plots.margins import NOT_THAT_WAY

_Rows = list[tuple[Any, ...]]
_PATIENCE = 10
"""Seconds for the log-in."""
_RULE = "rule: "
_ONE_AT_A_TIME = "ask one statement a call; WITH puts several questions into one."
_AS_TEXT = "Cast it to text; what was paid for is free when it is asked again."
_LOG_IN = "Give the server's address to `dpsql mcp`, with a user, and the password in PGPASSWORD or a password file."


class AgentRefused(DpsqlError, sqlstate="0A000"):
    """A refusal as an agent reads it instead of an answer, in one text: many hand on nothing else."""


class RefusedForm(AgentRefused, sqlstate="0A000"):
    """What refuses a statement for how it is written, before anything of it is paid."""


@dataclass(frozen=True, slots=True)
class Login:
    """Where dpsql listens, and who logs in there."""

    address: str
    """A connection string of libpq; what it leaves out is libpq's environment."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    advice: str = _LOG_IN
    """The next step where the log-in fails."""

    @asynccontextmanager
    async def session(self) -> AsyncIterator["AgentSession"]:
        """Log in, and hang up at the end.

        Raises:
            AgentRefused: the log-in fails.
        """
        given = {name: value for name, value in (("user", self.user), ("password", self.password)) if value is not None}
        try:
            words = make_conninfo(self.address, client_encoding="UTF8", **given)
            connection = await BoundedConnection.connect(
                words, autocommit=True, connect_timeout=_PATIENCE, application_name="dpsql mcp"
            )
        except (psycopg.Error, UnicodeError) as failed:
            raise AgentRefused(f"not logged in to dpsql: {_first_line(failed)} {self.advice}") from None
        async with connection:
            yield AgentSession(connection)


class AgentSession:
    """Asks one statement at a time; errors are such as an agent can act on."""

    def __init__(self, connection: AsyncConnection[tuple[Any, ...]]) -> None:
        self._connection = connection
        self.notices: list[str] = []
        connection.add_notice_handler(lambda notice: self.notices.append(notice.message_primary or ""))

    async def rows(self, statement: str, values: Sequence[object] = ()) -> _Rows:
        """Return all rows of a statement of ours."""
        return await (await self.ask(statement, values)).fetchall()

    async def ask(self, statement: str, values: Sequence[object] = ()) -> AsyncRawCursor[tuple[Any, ...]]:
        """Return a cursor over the answer to one statement, which may not be several.

        Raises:
            AgentRefused: dpsql refuses it, or it fails.
        """
        cursor = AsyncRawCursor(self._connection)
        try:
            return await cursor.execute(statement.encode(), values, prepare=True)  # what is prepared is one statement
        except psycopg.Error as failed:
            raise AgentRefused(told(failed)) from None
        except RowTooLong as failed:
            raise AgentRefused(str(failed)) from None
        except UnicodeError:
            raise AgentRefused("the text has characters that UTF-8 does not have; leave them out") from None

    async def ask_for(self, query: str, most: int, longest: int) -> tuple[list[str], _Rows, int]:
        """Return the names of a query's columns, its first rows, and how many there were after these, which are not kept.

        These are at most `most`, and have at most `longest` characters together.

        Raises:
            AgentRefused: dpsql refuses it, or it fails.
        """
        cursor, kept, more = AsyncRawCursor(self._connection), list[tuple[Any, ...]](), 0
        try:
            async for row in cursor.stream(query.encode()):
                if len(kept) == most or more or (longest := longest - sum(map(len, map(str, row)))) < 0:
                    more += 1
                else:
                    kept.append(row)
        except psycopg.DataError as unfit:
            if unfit.sqlstate is not None:
                raise AgentRefused(told(unfit)) from None
            raise AgentRefused(f"a value of the answer can't be shown: {unfit}. {_AS_TEXT}") from None
        except psycopg.Error as failed:
            kind = RefusedForm if (failed.sqlstate or "")[:2] in NOT_THAT_WAY else AgentRefused
            raise kind(told(failed)) from None
        except RowTooLong as failed:
            raise AgentRefused(str(failed)) from None
        if not kept and not more:  # a stream without rows does not tell its columns
            with suppress(AgentRefused):
                cursor = await self.ask(f"SELECT * FROM (\n{query}\n) AS answer LIMIT 0")  # noqa: S608 # their text
        return [column.name for column in cursor.description or ()], kept, more

    async def set(self, name: str, value: str | None) -> None:
        """Set one of dpsql's own settings, if there is a value."""
        if value:
            await self.ask("SELECT pg_catalog.set_config($1, $2, false)", (name, value))


def told(failed: psycopg.Error) -> str:
    """Return an error as one text: the mistake, by which rule, and what to write instead."""
    said = failed.diag
    if said.message_primary is None:
        return f"dpsql did not answer: {_first_line(failed)}"
    by_rule = (said.message_detail or "").startswith(_RULE)
    place = f", at character {said.statement_position}" if said.statement_position else ""
    parts = [f"Refused ({said.sqlstate}{place}): {said.message_primary}."]
    hint = (
        _ONE_AT_A_TIME
        if said.sqlstate == "42601" and "multiple commands" in said.message_primary
        else said.message_hint
    )
    parts += [f"Instead: {hint}"] if hint else []
    parts += [f"By {said.message_detail}; nothing was paid."] if by_rule else []
    return "\n".join(parts)


def _first_line(failed: Exception) -> str:
    return (str(failed).strip().splitlines() or [type(failed).__name__])[-1]
