"""A log-in to dpsql, and its session: what one call of a tool sets by its arguments is gone in the next."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import psycopg
from psycopg import AsyncConnection, AsyncRawCursor, pq
from psycopg.conninfo import make_conninfo
from psycopg.types.string import TextLoader

from dpsql.bounded_rows import BoundedConnection, RowTooLong
from dpsql.errors import DpsqlError
from dpsql.plots.margins import NOT_THAT_WAY

_Rows = list[tuple[Any, ...]]
_PATIENCE = 10
"""Seconds for the log-in."""
_RULE = "rule: "
_ONE_AT_A_TIME = "ask one statement a call; WITH puts several questions into one."
_AS_TEXT = "Cast it to text; what was paid for is free when it is asked again."
# false: for the session. With true a setting would end with its own transaction, which is its own statement here
# (autocommit).
_SETTING = "SELECT pg_catalog.set_config($1, $2, false)"
_NO_LABEL = re.compile(r'invalid input value for enum (.+): "')
_LABELS = """
SELECT pg_catalog.quote_literal(enumlabel) FROM pg_catalog.pg_enum
WHERE enumtypid = pg_catalog.to_regtype($1) ORDER BY enumsortorder
"""
_ARGUMENTS = "epsilon|error|reuse|empty_groups"
_SET = re.compile(rf"SET dpsql\.({_ARGUMENTS}) = ('[^']*')")
_OWN = re.compile(rf"\bdpsql\.({_ARGUMENTS})\b")
_ELSEWHERE = {
    "\\d and dpsql.columns show what there is": "describe shows what there is",
    "dpsql.columns has the columns": "describe has the columns",
    "in the table dpsql.columns, at no cost": "in describe, at no cost",
    "see dpsql.columns": "see describe",
}
"""Where people look things up, and where agents do."""
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
        session = await self.opened()
        try:
            yield session
        finally:
            session.hang_up()

    async def opened(self) -> "AgentSession":
        """Log in, and return the session, which has to be hung up.

        Raises:
            AgentRefused: the log-in fails.
        """
        # What is None is left to libpq: PGUSER, PGPASSWORD or a password file, as `dpsql mcp` is used over standard input and
        # output.
        given = {name: value for name, value in (("user", self.user), ("password", self.password)) if value is not None}
        try:
            words = make_conninfo(self.address, client_encoding="UTF8", **given)
            connection = await BoundedConnection.connect(
                words, autocommit=True, connect_timeout=_PATIENCE, application_name="dpsql mcp"
            )
        except (psycopg.Error, UnicodeError) as failed:
            raise AgentRefused(f"not logged in to dpsql: {_words_of(failed)} {self.advice}") from None
        return AgentSession(connection)


class AgentSession:
    """Asks one statement at a time; errors are such as an agent can act on."""

    def __init__(self, connection: AsyncConnection[tuple[Any, ...]]) -> None:
        self._connection = connection
        self.notices: list[str] = []
        """What the server has said since somebody looked."""
        self.news: list[str] = []
        """What became of the session itself before this call."""
        self._before: dict[str, str] = {}
        connection.add_notice_handler(lambda notice: self.notices.append(for_agents(notice.message_primary or "")))
        # Python's has no months: two are not sixty days.
        connection.adapters.register_loader("interval", TextLoader)

    @property
    def is_lost(self) -> bool:
        """Return whether the connection is closed, by us or by the server."""
        return self._connection.closed

    def begin(self, news: str | None = None) -> None:
        """Begin a call, which may be told what became of the session before it."""
        self.notices.clear()
        self.news = [] if news is None else [news]

    async def settle(self) -> None:
        """End a call: no transaction is left open, and settings are as they were before its arguments."""
        if self.is_lost:
            return
        before, self._before = self._before, {}
        try:
            # First the transaction, which a call may have begun (BEGIN): in a failed one no setting could be made, and its
            # rollback would take back those that were.
            if self._connection.info.transaction_status is not pq.TransactionStatus.IDLE:
                await self._connection.rollback()
            for name, value in before.items():
                await self.ask(_SETTING, (name, value))
        except (AgentRefused, psycopg.Error):  # nobody knows how it is now
            self.hang_up()

    def hang_up(self) -> None:
        """Close the connection at once, also where something is under way."""
        # Nothing is awaited: this runs where a task has been cancelled, and in timers.
        self._connection.pgconn.finish()

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
            raise AgentRefused(await self._told(failed)) from None
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
            # Read to the end, so that the rest can be counted. After the first row that is left out all are, shorter ones
            # too: what is told are the first rows, without a gap.
            async for row in cursor.stream(query.encode()):
                if len(kept) == most or more or (longest := longest - sum(map(len, map(str, row)))) < 0:
                    more += 1
                else:
                    kept.append(row)
        except psycopg.DataError as unfit:
            # Without a SQLSTATE it is psycopg's own: a value that Python has no form for, such as a date of infinity. The
            # server has answered, and what was charged stays.
            if unfit.sqlstate is not None:
                raise AgentRefused(await self._told(unfit)) from None
            raise AgentRefused(f"a value of the answer can't be shown: {unfit}. {_AS_TEXT}") from None
        except psycopg.Error as failed:
            kind = RefusedForm if (failed.sqlstate or "")[:2] in NOT_THAT_WAY else AgentRefused
            raise kind(error_text(failed)) from None
        except RowTooLong as failed:
            raise AgentRefused(str(failed)) from None
        if not kept and not more:  # a stream without rows does not tell its columns
            with suppress(AgentRefused):
                # The line feeds end a comment at the query's end, which would hide the bracket.
                cursor = await self.ask(f"SELECT * FROM (\n{query}\n) AS answer LIMIT 0")  # noqa: S608 # their text
        return [column.name for column in cursor.description or ()], kept, more

    async def _told(self, failed: psycopg.Error) -> str:
        """Return an error as one text; of an enumeration with its labels, of which PostgreSQL names the wrong one alone."""
        text, wrong = error_text(failed), _NO_LABEL.match(failed.diag.message_primary or "")
        if wrong is None:
            return text
        labels: Sequence[tuple[Any, ...]] = ()
        with suppress(psycopg.Error):
            labels = await (await AsyncRawCursor(self._connection).execute(_LABELS, (wrong[1],))).fetchall()
        return f"{text}\nInstead: one of {', '.join(label for (label,) in labels)}" if labels else text

    async def set(self, settings: Mapping[str, str | None]) -> None:
        """Set those of dpsql's own settings that have a value, until the call is settled."""
        for name, value in settings.items():
            if value:
                ((before,),) = await self.rows("SELECT pg_catalog.current_setting($1, true)", (name,))
                await self.ask(_SETTING, (name, value))
                # setdefault: what is set twice in a call goes back to what it was before the call. NULL is what a session
                # never had; an empty value is none to dpsql (`gateway.session_settings`).
                self._before.setdefault(name, before or "")


def error_text(failed: psycopg.Error) -> str:
    """Return an error as one text: the mistake, by which rule, and what to write instead."""
    said = failed.diag
    if said.message_primary is None:
        return f"dpsql did not answer: {_words_of(failed)}"
    by_rule = (said.message_detail or "").startswith(_RULE)
    place = f", at character {said.statement_position}" if said.statement_position else ""
    parts = [f"Refused ({said.sqlstate}{place}): {for_agents(said.message_primary)}."]
    # Several statements at once are an error of PostgreSQL's ("cannot insert multiple commands into a prepared statement"),
    # whose words name nothing that an agent can do.
    hint = (
        _ONE_AT_A_TIME
        if said.sqlstate == "42601" and "multiple commands" in said.message_primary
        else said.message_hint
    )
    parts += [f"Instead: {for_agents(hint)}"] if hint else []
    parts += [f"By {said.message_detail}; nothing was paid."] if by_rule else []
    return "\n".join(parts)


def for_agents(text: str) -> str:
    """Return a text of the server's with what an agent can do in the place of what somebody does in psql.

    SET dpsql.reuse = 'off' asks afresh → the argument reuse='off' asks afresh.
    """
    text = _SET.sub(r"the argument \1=\2", text)
    text = _OWN.sub(r"\1", text)
    for written, meant in _ELSEWHERE.items():
        text = text.replace(written, meant)
    return text


def _words_of(failed: Exception) -> str:
    """Return the last of what libpq says, with the lines that belong to it, which are indented."""
    lines = str(failed).strip().splitlines() or [type(failed).__name__]
    begin = max((place for place, line in enumerate(lines) if not line.startswith("\t")), default=0)
    return " ".join(line.strip() for line in lines[begin:])


# Sessions that last for a conversation, so that temporary tables and settings do: of one log-in, and nobody else's.
#
# Over standard input and output a process is one conversation. Over HTTP requests know nothing of each other, so a
# conversation has a name, which the agent makes up. It is kept by the log-in and the name, and only once dpsql has let the
# log-in in. A call without a name has a session of its own.

IDLE = 600.0
"""Seconds without a call after which a session is ended."""
MOST_OF_ONE, MOST = 4, 64
"""Sessions that are kept of one log-in, and of all: beyond them those end that were idle longest."""
_LOST = "the session of this conversation was lost, and with it its temporary tables and settings"
_Key = tuple[Login, str]


class Sessions(Protocol):
    """Where calls have their session from: a log-in by itself, or one in a conversation."""

    def session(self) -> AbstractAsyncContextManager[AgentSession]:
        """Give a session for one call."""


@dataclass(slots=True)
class _Kept:
    """A session between calls, of which there is one at a time."""

    session: AgentSession | None = None
    calls: int = 0
    """Those that have it or wait for it."""
    used: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One log-in in one conversation."""

    of: "Conversations"
    login: Login
    name: str

    def session(self) -> AbstractAsyncContextManager[AgentSession]:
        """Give the conversation's session for one call."""
        return self.of.session(self.login, self.name)


class Conversations:
    """Keeps sessions by log-in and name; each call leaves its own as it would be without the call's arguments."""

    def __init__(self, *, idle: float = IDLE, most_of_one: int = MOST_OF_ONE, most: int = MOST) -> None:
        self._kept: dict[_Key, _Kept] = {}
        self._idle, self._most_of_one, self._most = idle, most_of_one, most

    @asynccontextmanager
    async def session(self, login: Login, name: str) -> AsyncIterator[AgentSession]:
        """Give a conversation's session, once no other call has it.

        Raises:
            AgentRefused: the log-in fails.
        """
        key = (login, name)
        # There before the log-in is tried, so that two calls at once wait for one lock; gone below if nobody gets in. Counted
        # before the lock is waited for: what has calls is never ended to make room, nor as idle.
        kept = self._kept.setdefault(key, _Kept())
        kept.calls += 1
        try:
            async with kept.lock:
                # The server may have hung up since the last call, by a restart or because the user was removed.
                was_lost = kept.session is not None and kept.session.is_lost
                if kept.session is None or was_lost:
                    kept.session = await login.opened()
                    # After the log-in: a stranger with a wrong password ends nobody's session.
                    self._make_room(login)
                session = kept.session
                session.begin(_LOST if was_lost else None)
                try:
                    yield session
                except AgentRefused:
                    # A refusal is an answer like others, and the session goes on.
                    await session.settle()
                    raise
                except BaseException:  # in the middle of an answer, or of what was to be sent
                    session.hang_up()
                    raise
                await session.settle()
        finally:
            kept.calls -= 1
            kept.used = time.monotonic()
            # `is kept`: `end` takes away entries that are in use, too, and another may have begun under the same key.
            if kept.calls == 0 and kept.session is None and self._kept.get(key) is kept:
                del self._kept[key]
            elif kept.calls == 0:
                # A timer for each call. Of several that of the last call ends the session: the others find that it was used
                # since.
                asyncio.get_running_loop().call_later(self._idle, self._end_idle, key, kept)

    def end(self) -> None:
        """End all sessions."""
        for key in list(self._kept):
            self._end(key)

    def _end_idle(self, key: _Key, kept: _Kept) -> None:
        # 0.99, since a timer may come early by the clock's resolution, and no other follows it.
        if self._kept.get(key) is kept and not kept.calls and time.monotonic() - kept.used >= self._idle * 0.99:
            self._end(key)

    def _make_room(self, login: Login) -> None:
        """End what was idle longest, where there is too much."""
        while (key := self._surplus([key for key in self._kept if key[0] == login], self._most_of_one)) is not None:
            self._end(key)
        while (key := self._surplus(list(self._kept), self._most)) is not None:
            self._end(key)

    def _surplus(self, keys: list[_Key], most: int) -> _Key | None:
        # All are counted, and only those that nobody uses are ended: where all are in use there may be more than `most`.
        idle = [key for key in keys if not self._kept[key].calls]
        return min(idle, key=lambda key: self._kept[key].used, default=None) if len(keys) > most else None

    def _end(self, key: _Key) -> None:
        session = self._kept.pop(key).session
        if session is not None:
            session.hang_up()
