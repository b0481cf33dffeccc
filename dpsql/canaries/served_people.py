"""A server of its own over synthetic people: with one of them, or without."""

import asyncio
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import assert_never

import duckdb
import psycopg

from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.errors import ConfigError
from dpsql.open_ledger import open_ledger
from dpsql.policy.config import (
    Config,
    CopiedDatabase,
    DuckDbFile,
    DuckDbTables,
    EmbeddedShadow,
    EngineConfig,
    Listen,
    PostgresServer,
    SparkServer,
    SqliteLedgerConfig,
    User,
)
from dpsql.policy.model import (
    PUBLIC,
    Column,
    DatasetBudget,
    Policy,
    Privacy,
    Reuse,
    Role,
    RoleBudget,
    RoleLimits,
    SqlType,
    TableName,
    TrialMode,
)
from dpsql.rewrite.analysis.declared_facts import PublicRows
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.server import Server
from dpsql.shadow.server.postgres import Postgres
from dpsql.trial.cells import MadeUpCell
from dpsql.trial.engine import public_texts
from dpsql.trial.records import MadeUpRecords
from dpsql.wire.protocol.scram import Verifier

# Synthetic people in an engine of the kind that a configuration names: a file, a PostgreSQL or a Spark of our own.

_READER, _DATABASE = "dpsql_reader", "people"
_TEXTS = (SqlType.TEXT, SqlType.CHARACTER, SqlType.ENUM)
_IN_DUCKDB: Mapping[SqlType, str] = {
    SqlType.NUMERIC: "DECIMAL(38, 6)",
    SqlType.REAL: "FLOAT",
    SqlType.DOUBLE: "DOUBLE",
    SqlType.JSON: "JSON",
}
"""The types of DuckDB's columns, where PostgreSQL's name of the declared one is not theirs."""
_SAIL = """
import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
server.stop()
"""
"""It serves until its input is closed, or we are gone."""


@dataclass(frozen=True, slots=True)
class MadeUpPeople:
    """A synthetic database of a policy's shape, without one unit if that is given."""

    policy: Policy
    public: PublicRows
    records: MadeUpRecords
    without: int | None

    def tables(self) -> Iterator[tuple[str, Sequence[Column], Sequence[Sequence[MadeUpCell]]]]:
        """Yield each table with its columns and their cells, as texts."""
        tables = self.policy.tables
        for name, names, cells in public_texts(self.policy, self.public):
            yield name, [tables[name].columns[column] for column in names], cells
        for name, made in self.records.tables.items():
            # Rows of a table without units of this kind are nobody's here, and stay on both sides.
            owners = made.owners.get(self.records.kind, (None,) * len(made.rows))
            rows = [
                row
                for row, owner in zip(made.rows, owners, strict=True)
                if self.without is None or owner != self.without
            ]
            columns = [tables[name].columns[column] for column in made.columns]
            yield name, columns, [[row[n] for row in rows] for n in range(len(columns))]

    def constraints(self, name: str) -> str:
        """Return what a table's definition says besides its columns: keys through which others belong to units are unique."""
        through = [bound.through for table in self.policy.tables.values() for bound in table.units.values()]
        keys = {target.columns for target in through if target is not None and target.table == name}
        return "".join(f", UNIQUE ({', '.join(map(quote_name, key))})" for key in sorted(keys))


@contextmanager
def made_up_source(people: MadeUpPeople, like: EngineConfig, directory: Path) -> Iterator[EngineConfig]:
    """Give an engine of the same kind that holds synthetic people, for as long as the block runs.

    Raises:
        ConfigError: there is none on this machine.
    """
    match like:
        case PostgresServer():
            with _in_postgres(people, directory / "source") as engine:
                yield engine
        case SparkServer():
            files = _write(people, directory / "records.duckdb", parquet=True)
            with sail() as remote:
                yield SparkServer(remote, files)
        case DuckDbFile() | DuckDbTables() | CopiedDatabase():  # what is copied is kept in DuckDB, and asked there
            _write(people, directory / "records.duckdb", parquet=False)
            yield DuckDbFile(directory / "records.duckdb")
        case _ as never:
            assert_never(never)


def _write(people: MadeUpPeople, file: Path, *, parquet: bool) -> Mapping[str, str]:
    """Write the tables into a DuckDB file, and each into one of Parquet besides; return where Spark has the latter."""
    written: dict[str, str] = {}
    with duckdb.connect(file) as connection:
        for schema in people.policy.schemas:
            connection.execute(f"CREATE SCHEMA {quote_name(schema)}")
        for name, columns, cells in people.tables():
            where = TableName.of(name)
            table = f"{quote_name('main' if where.schema == PUBLIC else where.schema)}.{quote_name(where.name)}"
            # Each column comes as one list of texts, which unnest lays side by side. Texts that are none of the type,
            # which are made up on purpose, become NULL.
            lists = ", ".join(f"unnest(CAST(? AS VARCHAR[])) AS {quote_name(column.name)}" for column in columns)
            casts = ", ".join(
                f"TRY_CAST({quote_name(c.name)} AS {_duckdb_type(c)}) AS {quote_name(c.name)}" for c in columns
            )
            defined = ", ".join(f"{quote_name(column.name)} {_duckdb_type(column)}" for column in columns)
            connection.execute(f"CREATE TABLE {table} ({defined}{people.constraints(name)})")
            connection.execute(
                f"INSERT INTO {table} SELECT {casts} FROM (SELECT {lists})",  # noqa: S608
                [list(column) for column in cells],
            )
            if parquet:
                place = file.parent / f"{len(written)}.parquet"
                connection.execute(f"COPY {table} TO '{place}' (FORMAT parquet)")
                written[name] = f"parquet:{place}"
    return written


def _duckdb_type(column: Column) -> str:
    if column.in_numbers:
        return "BIGINT"
    return "VARCHAR" if column.type in _TEXTS else _IN_DUCKDB.get(column.type, column.type.value)


@contextmanager
def _in_postgres(people: MadeUpPeople, directory: Path) -> Iterator[PostgresServer]:
    server = Postgres.start(directory)
    try:
        with psycopg.connect(server.dsn("postgres"), autocommit=True) as owner:
            owner.execute(f"CREATE DATABASE {_DATABASE}")
            owner.execute(f"CREATE ROLE {_READER} LOGIN PASSWORD '{server.address.secret}'")
        with psycopg.connect(server.dsn(_DATABASE), autocommit=True) as owner:
            for schema in people.policy.schemas:
                owner.execute(f"CREATE SCHEMA {quote_name(schema)}".encode())
            for name, columns, cells in people.tables():
                _table(owner, name, columns, cells, people.constraints(name))
            # The server asks as it asks a real database: by a role that may read, and nothing else.
            for schema in (PUBLIC, *people.policy.schemas):
                owner.execute(f"GRANT USAGE ON SCHEMA {quote_name(schema)} TO {_READER}".encode())
                owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {quote_name(schema)} TO {_READER}".encode())
        yield PostgresServer(server.dsn(_DATABASE, _READER))
    finally:
        server.stop()


def _table(
    owner: psycopg.Connection,
    name: str,
    columns: Sequence[Column],
    cells: Sequence[Sequence[MadeUpCell]],
    constraints: str,
) -> None:
    lists, names = ", ".join(["%s::text[]"] * len(columns)), ", ".join(quote_name(column.name) for column in columns)
    types = [_postgres_type(column) for column in columns]
    defined = ", ".join(f"{quote_name(column.name)} {type_}" for column, type_ in zip(columns, types, strict=True))
    table = TableName.of(name).quoted
    owner.execute(f"CREATE TABLE {table} ({defined}{constraints})".encode())
    # PostgreSQL's own TRY_CAST, from version 16 on.
    casts = ", ".join(
        f"CASE WHEN pg_catalog.pg_input_is_valid({quote_name(c.name)}, '{type_}') THEN {quote_name(c.name)}::{type_} END"
        for c, type_ in zip(columns, types, strict=True)
    )
    owner.execute(
        f"INSERT INTO {table} SELECT {casts} FROM unnest({lists}) AS t ({names})".encode(),  # noqa: S608
        [list(column) for column in cells],
    )


def _postgres_type(column: Column) -> str:
    if column.in_numbers:
        return "bigint"
    if column.type in _TEXTS:
        return "text"
    # Of numerics the length decides in how many digits they are read.
    return column.declared if column.type is SqlType.NUMERIC else column.type.value


@contextmanager
def sail(**options: str) -> Iterator[str]:
    """Start Sail, a Spark Connect server without Java, with options by the names of their variables; give its address.

    Raises:
        ConfigError: it is not installed, or does not start.
    """
    if find_spec("pysail") is None:
        raise ConfigError(
            "synthetic people of a Spark engine need a server of their own, and Sail is not installed",
            hint="pip install pysail",
        )
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603  # our own text
        [sys.executable, "-c", _SAIL],
        stdin=pipe,
        stdout=pipe,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **options},
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        with closing(server.stdin):
            port = server.stdout.readline().strip()
            if not port:
                raise ConfigError("Sail, which is to serve synthetic people, does not start")
            yield f"sc://127.0.0.1:{port}"


# The server over them.

_USER = "dpsql_auditor"
_MUCH = Privacy(Fraction(10**15))
_SERVER_PATIENCE = 120.0
"""Seconds for a server to start."""


@dataclass(frozen=True, slots=True)
class Side:
    """A server, a session with it, and its ledger."""

    session: psycopg.Connection
    ledger: SqlLedger
    role: str

    def asked_anew(self, statements: Sequence[str]) -> list[list[tuple[object, ...]]]:
        """Return what statements answer in an epoch of their own; of one that fails no rows."""
        # Releases answer in their own epoch alone, so that each round draws new noise. The server reads the epoch in
        # the same ledger.
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
        # That a statement fails may tell of the person as well: it counts as an answer, one without rows.
        except psycopg.Error:
            return []


@contextmanager
def served_people(
    config: Config, role: Role, public: PublicRows, records: MadeUpRecords, without: int | None, directory: Path
) -> Iterator[Side]:
    """Serve synthetic people to a role that has all the budget it needs, in a directory; `without` one unit, if given.

    Raises:
        ConfigError: the server can't be started.
    """
    # Where dpsql is root its PostgreSQL is not, and has to pass through here to a directory of its own.
    directory.mkdir(mode=0o711)
    policy, password = config.policy, secrets.token_urlsafe(18)
    # A budget that no number of rounds uses up, and no answer that is read off an earlier one: each is noise of its own.
    asking = replace(role, budget=RoleBudget(_MUCH), limits=RoleLimits(10**12, 10**12), shares={}, reuse=Reuse.OFF)
    policy = replace(policy, roles={role.name: asking}, budgets={k: DatasetBudget(_MUCH) for k in policy.budgets})
    own = replace(
        config,
        policy=policy,
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
    people = MadeUpPeople(config.policy, public, records, without)
    with made_up_source(people, config.engine, directory) as engine:
        served = replace(own, engine=engine)
        with _serving(served) as address, open_ledger(served) as ledger:
            yield from _asking(address, password, ledger, served)


def _asking(address: tuple[str, int], password: str, ledger: SqlLedger, config: Config) -> Iterator[Side]:
    host, port = address
    words = {"host": host, "port": port, "user": _USER, "password": password, "dbname": config.policy.dataset}
    with psycopg.connect(**words, autocommit=True) as session:  # type: ignore[arg-type]  # words of libpq
        yield Side(session, ledger, config.users[_USER].role)


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
    if not started.wait(_SERVER_PATIENCE):
        raise ConfigError(
            f"a server over made-up people did not start within {_SERVER_PATIENCE:g} seconds",
            hint="Try it again when the machine has less to do.",
        )
    if failed:
        raise failed[0]
    try:
        yield address[0]
    finally:
        loop, end = stop[0]
        # An asyncio event may be set by its own loop's thread only.
        loop.call_soon_threadsafe(end.set)
        thread.join(_SERVER_PATIENCE)
