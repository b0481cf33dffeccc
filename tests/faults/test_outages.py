"""The engine stopped, permissions revoked, tables altered, files replaced: nothing is charged, and all comes back."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT, write
from tests.clients.site import Site, configure, serving
from tests.faults.engine_server import engine_server, of, use
from tests.support import clusters

TRIES = 10
ANOTHER = "SELECT count(*) FROM trips WHERE fare > 20"


@pytest.fixture
def source(directory: Path) -> Iterator[Postgres]:
    """Give a PostgreSQL server with the tables."""
    with engine_server(directory) as server:
        yield server


@contextmanager
def _started(directory: Path) -> Iterator[Postgres]:
    """Start the server again where it was."""
    server = clusters.start(directory / "source")
    yield server
    server.stop()


def _spent(connection: psycopg.Connection) -> object:
    return connection.execute("SELECT epsilon_spent FROM dpsql.budget").fetchall()


def _refused(connection: psycopg.Connection, sqlstate: str) -> None:
    """See that tries fail in one way and cost nothing, while what was answered before is answered."""
    before = _spent(connection)
    for _ in range(TRIES):
        with pytest.raises(psycopg.OperationalError, match="nothing was charged") as caught:
            connection.execute(ANOTHER.encode())
        assert caught.value.sqlstate == sqlstate
        assert caught.value.diag.message_hint
    assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
    assert _spent(connection) == before


def _reload(site: Site) -> None:
    assert site.process is not None
    assert site.process.stdout is not None
    site.process.send_signal(signal.SIGHUP)
    assert site.process.stdout.readline() == "reloaded\n"


def test_a_stopped_server_costs_nothing(directory: Path, source: Postgres) -> None:
    """Neither does one that is up again and lets nobody in; the first question after that is answered."""
    config = use(configure(directory), of(source))
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        source.stop()
        _refused(connection, "08001")
        with _started(directory) as again, psycopg.connect(again.dsn("postgres"), autocommit=True) as owner:
            owner.execute("ALTER ROLE reader NOLOGIN")
            _refused(connection, "08001")
            owner.execute("ALTER ROLE reader LOGIN")
            assert connection.execute(ANOTHER.encode()).fetchall() == [(1920,)]


def test_what_is_not_permitted_costs_nothing(directory: Path, source: Postgres) -> None:
    """Until it is granted again; nothing has to be restarted."""
    config = use(configure(directory), of(source))
    with (
        serving(config) as site,
        psycopg.connect(site.dsn, autocommit=True) as connection,
        psycopg.connect(source.dsn("postgres"), autocommit=True) as owner,
    ):
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        owner.execute("REVOKE SELECT ON rides.trips FROM reader")
        _refused(connection, "57P03")
        owner.execute("GRANT SELECT ON rides.trips TO reader")
        assert connection.execute(ANOTHER.encode()).fetchall() == [(1920,)]


@pytest.mark.parametrize(
    "change", ["ALTER TABLE rides.trips ALTER COLUMN fare TYPE numeric(9, 2)", "ALTER TABLE rides.trips ADD more INT"]
)
def test_an_altered_table_costs_nothing(directory: Path, source: Postgres, change: str) -> None:
    """Until the configuration is read again, and with it the engine's catalogue."""
    config = use(configure(directory), of(source))
    with (
        serving(config) as site,
        psycopg.connect(site.dsn, autocommit=True) as connection,
        psycopg.connect(source.dsn("postgres"), autocommit=True) as owner,
    ):
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        owner.execute(change.encode())
        _refused(connection, "57P03")
        _reload(site)
        assert connection.execute(ANOTHER.encode()).fetchall() == [(1920,)]


@pytest.mark.parametrize("kind", ["duckdb", "parquet", "csv"])
def test_a_replaced_file_costs_nothing(directory: Path, kind: str) -> None:
    """Until the configuration is read again: then the new records count, and old answers stay until the epoch ends."""
    config = configure(directory)
    if kind != "duckdb":
        _export(directory, kind, 3_000)
        use(config, f"engine: {{kind: duckdb, tables: {{trips: trips.{kind}, zones: zones.{kind}}}}}")
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        if kind == "duckdb":
            _fewer(directory, 50)
        else:
            _export(directory, kind, 50)
        _refused(connection, "57P03")
        _reload(site)
        assert connection.execute(ANOTHER.encode()).fetchall() == [(32,)]
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        assert len(list((directory / ".dpsql/spill").iterdir())) == 1
    assert list((directory / ".dpsql/spill").iterdir()) == []


def _export(directory: Path, kind: str, rows: int) -> None:
    """Write the tables as files, each put in its place at once."""
    with duckdb.connect(directory / "taxi.duckdb", read_only=True) as connection:
        for table in ("zones", "trips"):
            select = f"SELECT * FROM {table} LIMIT {rows}"
            connection.execute(f"COPY ({select}) TO '{directory}/new' (FORMAT {kind})")
            (directory / "new").replace(directory / f"{table}.{kind}")


def _fewer(directory: Path, rows: int) -> None:
    write(directory / "new.duckdb")
    with duckdb.connect(directory / "new.duckdb") as connection:
        connection.execute(f"CREATE TEMP TABLE kept AS SELECT * FROM trips LIMIT {rows}")
        connection.execute("DELETE FROM trips; INSERT INTO trips SELECT * FROM kept")
    (directory / "new.duckdb").replace(directory / "taxi.duckdb")
