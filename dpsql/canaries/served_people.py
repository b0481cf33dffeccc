"""A server of its own over made-up people: with one of them, or without."""

import asyncio
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import psycopg

from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.open_ledger import open_ledger
from dpsql.policy.choices import Reuse, TrialMode
from dpsql.policy.config import Config, DuckDbFile, EmbeddedShadow, Listen, SqliteLedgerConfig, User
from dpsql.policy.model import Column, DatasetBudget, Privacy, Role, RoleBudget, RoleLimits, SqlType
from dpsql.rewrite.analysis.joined import PublicRows
from dpsql.rewrite.emit.columns import quoted
from dpsql.server import Server
from dpsql.trial.cells import MadeUpCell
from dpsql.trial.ground import public_texts
from dpsql.trial.records import MadeUpRecords
from dpsql.wire.protocol.scram import Verifier

_USER = "dpsql_auditor"
_MUCH = Privacy(Fraction(10**15))
_PATIENCE = 120.0
"""Seconds for a server to start."""
_TYPES: Mapping[SqlType, str] = {
    SqlType.NUMERIC: "DECIMAL(38, 6)",
    SqlType.REAL: "FLOAT",
    SqlType.DOUBLE: "DOUBLE",
    SqlType.TEXT: "VARCHAR",
    SqlType.CHARACTER: "VARCHAR",
    SqlType.ENUM: "VARCHAR",
}
"""The types of DuckDB's columns, where PostgreSQL's name of the declared one is not theirs."""


@dataclass(frozen=True, slots=True)
class Side:
    """A server, a session with it, and its ledger."""

    session: psycopg.Connection
    ledger: SqlLedger
    role: str

    def asked_anew(self, statements: Sequence[str]) -> list[list[tuple[object, ...]]]:
        """Return what statements answer in an epoch of their own; of one that fails no rows."""
        self.ledger.advance("audit")
        return [self._asked(sql) for sql in statements]

    def paid(self) -> float:
        """Return what the role has spent so far."""
        row = self.session.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone()
        assert row is not None
        return float(row[0])

    def _asked(self, sql: str) -> list[tuple[object, ...]]:
        try:
            return self.session.execute(sql.encode()).fetchall()
        except psycopg.Error:
            return []


@contextmanager
def served_people(
    config: Config, role: Role, public: PublicRows, records: MadeUpRecords, without: int | None, directory: Path
) -> Iterator[Side]:
    """Serve made-up people to a role that has all the budget it needs, in a directory; `without` one unit, if that is given.

    Raises:
        ConfigError: the server can't be started.
    """
    directory.mkdir(mode=0o711)
    file = directory / "records.duckdb"
    _write(config, public, records, without, file)
    policy, password = config.policy, secrets.token_urlsafe(18)
    asking = replace(role, budget=RoleBudget(_MUCH), limits=RoleLimits(10**12, 10**12), shares={}, reuse=Reuse.OFF)
    policy = replace(policy, roles={role.name: asking}, budgets={k: DatasetBudget(_MUCH) for k in policy.budgets})
    own = replace(
        config,
        policy=policy,
        engine=DuckDbFile(file),
        listen=Listen("127.0.0.1", 0),
        shadow=EmbeddedShadow(directory / "shadow"),
        ledger=SqliteLedgerConfig(directory / "ledger.db"),
        users={_USER: User(_USER, role.name, str(Verifier.of(password)))},
        web=None,
        metrics=None,
        audit=directory / "trail",
        snapshot=None,
        trial=TrialMode.OFF,
    )
    with _serving(own) as (host, port), open_ledger(own) as ledger:
        words = {"host": host, "port": port, "user": _USER, "password": password, "dbname": policy.dataset}
        with psycopg.connect(**words, autocommit=True) as session:  # type: ignore[arg-type]  # words of libpq
            yield Side(session, ledger, role.name)


@contextmanager
def _serving(config: Config) -> Iterator[tuple[str, int]]:
    """Run a server in a thread; give its address."""
    started, failed = threading.Event(), list[BaseException]()
    address, stop = list[tuple[str, int]](), list[tuple[asyncio.AbstractEventLoop, asyncio.Event]]()

    async def serve() -> None:
        async with Server(config) as server:
            end = asyncio.Event()
            address.append(server.address)
            stop.append((asyncio.get_running_loop(), end))
            started.set()
            await end.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:  # noqa: BLE001  (whoever waits is told)
            failed.append(error)
            started.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait(_PATIENCE)
    if failed:
        raise failed[0]
    try:
        yield address[0]
    finally:
        loop, end = stop[0]
        loop.call_soon_threadsafe(end.set)
        thread.join(_PATIENCE)


def _write(config: Config, public: PublicRows, records: MadeUpRecords, without: int | None, file: Path) -> None:
    """Write the tables of a made-up database."""
    with duckdb.connect(file) as connection:
        for table, columns, cells in public_texts(config.policy, public):
            _table(connection, [config.policy.tables[table].columns[name] for name in columns], table, cells)
        for table, made in records.tables.items():
            owners = made.owners.get(records.kind, (None,) * len(made.rows))
            rows = [row for row, owner in zip(made.rows, owners, strict=True) if without is None or owner != without]
            cells = [[row[n] for row in rows] for n in range(len(made.columns))]
            _table(connection, [config.policy.tables[table].columns[name] for name in made.columns], table, cells)


def _table(
    connection: duckdb.DuckDBPyConnection,
    columns: Sequence[Column],
    name: str,
    cells: Sequence[Sequence[MadeUpCell]],
) -> None:
    lists = ", ".join(f"unnest(CAST(? AS VARCHAR[])) AS {quoted(column.name)}" for column in columns)
    casts = ", ".join(f"TRY_CAST({quoted(c.name)} AS {_type(c)}) AS {quoted(c.name)}" for c in columns)
    connection.execute(
        f"CREATE TABLE {quoted(name)} AS SELECT {casts} FROM (SELECT {lists})",  # noqa: S608
        [list(column) for column in cells],
    )


def _type(column: Column) -> str:
    return "BIGINT" if column.in_numbers else _TYPES.get(column.type, column.type.value)
