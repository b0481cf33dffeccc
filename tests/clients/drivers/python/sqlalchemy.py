"""SQLAlchemy on the driver that the first word names; its inspector tells tables and columns."""

import asyncio
import ssl
import sys
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from tests.clients.matrix.scripted import Steps, none, only_utf8
from tests.clients.matrix.told import BOUND, GROUPED, ROOT, SLOW, WHERE, Partly, url

DRIVER = sys.argv[1]
_CHECKED: dict[str, dict[str, Any]] = {
    "psycopg": {"sslmode": "verify-full", "sslrootcert": ROOT, "channel_binding": "require"},
    "psycopg2": {"dsn": BOUND},
    "asyncpg": {"ssl": ssl.create_default_context(cafile=ROOT)},
    "pg8000": {"ssl_context": ssl.create_default_context(cafile=ROOT)},
}
CHECKED = _CHECKED[DRIVER]
ENCRYPTED = {"asyncpg": {"ssl": "require"}, "pg8000": {"ssl_context": True}}.get(DRIVER, {"sslmode": "require"})


class Alchemy(Steps):
    """The way of synchronous drivers."""

    def __init__(self) -> None:
        self.engine = sa.create_engine(
            url(f"postgresql+{DRIVER}"), connect_args=ENCRYPTED, isolation_level="AUTOCOMMIT"
        )
        self.session = self.engine.connect()

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        return _rows(self.session, statement, *values)

    def sqlstate(self, failed: Any) -> object:
        return _sqlstate(failed)

    def tls(self) -> object:
        with sa.create_engine(url(f"postgresql+{DRIVER}"), connect_args=CHECKED).connect() as bound:
            _rows(bound, GROUPED)
            return self.bound(bound.connection.driver_connection)

    def bound(self, driver: Any) -> str:
        """Return `bound` for what a driver says of the log-in; libpq was told to require it."""
        return "bound" if DRIVER != "pg8000" else driver.auth.mechanism_name.replace("SCRAM-SHA-256-PLUS", "bound")

    def tables(self) -> object:
        return sorted(sa.inspect(self.engine).get_table_names())

    def columns(self) -> object:
        return [column["name"] for column in sa.inspect(self.engine).get_columns("trips")]

    def cursor(self) -> object:
        with self.engine.connect() as session:
            streaming = session.execution_options(isolation_level="READ COMMITTED", stream_results=True, yield_per=2)
            return [list(row) for row in streaming.execute(sa.text(GROUPED))]

    def stop(self) -> None:
        driver: Any = self.session.connection.driver_connection
        driver.cancel_safe() if DRIVER == "psycopg" else driver.cancel()

    def encode(self, name: str) -> None:
        if DRIVER == "psycopg2":
            driver: Any = self.session.connection.driver_connection
            driver.set_client_encoding(name)
        else:
            self.session.execute(sa.text(f"SET client_encoding TO '{name}'"))


class OnPg8000(Alchemy):
    """What pg8000 lacks."""

    cancel = none("pg8000 has no call that cancels")


class OnAsyncpg(Steps):
    """The asynchronous way."""

    encodings = only_utf8("asyncpg speaks UTF-8 alone")

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        address = url("postgresql+asyncpg")
        self.engine = create_async_engine(address, connect_args=ENCRYPTED, isolation_level="AUTOCOMMIT")
        self.session = self.runner.run(self.engine.connect().start())

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        return self.runner.run(self.session.run_sync(_rows, statement, *values))

    def sqlstate(self, failed: Any) -> object:
        return _sqlstate(failed)

    def tls(self) -> object:
        async def bound() -> None:
            async with create_async_engine(url("postgresql+asyncpg"), connect_args=CHECKED).connect() as session:
                await session.run_sync(_rows, GROUPED)

        self.runner.run(bound())
        return Partly("bound", "asyncpg knows no channel binding; checks certificate and name")

    def tables(self) -> object:
        return sorted(self.runner.run(self.session.run_sync(lambda session: sa.inspect(session).get_table_names())))

    def columns(self) -> object:
        told = self.runner.run(self.session.run_sync(lambda session: sa.inspect(session).get_columns("trips")))
        return [column["name"] for column in told]

    def cursor(self) -> object:
        async def steps() -> object:
            async with self.engine.connect() as session:
                own = await session.execution_options(isolation_level="READ COMMITTED", yield_per=2)
                return [list(row) async for row in await own.stream(sa.text(GROUPED))]

        return self.runner.run(steps())

    def cancel(self) -> object:
        async def stopped() -> object:
            async with self.engine.connect() as session:
                try:
                    await asyncio.wait_for(session.execute(sa.text(SLOW)), 0.4)
                except TimeoutError:
                    return "stopped"
                return "answered"

        told = self.runner.run(stopped())
        self.ask(WHERE)
        return told


def _rows(session: sa.Connection, statement: str, *values: object) -> Sequence[Any]:
    return session.execute(sa.text(statement), {f"p{n}": value for n, value in enumerate(values, start=1)}).fetchall()


def _sqlstate(failed: Any) -> object:
    raised = failed.orig
    if DRIVER == "pg8000":
        return raised.args[0].get("C")
    return raised.pgcode if DRIVER == "psycopg2" else raised.sqlstate


{"asyncpg": OnAsyncpg, "pg8000": OnPg8000}.get(DRIVER, Alchemy)().tell()
