"""Two engines with the same tables: DuckDB in a file, PostgreSQL in a server of its own."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.accounting.privacy_loss import Charge, issue
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.policy.model import Privacy
from dpsql.shadow.server.postgres import Postgres
from tests.engines.nasty import Engines, ddl
from tests.engines.reader import READER, reading
from tests.support import clusters
from tests.support.dialects import DUCKDB, POSTGRES


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """Give an empty server."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-test-"))
    directory.chmod(0o711)
    started = clusters.start(directory / "engine")
    with psycopg.connect(started.dsn("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{started.address.secret}'")
    yield started
    started.stop()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def owner(server: Postgres) -> Iterator[psycopg.Connection]:
    """Give the owner's connection to a fresh schema, which the reader finds."""
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS records CASCADE")
        connection.execute("CREATE SCHEMA records")
        connection.execute(f"GRANT USAGE ON SCHEMA records TO {READER}")
        connection.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA records GRANT SELECT ON TABLES TO {READER}")
        connection.execute("SET search_path = records")
        yield connection


@pytest.fixture
def reader_dsn(server: Postgres) -> str:
    """Give the DSN of a role that can only read."""
    return reading(server)


@pytest.fixture
def charge() -> Charge:
    """Give a charge, as a ledger would."""
    return issue(frozenset({"test"}), Privacy(Fraction(1)))


@pytest.fixture
def duck(tmp_path: Path) -> Iterator[Callable[[str], DuckDb]]:
    """Give a way to open an engine over a file made by some SQL."""
    opened: list[DuckDb] = []

    def make(sql: str) -> DuckDb:
        path = tmp_path / f"records{len(opened)}.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(sql)
        opened.append(DuckDb(path))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()


@pytest.fixture
def postgres(owner: psycopg.Connection, reader_dsn: str) -> Iterator[Callable[[str], PostgresEngine]]:
    """Give a way to open an engine over tables made by some SQL."""
    opened: list[PostgresEngine] = []

    def make(sql: str) -> PostgresEngine:
        owner.execute(sql.encode())
        opened.append(PostgresEngine(reader_dsn, {}))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()


@pytest.fixture(scope="session")
def engines(server: Postgres) -> Iterator[Engines]:
    """Give the table of nasty values in both engines."""
    with duckdb.connect() as duck, psycopg.connect(server.dsn("postgres"), autocommit=True) as pg:
        pg.execute(ddl(POSTGRES).encode())
        duck.execute(ddl(DUCKDB))
        yield Engines(duck, pg)
