"""The engine stopped, permissions revoked, tables altered, files replaced: nothing is charged, and all comes back."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import duckdb
import psycopg
import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from dpsql.shadow.server.postgres import Postgres
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT, write
from tests.clients.site import Site, configure, serving
from tests.faults.engine_server import engine_server, of, use
from tests.support import clusters

TRIES = 10
VISITS = """
table: visits
privacy_units:
  passenger: {column: passenger_id, max_rows: 1}
columns:
  passenger_id: {type: integer}
  fee: {type: integer, bounds: [0, 100]}
"""
MISFIT = 'column "fare" of table "trips": the engine has no such column'
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


def test_a_new_column_stops_nothing(directory: Path, source: Postgres) -> None:
    """Nobody has declared it."""
    config = use(configure(directory), of(source))
    with (
        serving(config) as site,
        psycopg.connect(site.dsn, autocommit=True) as connection,
        psycopg.connect(source.dsn("postgres"), autocommit=True) as owner,
    ):
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        owner.execute("ALTER TABLE rides.trips ADD more INT")
        assert connection.execute(ANOTHER.encode()).fetchall() == [(1920,)]


def test_an_alteration_that_fits_is_taken(directory: Path, source: Postgres) -> None:
    """A statement that comes before costs nothing, and sessions stay."""
    config = use(configure(directory), of(source))
    with (
        serving(config) as site,
        psycopg.connect(site.dsn, autocommit=True) as connection,
        psycopg.connect(source.dsn("postgres"), autocommit=True) as owner,
    ):
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        before = _spent(connection)
        owner.execute("ALTER TABLE rides.trips ALTER COLUMN fare TYPE numeric(9, 2)")
        with pytest.raises(psycopg.OperationalError, match="nothing was charged"):
            connection.execute(ANOTHER.encode())
        assert _spent(connection) == before
        assert _answered(connection, ANOTHER) == [(1920,)]


def test_an_alteration_that_does_not_fit_stops_its_own_table(directory: Path, source: Postgres) -> None:
    """Monitors and the log name table and column, and `dpsql check` does; when it is undone all goes on."""
    config = use(configure(directory), of(source))
    (directory / "declared/visits.yaml").write_text(VISITS, encoding="utf-8")
    config.write_text(config.read_text() + "web: {host: 127.0.0.1, port: 0}\n")
    with psycopg.connect(source.dsn("postgres"), autocommit=True) as owner, (directory / "log").open("w+") as log:
        owner.execute("CREATE TABLE rides.visits AS SELECT n AS passenger_id, n AS fee FROM generate_series(1, 70) n")
        owner.execute("GRANT SELECT ON rides.visits TO reader")
        with serving(config, log=log) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
            assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
            owner.execute("ALTER TABLE rides.trips RENAME fare TO price")
            for _ in range(TRIES):
                with pytest.raises(psycopg.OperationalError, match="nothing was charged"):
                    connection.execute(ANOTHER.encode())
                assert connection.execute("SELECT count(*) FROM visits").fetchall() == [(70,)]
            _see_ready(site, f"ready\n{MISFIT}\n")
            with pytest.raises(psycopg.OperationalError, match="nothing was charged"):
                connection.execute(ANOTHER.encode())
            assert connection.execute("SELECT sum(fee) FROM visits").fetchall() == [(2485,)]
            log.seek(0)
            assert MISFIT in log.read()
            checked = CliRunner().invoke(app, ["check", "--config", str(config)])
            assert (checked.exit_code, MISFIT in checked.output, "no mistake" in checked.output) == (1, True, False)
            owner.execute("ALTER TABLE rides.trips RENAME price TO fare")
            assert _answered(connection, ANOTHER) == [(1920,)]
            _see_ready(site, "ready\n")


def _answered(connection: psycopg.Connection, sql: str) -> list[tuple[object, ...]]:
    """Ask until it is answered, within a minute."""
    until = time.monotonic() + 60
    while True:
        try:
            return connection.execute(sql.encode()).fetchall()
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.1)


def _see_ready(site: Site, text: str) -> None:
    """See that monitors soon hear this, and never that nothing is answered."""
    until = time.monotonic() + 60
    while True:
        with urlopen(f"{site.pages}ready") as said:  # noqa: S310
            heard = said.read().decode()
        if heard == text:
            return
        assert time.monotonic() < until, heard
        time.sleep(0.1)


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
