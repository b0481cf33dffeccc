"""All flights from New York's airports in 2013 behind dpsql: real data, a real engine, real connections."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from tests.engines.reader import READER, reading
from tests.support import clusters
from tests.support.connected import Connect, connections

HERE = Path(__file__).parent
TABLES = ("flights", "planes", "airlines", "airports")


def _fill_duckdb(database: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        for table in TABLES:
            source = HERE / "data" / f"{table}.parquet"
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{source}')")


def _fill_postgres(server: Postgres, database: Path) -> str:
    """Copy the tables from DuckDB, and return the DSN of a role that can only read them.

    All at once: what is written to a table of the same transaction is not logged, and not looked at again when it is read.
    """
    kinds = {"VARCHAR": "text", "DOUBLE": "double precision"}
    with (
        duckdb.connect(str(database), read_only=True) as source,
        psycopg.connect(server.dsn("postgres")) as target,
    ):
        target.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{server.address.secret}'")
        target.execute("CREATE SCHEMA records")
        target.execute("SET search_path = records")
        for table in TABLES:
            columns = source.execute(f"DESCRIBE {table}").fetchall()
            types = ", ".join(f'"{name}" {kinds.get(kind, kind)}' for name, kind, *_ in columns)
            target.execute(f"CREATE TABLE {table} ({types})".encode())
            csv = database.parent / f"{table}.csv"
            source.execute(f"COPY {table} TO '{csv}' (HEADER false)")
            with target.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv, FREEZE)".encode()) as copy:
                copy.write(csv.read_bytes())
        target.execute(f"GRANT USAGE ON SCHEMA records TO {READER}".encode())
        target.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA records TO {READER}".encode())
    return reading(server)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """Return a directory with the flights in DuckDB, which a server of another account may pass through."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-flights-"))
    directory.chmod(0o711)
    shutil.copytree(HERE / "schemas", directory / "schemas")
    _fill_duckdb(directory / "flights.duckdb")
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _deployed(home: Path, engine: str) -> Iterator[Path]:
    """Give a configuration with an engine, which runs."""
    text = (HERE / "config.yaml").read_text(encoding="utf-8")
    config = home / f"{engine}.yaml"
    if engine == "duckdb":
        config.write_text(text, encoding="utf-8")
        yield config
        return
    server = clusters.start(home / "engine")
    dsn = _fill_postgres(server, home / "flights.duckdb")
    other = text.replace(
        "engine: {kind: duckdb, database: flights.duckdb}", f'engine: {{kind: postgres, dsn: "{dsn}"}}'
    )
    config.write_text(other.replace("ledger.db", "ledger2.db"), encoding="utf-8")
    yield config
    server.stop()


@pytest.fixture(params=["duckdb", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    """Give the name of an engine."""
    return str(request.param)


Served = Callable[[str], Connect]


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Served]:
    """Give what serves the flights in an engine from the first time on that somebody asks, each role on one connection."""
    with ExitStack() as until:

        @cache
        def serve(engine: str) -> Connect:
            return cache(until.enter_context(connections(until.enter_context(_deployed(home, engine)))))

        yield serve


@pytest.fixture
def exact(served: Served, engine: str) -> psycopg.Connection:
    """Connect as a role whose ε is so large that the noise is far below one row."""
    return served(engine)("exact")


@pytest.fixture
def analyst(served: Served, engine: str) -> psycopg.Connection:
    """Connect as a role that pays ε = 2 a statement."""
    return served(engine)("analyst")


@pytest.fixture(scope="module")
def truth(home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return the data itself as dpsql's users are meant to see it: planes without a number left out, values clamped."""
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{home / 'flights.duckdb'}' AS f (READ_ONLY)")
    clamped = {"dep_delay": (-60, 300), "arr_delay": (-90, 300), "air_time": (0, 720), "distance": (0, 5000)}
    columns = ", ".join(
        f"CASE WHEN {c} < {low} THEN {low} WHEN {c} > {high} THEN {high} ELSE {c} END AS {c}"
        for c, (low, high) in clamped.items()
    )
    connection.execute(
        f"CREATE TABLE flights AS SELECT * REPLACE ({columns}, "
        "CASE WHEN dest IN (SELECT faa FROM f.airports) THEN dest END AS dest) FROM f.flights WHERE tailnum IS NOT NULL"
    )
    for table in TABLES[1:]:
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM f.{table}")
    yield connection
    connection.close()
