"""`dpsql serve` and `dpsql adopt` on ledgers that are another data set's, or gone."""

import asyncio
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner, Result

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem, OpeningWay
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.cli.main import app
from dpsql.open_ledger import _dataset, open_ledger, place_of_ledger
from dpsql.policy.config import Config
from dpsql.policy.load import load
from dpsql.policy.model import Privacy
from dpsql.server import Server
from tests.policy.fix_config import write_files
from tests.support import clusters


def run(*words: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, words)


def make(path: Path) -> None:
    """Make a DuckDB file with the tables of the configuration."""
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE zones (zone_id INTEGER, borough VARCHAR)")
        connection.execute("INSERT INTO zones VALUES (1, 'Queens')")
        connection.execute(
            "CREATE TABLE trips (passenger_id INTEGER, pickup_ts TIMESTAMP, day DATE, zone INTEGER, payment VARCHAR, "
            "fare DECIMAL(10, 2), seats SMALLINT)"
        )


def spend(config: Config) -> None:
    """Let the role pay ε = 1/10."""
    account = Account("ana", config.policy.roles["owner"], config.policy.budgets["passenger"])
    items = [ChargeItem("a", Privacy(Fraction(1, 10)), "count")]
    with open_ledger(config) as ledger, ledger.open_statement(account, "SELECT 1", items) as statement:
        statement.store("a", b"release")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a configuration whose role has spent something, beside a DuckDB file with other records."""
    file = write_files(tmp_path, {"config.yaml": ("port: 5439", "port: 0")})
    for name in ("taxi", "other"):
        make(tmp_path / f"{name}.duckdb")
    spend(load(file, {}))
    return file


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("dataset: taxi", "dataset: bikes", 'is that of the data set "taxi", not of "bikes"'),
        ("database: taxi.duckdb", "database: other.duckdb", "other.duckdb"),
    ],
)
def test_another_data_set_is_not_served_with_the_ledger(file: Path, old: str, new: str, told: str) -> None:
    """It is refused until somebody says that it is the same; what was charged stays charged."""
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    refused = run("serve", "--config", str(file))
    assert (refused.exit_code, told in refused.stderr, "dpsql adopt" in refused.stderr) == (1, True, True)
    adopted = run("adopt", "--config", str(file))
    assert (adopted.exit_code, "stored answers are forgotten, charges are not" in adopted.stdout) == (0, True)
    assert "ε 0.1" in run("budget", "--config", str(file)).stdout
    again = run("adopt", "--config", str(file))
    assert again.exit_code == 1
    assert again.stderr.startswith("ERROR: the ledger is that of the data set ")


def test_a_ledger_that_is_gone_stops_the_start(file: Path) -> None:
    """Of every command that would make one; the hint says how to go on, and that way goes on."""
    (file.parent / "ledger.db").unlink()
    clusters.prepare(file.parent / ".dpsql" / "shadow")
    for command in ("serve", "budget", "refresh", "adopt"):
        refused = run(command, "--config", str(file))
        assert (refused.exit_code, "is gone" in refused.stderr) == (1, True)
        assert "dpsql serve --new-ledger" in refused.stderr
        assert not (file.parent / "ledger.db").exists()

    async def serve() -> None:
        async with Server(load(file, {}), OpeningWay.ANEW):
            pass

    asyncio.run(serve())
    assert "ε 5" in run("budget", "--config", str(file)).stdout


def test_a_ledger_that_is_ahead_is_told_of(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By `serve` at its start, and by `check`, with what to do."""
    config = load(file, {})
    ahead = datetime.now(UTC) + timedelta(days=400)
    account = Account("ana", config.policy.roles["owner"], config.policy.budgets["passenger"])
    item = ChargeItem("b", Privacy(Fraction(1, 10)), "count")
    with (
        SqliteLedger(place_of_ledger(config), lambda: ahead, _dataset(config)) as ledger,
        ledger.open_statement(account, "SELECT 1", [item]),
    ):
        pass

    async def serve() -> None:
        async with Server(config):
            pass

    asyncio.run(serve())
    assert f"the ledger has lines of {ahead:%Y-%m-%d}" in caplog.text
    assert "dpsql ledger redate" in run("check", "--config", str(file)).stdout
    run("ledger", "redate", "--yes", "--config", str(file))
    caplog.clear()
    asyncio.run(serve())
    assert "which is to come" not in caplog.text + run("check", "--config", str(file)).stdout
