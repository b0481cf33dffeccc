"""A visitor's psycopg connection to dpsql's own listener: the pages have no other way to the data."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.conninfo import make_conninfo
from psycopg.types.string import TextLoader

from dpsql.bounded_rows import BoundedConnection, RowTooLong
from dpsql.errors import DpsqlError
from dpsql.libpq import OWN
from dpsql.web.site import Answer, Cells, LoginRefused, ServerLost, ServerRefused

_ANY = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 # compared with, not listened on
_PATIENCE = 10  # seconds for the log-in
_MOST_ROWS, _MOST_CHARACTERS = 5_000, 4_000_000
"""What is kept of an answer."""
_RULE = "rule: "


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens, and for which data set."""

    host: str
    port: int
    dataset: str
    tls: bool
    vouch: Callable[[str, str, str, str], Awaitable[bool]] = field(repr=False)
    """Returns whether a password is a user's, who will log in from an address as an application."""

    async def connect(self, user: str, password: str, visitor: str) -> "SqlClient":
        """Log in; see `Connect`."""
        if not user or not password:
            raise LoginRefused
        host = "127.0.0.1" if self.host in _ANY else self.host
        # For the audit trail: all visitors come from this machine's address, and this says from where they really do.
        application = f"dpsql web for {visitor}"
        try:
            # Asked within the server, and not by a log-in that fails: wrong passwords would count against the one address
            # that all visitors share.
            right = await self.vouch(user, password, host, application)
        except DpsqlError as failed:
            raise ServerRefused(failed.message, failed.hint) from None
        if not right:
            raise LoginRefused
        # The connection never leaves this machine, so its certificate need not be verified.
        mode = "require" if self.tls else "disable"
        try:
            own: dict[str, str | int | None] = {
                **OWN,
                "host": host,
                "port": self.port,
                "dbname": self.dataset,
                "user": user,
                "password": password,
                "sslmode": mode,
                "connect_timeout": _PATIENCE,
                "application_name": application,
            }
            words = make_conninfo("", **own)
            connection = await BoundedConnection.connect(words, autocommit=True)
        except (psycopg.Error, ValueError) as error:
            # psycopg has no SQLSTATE for a connection that was never made; the text is all there is.
            if "too many connections" in str(error):
                raise ServerRefused(
                    "there are too many open connections with this name; log out elsewhere first"
                ) from None
            raise LoginRefused from None
        return SqlClient(connection, (self.host, self.port))


class SqlClient:
    """A `VisitorClient`; one statement at a time."""

    def __init__(self, connection: AsyncConnection[Cells], place: tuple[str, int]) -> None:
        self._connection = connection
        self._place = place
        self._turn = asyncio.Lock()
        self._notices: list[str] = []
        self._texts: AsyncCursor[Any] = connection.cursor()
        # Only this cursor's: values stay as PostgreSQL writes them. A numeric keeps its zeros, and a date of infinity does
        # not fail.
        for known in psycopg.adapters.types:
            for oid in (known.oid, known.array_oid):
                self._texts.adapters.register_loader(oid, TextLoader)
        connection.add_notice_handler(lambda notice: self._notices.append(notice.message_primary or ""))

    @property
    def place(self) -> tuple[str, int]:
        """Return where SQL clients connect; see `VisitorClient.place`."""
        return self._place

    @property
    def busy(self) -> bool:
        """Return whether a statement is being answered."""
        return self._turn.locked()

    async def rows(self, statement: str, epsilon: str | None = None) -> list[Cells]:
        """Ask; see `VisitorClient.rows`."""
        async with self._turn:
            try:
                await self._set({} if epsilon is None else {"dpsql.epsilon": epsilon})
                cursor = await self._connection.execute(statement.encode())
                return await cursor.fetchall()
            except (psycopg.Error, RowTooLong) as error:
                raise self._failed(error) from None

    async def answer(self, statement: str, settings: Mapping[str, str] | None = None) -> Answer:
        """Ask; see `VisitorClient.answer`."""
        async with self._turn:
            try:
                await self._set(settings or {})
                self._notices.clear()
                return await self._read(statement.encode())
            except UnicodeError:
                raise ServerRefused("the text has characters that UTF-8 does not have; leave them out") from None
            except (psycopg.Error, RowTooLong) as error:
                raise self._failed(error) from None

    async def stop(self) -> None:
        """Cancel what is being answered; see `VisitorClient.stop`."""
        # Not where nothing is answered: the cancel could come late, and hit the visitor's next statement.
        if self.busy:
            with suppress(psycopg.Error):
                await self._connection.cancel_safe(timeout=_PATIENCE)

    async def _set(self, settings: Mapping[str, str]) -> None:
        """Leave no setting of an earlier statement, and make these."""
        # Back to what the connection began with, which keeps the application's name.
        await self._connection.execute("RESET ALL")
        for name, value in settings.items():
            await self._connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", (name, value))

    async def _read(self, statement: bytes) -> Answer:
        """Read rows one by one, so that an answer of any length takes no more memory than what is kept of it."""
        rows: list[tuple[str | None, ...]] = []
        left, cut = _MOST_CHARACTERS, False
        # What is streamed is one statement: the extended protocol takes no more.
        async for row in self._texts.stream(statement):
            left -= sum(len(value) for value in row if value is not None)
            if len(rows) == _MOST_ROWS or left < 0:
                cut = True
                break
            rows.append(row)
        if not rows:  # a stream without rows does not tell its columns
            await self._texts.execute(statement, prepare=True)
        described = self._texts.description or ()
        notices = tuple(dict.fromkeys(self._notices))
        return Answer(
            tuple(column.name for column in described),
            tuple(column.type_code for column in described),
            tuple(rows),
            cut,
            notices,
        )

    def _failed(self, error: psycopg.Error | RowTooLong) -> ServerRefused | ServerLost:
        """Return a failure as the pages tell it."""
        if isinstance(error, RowTooLong):
            return ServerRefused(str(error))
        if self._connection.broken or self._connection.closed:
            return ServerLost()
        said = error.diag
        detail, place = said.message_detail or "", said.statement_position
        return ServerRefused(
            said.message_primary or "the server did not answer",
            said.message_hint,
            detail.removeprefix(_RULE) if detail.startswith(_RULE) else None,
            int(place) if place else None,
        )

    async def close(self) -> None:
        """Hang up; see `VisitorClient.close`."""
        await self._connection.close()
