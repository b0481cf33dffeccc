"""The demo's data."""

import stat
from pathlib import Path

import duckdb
import pytest

from dpsql.demo import trips as module
from dpsql.demo.trips import generate
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.tables import require_tables
from dpsql.policy.load import load

SMALL = 20_000
CONFIG = Path(__file__).parent.parent.parent / "config.yaml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file of trips."""
    path = tmp_path_factory.mktemp("demo") / "new" / "taxi.duckdb"
    generate(path, SMALL)
    return path


def _ask(path: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(path, read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_the_file_has_what_the_demo_declares(made: Path) -> None:
    """Tables, columns and types are those of the schema files."""
    engine = DuckDb(made)
    require_tables(load(CONFIG, {}).policy, engine)
    engine.close()


def test_the_same_trips_every_time(made: Path, tmp_path: Path) -> None:
    """Two files hold the same rows."""
    again = tmp_path / "again.duckdb"
    generate(again, SMALL)
    everything = "SELECT count(*), sum(hash(trips)) FROM trips"
    assert _ask(again, everything) == _ask(made, everything)


def test_most_values_are_within_the_declared_bounds(made: Path) -> None:
    """Clamping touches few rows, and some: real records are dirty."""
    ((inside, number),) = _ask(
        made,
        "SELECT count(*) FILTER (WHERE fare BETWEEN 0 AND 150 AND tip BETWEEN 0 AND 40 AND total BETWEEN 0 AND 200"
        " AND trip_distance BETWEEN 0 AND 30 AND payment_type IN ('cash', 'credit card')), count(*) FROM trips",
    )
    assert isinstance(inside, int)
    assert isinstance(number, int)
    assert 0.95 * number < inside < number


def test_dirt(made: Path) -> None:
    """There are NULLs, NaNs, undeclared payments and unknown zones; refunds are below zero."""
    (holds,) = _ask(
        made,
        "SELECT count(*) FILTER (WHERE payment_type IS NULL) > 0, count(*) FILTER (WHERE isnan(trip_distance)) > 0,"
        " count(*) FILTER (WHERE payment_type = 'dispute') > 0, count(*) FILTER (WHERE pickup_zone = 999) > 0,"
        " count(*) FILTER (WHERE fare < 0) > 0, bool_and(NOT isinf(trip_distance)) FROM trips",
    )
    assert holds == (True,) * 6


def test_some_ride_more_often_than_the_bound(made: Path) -> None:
    """Passengers are heavy-tailed: a few pass max_rows, and limiting them loses little."""
    ((most, kept),) = _ask(
        made,
        "SELECT max(n), sum(least(n, 20)) / sum(n) FROM (SELECT count(*) AS n FROM trips GROUP BY passenger_id)",
    )
    assert isinstance(most, int)
    assert isinstance(kept, float)
    assert most > 20
    assert 0.85 < kept < 1


def test_nobody_else_may_read_it(made: Path) -> None:
    """The records are private."""
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_a_failure_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a file is never seen, nor left behind."""

    def fail(path: Path, number: int) -> None:
        path.write_text(f"{number} rows begun")
        raise OSError("disk full")

    monkeypatch.setattr(module, "_write", fail)
    with pytest.raises(OSError, match="disk full"):
        generate(tmp_path / "taxi.duckdb", SMALL)
    assert list(tmp_path.iterdir()) == []
