"""Three drivers behind one face: connect, ask, ask many at once, cancel, and die."""

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any, Protocol

import asyncpg
import pg8000.native
import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import PipelineStatus

Outcome = object
"""The first value of an answer, or an `Oops`."""
_ABRUPT = struct.pack("ii", 1, 0)  # no farewell: the other side is reset


class Oops:
    """An error that a server told, or the end of a connection (which has no code)."""

    def __init__(self, sqlstate: str | None, text: str) -> None:
        self.sqlstate = sqlstate
        self.text = text


class Driver(Protocol):
    """One connection at a time."""

    pipelines: bool
    """Whether it sends several statements at once."""

    @property
    def alive(self) -> bool:
        """Return whether there is a connection that can be used."""

    async def connect(self) -> None:
        """Log in."""

    async def ask(self, statements: Sequence[str]) -> list[Outcome]:
        """Return the outcome of each statement; one where the driver sends one at a time."""

    async def cancel(self) -> None:
        """Cancel what runs."""

    def die(self) -> None:
        """Leave as a process that is killed."""


def hang_up(descriptor: int) -> None:
    """End a connection abruptly; the driver finds out by itself, and closes it."""
    with socket.socket(fileno=os.dup(descriptor)) as raw, contextlib.suppress(OSError):
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABRUPT)
        raw.shutdown(socket.SHUT_RDWR)


class Psycopg:
    """psycopg, which sends several statements as a pipeline of libpq's."""

    pipelines = True

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.AsyncConnection[Any] | None = None

    @property
    def alive(self) -> bool:
        """Return whether there is a connection that can be used."""
        return self._connection is not None and not self._connection.closed

    async def connect(self) -> None:
        """Log in."""
        # Without prepared statements, which psycopg loses where a pipeline fails, also with a plain PostgreSQL.
        self._connection = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True, prepare_threshold=None)

    async def ask(self, statements: Sequence[str]) -> list[Outcome]:
        """Return the outcome of each statement."""
        assert self._connection is not None
        if len(statements) == 1:
            return [await self._one(statements[0])]
        outcomes: list[Outcome] = []
        with contextlib.suppress(psycopg.Error):
            async with self._connection.pipeline():
                cursors = [await self._connection.execute(statement.encode()) for statement in statements]
                outcomes += [await _first(cursor) for cursor in cursors]
        if self._connection.pgconn.pipeline_status is not PipelineStatus.OFF:
            # psycopg does not come out of a pipeline of which it has left results unread.
            await self._connection.close()
        return outcomes + [Oops("25P02", "the pipeline broke")] * (len(statements) - len(outcomes))

    async def _one(self, statement: str) -> Outcome:
        assert self._connection is not None
        try:
            return await _first(await self._connection.execute(statement.encode()))
        except psycopg.Error as failed:
            return Oops(failed.sqlstate, str(failed))

    async def cancel(self) -> None:
        """Cancel what runs."""
        if self._connection is None:
            return
        with contextlib.suppress(psycopg.Error):
            await self._connection.cancel_safe(timeout=10)

    def die(self) -> None:
        """Leave as a process that is killed."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.closed:
            hang_up(connection.fileno())


async def _first(cursor: psycopg.AsyncCursor[Any]) -> Outcome:
    """Return the first value of an answer, or its error."""
    try:
        row = await cursor.fetchone()
    except (psycopg.errors.PipelineAborted, psycopg.ProgrammingError) as failed:
        # One before it has failed.
        return Oops(failed.sqlstate or "25P02", str(failed))
    except psycopg.Error as failed:
        return Oops(failed.sqlstate, str(failed))
    return None if row is None else row[0]


class Asyncpg:
    """asyncpg, which prepares everything and reads binary rows."""

    pipelines = False

    def __init__(self, dsn: str) -> None:
        told = conninfo_to_dict(dsn)
        self._where = {name: told[name] for name in ("host", "port", "user", "password")} | {"database": told["dbname"]}
        self._connection: Any = None

    @property
    def alive(self) -> bool:
        """Return whether there is a connection that can be used."""
        return self._connection is not None and not self._connection.is_closed()

    async def connect(self) -> None:
        """Log in."""
        self._connection = await asyncpg.connect(**self._where, ssl=False, timeout=60)

    async def ask(self, statements: Sequence[str]) -> list[Outcome]:
        """Return the outcome of a statement."""
        (statement,) = statements
        return [await self._one(statement)]

    async def _one(self, statement: str) -> Outcome:
        try:
            return await self._connection.fetchval(statement)
        except asyncpg.ConnectionDoesNotExistError as failed:
            return Oops(None, str(failed))
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as failed:
            return Oops(getattr(failed, "sqlstate", None), str(failed))

    async def cancel(self) -> None:
        """Cancel what runs by dying: asyncpg waits for ever where a cancel comes too early."""
        self.die()

    def die(self) -> None:
        """Leave as a process that is killed."""
        if self._connection is not None and not self._connection.is_closed():
            self._connection.terminate()


class Pg8000:
    """pg8000, which is Python alone and waits on a thread."""

    pipelines = False

    def __init__(self, dsn: str) -> None:
        told = conninfo_to_dict(dsn)
        self._where = {name: told[name] for name in ("host", "port", "user", "password")} | {"database": told["dbname"]}
        self._connection: Any = None

    @property
    def alive(self) -> bool:
        """Return whether there is a connection that can be used."""
        return self._connection is not None

    async def connect(self) -> None:
        """Log in."""
        where = {**self._where, "port": int(str(self._where["port"]))}
        self._connection = await asyncio.to_thread(
            pg8000.native.Connection, **where, timeout=60, ssl_context=False, tcp_keepalive=False
        )

    async def ask(self, statements: Sequence[str]) -> list[Outcome]:
        """Return the outcome of a statement."""
        (statement,) = statements
        return [await asyncio.to_thread(self._one, statement)]

    def _one(self, statement: str) -> Outcome:
        if self._connection is None:
            return Oops(None, "the connection is gone")
        try:
            rows = self._connection.run(statement)
        except pg8000.native.DatabaseError as failed:
            told = failed.args[0]
            code = told.get("C") if isinstance(told, dict) else None
            if code is None or told.get("S") == "FATAL":
                self._connection = None
            return Oops(code, str(told))
        except (pg8000.native.InterfaceError, OSError, struct.error, AttributeError) as failed:
            self._connection = None
            return Oops(None, str(failed))
        return rows[0][0] if rows else None

    async def cancel(self) -> None:
        """Cancel what runs by dying: pg8000 has no other way."""
        self.die()

    def die(self) -> None:
        """Leave as a process that is killed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            hang_up(connection._usock.fileno())


DRIVERS: dict[str, type[Psycopg | Asyncpg | Pg8000]] = {"psycopg": Psycopg, "asyncpg": Asyncpg, "pg8000": Pg8000}
