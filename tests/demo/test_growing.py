"""The demo that grows, with its own server and a clock whose hands a test moves: charts grow, and the budget stands still."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.cli.commands.demo import Growth, serve
from dpsql.demo.growing_trips import BEGINS, GROWS, MAX_ROWS, Arrivals, HurriedClock, growing_config
from dpsql.demo.setting import demo_config, new_passwords, packaged_config
from dpsql.demo.trips import generate
from dpsql.policy.config import Config
from dpsql.policy.load import load
from dpsql.private_files import Scratch

_DAILY = (
    "SELECT pickup_ts::date AS day, count(*) FROM trips "
    "WHERE pickup_ts >= '2019-03-01' AND pickup_ts < '2019-04-01' GROUP BY 1 ORDER BY 1"
)
_PATIENCE = 90.0
_YAML = """\
grows: {by: pickup_ts, closes: {every: day, after: 1 day}, term: month}
privacy_units:
  passenger: {column: passenger_id, max_rows: 100}
  driver: {column: driver_id, max_rows: 500}
"""
Told = dict[date, int]


class _Hands:
    """Seconds that pass as a test says, of which a minute is a day."""

    def __init__(self) -> None:
        self.passed = 0.0

    def __call__(self) -> float:
        return self.passed

    def move_to(self, day: int, hour: int = 0) -> None:
        """Let it be a moment after the demo's beginning."""
        self.passed = 60 * (day + hour / 24)


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A demo of a few trips, in which nothing has begun."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpsql.demo.setting.generate", lambda path: generate(path, 40_000))
    return demo_config(tmp_path, new_passwords(), 0)


def test_time_passes_by_the_minute() -> None:
    """It stands still until it is started."""
    hands = _Hands()
    clock = HurriedClock(passing=hands)
    hands.move_to(5)
    assert clock() == BEGINS
    clock.start()
    hands.move_to(7, 12)
    assert clock() == BEGINS + timedelta(days=2, hours=12)


def test_it_is_what_a_file_would_say(demo: Config, tmp_path: Path) -> None:
    """The declaration that pages show, read as every other is."""
    home = packaged_config().parent
    text = (home / "schemas" / "trips.yaml").read_text(encoding="utf-8")
    head, rest = text.split("privacy_units:\n")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "trips.yaml").write_text(
        f"{head}{_YAML}columns:{rest.split('columns:')[1]}", encoding="utf-8"
    )
    (tmp_path / "schemas" / "zones.yaml").write_bytes((home / "schemas" / "zones.yaml").read_bytes())
    written = (home / "config.yaml").read_text(encoding="utf-8").replace("taxi.duckdb}", "taxi.duckdb, snapshot: true}")
    (tmp_path / "config.yaml").write_text(written, encoding="utf-8")
    policy, made = load(tmp_path / "config.yaml").policy, growing_config(demo, tmp_path)[0].policy
    assert policy.tables["trips"] == made.tables["trips"]
    assert policy.tables["trips"].grows == GROWS
    assert {kind: unit.max_rows for kind, unit in policy.tables["trips"].units.items()} == MAX_ROWS
    assert policy.fingerprint == made.fingerprint


def test_trips_arrive_at_noon_and_all_of_them(demo: Config, tmp_path: Path) -> None:
    """Those of the day before; what is there is never half there."""
    _, arrivals = growing_config(demo, tmp_path)

    def there() -> tuple[int, datetime]:
        with duckdb.connect(arrivals.records, read_only=True) as connection:
            row = connection.execute("SELECT count(*), max(pickup_ts) FROM trips").fetchone()
        assert row is not None
        return row

    first, last = there()
    assert last < datetime(2019, 3, 8)  # noqa: DTZ001
    arrivals.let_in(datetime(2019, 3, 9, tzinfo=UTC))
    second, last = there()
    assert first < second
    assert datetime(2019, 3, 8) < last < datetime(2019, 3, 9)  # noqa: DTZ001
    asyncio.run(asyncio.wait_for(arrivals.arrive(lambda: datetime(2019, 4, 1, 13, tzinfo=UTC)), _PATIENCE))
    assert there()[0] == 40_000


@pytest.mark.usefixtures("demo")
def test_charts_grow_and_the_budget_stands_still(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same chart on three mornings: a day more on each, for what was paid on the first."""
    hands, passwords = _Hands(), new_passwords()
    monkeypatch.setattr("dpsql.demo.growing_trips._LOOK", 0.05)

    async def mornings() -> None:
        with Scratch("dpsql-demo-", mode=0o711) as scratch:
            config, arrivals = growing_config(demo_config(scratch.path, passwords, 0), scratch.path)
            serving = asyncio.create_task(serve(config, passwords, Growth(HurriedClock(passing=hands), arrivals)))
            try:
                link = await _link(capsys, serving)
                await asyncio.to_thread(_look, link, hands, arrivals)
            finally:
                if not serving.done():
                    os.kill(os.getpid(), signal.SIGINT)
                await serving

    asyncio.run(mornings())


async def _link(capsys: pytest.CaptureFixture[str], serving: "asyncio.Task[None]") -> str:
    said = ""
    while "a day lasts a minute" not in said and not serving.done():
        await asyncio.sleep(0.1)
        said += capsys.readouterr().out
    assert "2019-03-06" in said
    assert "2019-03-07" not in said
    return next(line.removeprefix("connect: ") for line in said.splitlines() if line.startswith("connect: "))


def _look(link: str, hands: _Hands, arrivals: Arrivals) -> None:
    """Ask the chart, let days come, and ask it again."""
    with psycopg.connect(link, autocommit=True) as connection:

        def told() -> Told:
            return dict(connection.execute(_DAILY.encode()).fetchall())

        def spent() -> object:
            return connection.execute("SELECT epsilon_spent FROM dpsql.budget").fetchall()

        first, paid = told(), spent()
        assert list(first) == [date(2019, 3, day) for day in range(1, 7)]
        for morning in (1, 2):
            hands.move_to(morning)
            later = _told_of(6 + morning, told)
            assert list(later) == [date(2019, 3, day) for day in range(1, 7 + morning)]
            assert first.items() <= later.items()
            assert spent() == paid
            hands.move_to(morning, 13)
            _wait_for_arrival(arrivals, BEGINS + timedelta(days=morning))
        assert later[date(2019, 3, 8)] > 0
        begun = connection.execute("SELECT state, term, periods FROM dpsql.standing").fetchall()
        assert begun == [("stands", "2019-03", 8)]


def _told_of(days: int, told: Callable[[], Told]) -> Told:
    """Return what is told, once it is of so many days."""
    end = time.monotonic() + _PATIENCE
    while len(later := told()) < days:
        assert time.monotonic() < end
        time.sleep(0.1)
    return later


def _wait_for_arrival(arrivals: Arrivals, until: datetime) -> None:
    end = time.monotonic() + _PATIENCE
    while arrivals.until != until:
        assert time.monotonic() < end
        time.sleep(0.1)
