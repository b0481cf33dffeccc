"""A visitor's psycopg connection to dpsql's own listener: the pages have no other way to the data."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Literal

from dpsql.errors import DpsqlError
from dpsql.libpq import OWN
from dpsql.web.site import Cells, Gone, LoginRefused, Refused

_ANY = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 # compared with, not listened on
_PATIENCE = 10  # seconds for the log-in


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
        application = f"dpsql web for {visitor}"
        try:
            right = await self.vouch(user, password, host, application)
        except DpsqlError as failed:
            raise Refused(failed.message, failed.hint) from None
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
            connection = await AsyncConnection.connect(words, autocommit=True)
        except (psycopg.Error, ValueError) as error:
            if "too many connections" in str(error):
                raise Refused("there are too many open connections with this name; log out elsewhere first") from None
            raise LoginRefused from None
        return SqlClient(connection)


class SqlClient:
    """A `VisitorClient`; one statement at a time."""

    def __init__(self, connection: AsyncConnection[Cells]) -> None:
        self._connection = connection
        self._turn = asyncio.Lock()

    async def rows(self, statement: str, epsilon: str | None = None) -> list[Cells]:
        """Ask; see `VisitorClient.rows`."""
        async with self._turn:
            try:
                if epsilon is None:
                    await self._connection.execute("RESET dpsql.epsilon")
                else:
                    await self._connection.execute(SQL("SET dpsql.epsilon = {}").format(Literal(epsilon)))
                cursor = await self._connection.execute(statement.encode())
                return await cursor.fetchall()
            except psycopg.Error as error:
                if self._connection.broken or self._connection.closed:
                    raise Gone from None
                message = error.diag.message_primary or "the server did not answer"
                raise Refused(message, error.diag.message_hint) from None

    async def close(self) -> None:
        """Hang up; see `VisitorClient.close`."""
        await self._connection.close()
