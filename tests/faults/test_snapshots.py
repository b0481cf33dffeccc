"""A server that answers from a copy of the records: they may change, lock and go away beside it."""

from pathlib import Path

import duckdb
import psycopg
from typer.testing import CliRunner

from dpsql.cli.main import app
from tests.clients.asked import GROUPED, LONG
from tests.clients.data import BY_PAYMENT, LONG_TRIPS
from tests.clients.site import serving
from tests.faults.controls import reload
from tests.faults.controls import write as replace


def _copy_of(connection: psycopg.Connection) -> str:
    """Return which copy answers."""
    return next(str(line) for (line,) in connection.execute(f"EXPLAIN {GROUPED}".encode()) if "Data:" in str(line))


def test_a_copy_answers_until_there_is_a_newer_one(config: Path) -> None:
    """`dpsql refresh` makes it; sessions go on, and stored answers end with the copy that they are about."""
    replace(config, "database: taxi.duckdb", "database: taxi.duckdb, snapshot: true")
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as asked:
        asked.execute("CREATE TEMP TABLE kept AS SELECT 1")
        assert asked.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        assert "snapshot of" in _copy_of(asked)
        # The server has not even opened them.
        with duckdb.connect(config.parent / "taxi.duckdb") as records:
            records.execute(
                "DELETE FROM trips WHERE payment_type = 'cash'; INSERT INTO zones VALUES (6, 'Zone 6', 'Queens')"
            )
        reload(site)
        assert asked.execute(f"{LONG} 20".encode()).fetchall() == [(LONG_TRIPS,)]
        refreshed = CliRunner().invoke(app, ["refresh", "--config", str(config)])
        assert refreshed.exit_code == 0, refreshed.output
        assert "epoch 2 has begun, with the snapshot of" in refreshed.output
        # At once: who waits for the command pays for no answer from the copy before.
        assert asked.execute(GROUPED.encode()).fetchall() == [("cash", 0), *BY_PAYMENT[1:]]
        assert asked.execute("SELECT count(*) FROM zones").fetchone() == (6,)
        assert asked.execute("TABLE kept").fetchall() == [(1,)]
    (config.parent / "taxi.duckdb").unlink()
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as asked:
        assert asked.execute(f"{LONG} 20".encode()).fetchone() != (LONG_TRIPS,)
        (charges,) = asked.execute("SELECT count(*) FROM dpsql.charges").fetchone() or (0,)
        asked.execute(GROUPED.encode())
        assert asked.execute("SELECT count(*) FROM dpsql.charges").fetchone() == (charges,)
