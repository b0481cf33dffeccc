"""A dashboard that is loaded every morning while its table grows: what it costs, and how far it errs: `docs/accuracy.md`.

`python -m tests.truth.growing` lets the demo's trips arrive day by day for a month, and loads twelve charts on each day with
the real gateway, engine, ledger and noise. It writes the page's table anew. Beside it the same charts are measured anew each
morning, within the same ε for the month.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from statistics import median

import duckdb

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.demo.generate import generate
from dpsql.engines.snapshot.accounts import AccountStore
from dpsql.engines.snapshot.open import open_snapshot
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.gateway import Gateway
from dpsql.policy.load import load
from dpsql.policy.model import Period
from dpsql.question import Asker, Cancellation, Settings
from dpsql.stage_times import StageTimes
from tests.support.fix_world import Client, World, running
from tests.support.memory import Memory

PAGE = Path(__file__).parent.parent.parent / "docs" / "accuracy.md"
_BEGIN, _END = "<!-- table growing -->", "<!-- end -->"
CHARTS = {
    "trips by day": "{day}, count(*)",
    "fares by day, on average": "{day}, avg(fare)",
    "money by day": "{day}, sum(total)",
    "trips by day and payment": "{day}, payment_type, count(*)",
    "tips by day, of credit cards": "{day}, avg(tip) FILTER (WHERE payment_type = 'credit card')",
    "passengers by day, on average": "{day}, avg(passenger_count)",
    "trips of several people by day": "{day}, count(*) FILTER (WHERE passenger_count > 1)",
    "spread of fares by day": "{day}, stddev(fare)",
    "trips by week": "{week}, count(*)",
    "trips by week and payment": "{week}, payment_type, count(*)",
    "trips so far": "count(*)",
    "trips up to each day": "{day}, sum(count(*)) OVER (ORDER BY {day})",
}
"""What each shows, and its columns; the last is what is judged."""
_DAY, _WEEK = "pickup_ts::date", "date_trunc('week', pickup_ts)::date"
_MARCH = "pickup_ts >= '2019-03-01' AND pickup_ts < '2019-04-01'"
FIRST, DAYS = datetime(2019, 3, 1, tzinfo=UTC), 31
WHOLE = Fraction(1)
"""ε for the month."""
_LEAST_ROWS = 1_000
"""A group of fewer is not judged: its relative error says nothing."""
_CONFIG = """\
dataset: taxi
engine: {{kind: duckdb, database: records.duckdb, snapshot: true}}
schemas: schemas
listen: {{host: 127.0.0.1, port: 5439}}
ledger: sqlite:///ledger.db
budget: {{passenger: {{epsilon: 2}}}}
roles:
  asker: {{protects: passenger, budget: {{epsilon: 2}}, per_query: {{epsilon: 0.1, least: 0.0001}}}}
users: {{}}
"""
_TABLE = """\
table: trips
expected_rows: 1_000_000
privacy_units: {{passenger: {{column: passenger_id, max_rows: {rows}}}}}
{grows}columns:
  passenger_id: {{type: integer}}
  pickup_ts: {{type: timestamp, bounds: [2019-03-01, 2019-04-01]}}
  payment_type: {{type: text, values: [cash, credit card], nullable: true}}
  passenger_count: {{type: integer, bounds: [0, 6]}}
  fare: {{type: double precision, bounds: [0, 150]}}
  tip: {{type: double precision, bounds: [0, 40]}}
  total: {{type: double precision, bounds: [0, 200]}}
"""
_GROWS = "grows: {by: pickup_ts, closes: {every: day, after: 1 day}, term: month}\n"
Cells = dict[tuple[object, ...], float]


def statement(columns: str) -> str:
    """Return a chart's statement."""
    written = columns.format(day=_DAY, week=_WEEK)
    keys = [key for key in (_DAY, _WEEK, "payment_type") if written.startswith(key) or f", {key}," in written]
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {written} FROM trips WHERE {_MARCH}{grouped}"


@dataclass
class Month:
    """A data set whose table has what came before a day, and what is asked of its copies."""

    directory: Path
    trips: Path
    world: World
    until: ExitStack
    rows: int
    grows: bool
    now: datetime = FIRST

    def __post_init__(self) -> None:
        """Write the configuration, and open the ledger."""
        (self.directory / "schemas").mkdir(parents=True)
        (self.directory / "config.yaml").write_text(_CONFIG.format(), encoding="utf-8")
        grows = _GROWS if self.grows else ""
        (self.directory / "schemas" / "trips.yaml").write_text(
            _TABLE.format(grows=grows, rows=self.rows), encoding="utf-8"
        )
        self.config = load(self.directory / "config.yaml", {})
        self.ledger = self.until.enter_context(SqliteLedger(self.directory / "ledger.db", lambda: self.now))
        self.session = self.until.enter_context(self.world.connect("ana", "taxi"))
        self.owner = self.until.enter_context(self.world.connect("dpsql_owner", "taxi"))

    @contextmanager
    def copied(self, at: datetime) -> Iterator[Callable[[str, Fraction], Cells]]:
        """Give what asks a copy that is made at a time, at an ε."""
        self.now = at
        with duckdb.connect(self.directory / "records.duckdb") as connection:
            connection.execute(f"ATTACH '{self.trips}' AS source (READ_ONLY)")
            here = f"FROM source.trips WHERE pickup_ts < '{at:%Y-%m-%d %H:%M}'"
            connection.execute(f"CREATE OR REPLACE TABLE trips AS SELECT * {here}")
        write_snapshot(self.config, lambda _: None, Cancellation(), lambda: self.now)
        engine = open_snapshot(self.config)
        try:
            assert engine.edition is not None
            assert self.config.snapshot is not None
            self.ledger.begin(engine.edition.epoch)
            store = AccountStore(
                self.config.snapshot.accounts, engine.file, self.config.snapshot.resources, b"key", engine.beside
            )
            public = self.world.public
            gateway = Gateway(
                GatewayDependencies(
                    self.config.policy,
                    engine,
                    self.ledger,
                    self.world.oracle,
                    public.declared,
                    public.rows,
                    os.urandom,
                    Period.NEVER,
                    300.0,
                    tuple,
                    StageTimes(),
                    None,
                    store if self.grows else None,
                    lambda: self.now,
                )
            )
            client = Client(gateway, self.ledger, self.session, self.owner, Asker("ana", "asker"))
            yield lambda sql, epsilon: _cells(client.ask(sql, Settings(epsilon=f"{float(epsilon):.6f}")).rows)
        finally:
            engine.close()

    @property
    def spent(self) -> Fraction:
        """Return what was charged."""
        return sum((entry.cost.epsilon for entry in self.ledger.entries(None, 10_000)), Fraction(0))

    @property
    def charges(self) -> int:
        """Return how many measurements were charged."""
        return len(self.ledger.entries(None, 10_000))


def _cells(rows: Sequence[Sequence[object]]) -> Cells:
    return {tuple(map(str, row[:-1])): float(str(row[-1])) for row in rows if row[-1] is not None}


def errors(told: Cells, truth: Cells, numbers: Cells) -> list[float]:
    """Return the relative errors of groups with enough rows; what is missing errs by all of it."""
    large = [key for key, value in truth.items() if numbers[key] >= _LEAST_ROWS and value]
    return [abs(told.get(key, 0.0) - truth[key]) / abs(truth[key]) for key in large]


def true_cells(connection: duckdb.DuckDBPyConnection, columns: str) -> tuple[Cells, Cells]:
    """Return what a chart would show exactly, and how many rows each group has."""
    keys = [key for key in ("{day}", "{week}", "payment_type") if f"{key}, " in columns]
    numbers = statement(", ".join((*keys, "count(*)")))
    shown, counted = (_cells(connection.execute(sql).fetchall()) for sql in (statement(columns), numbers))
    return shown, counted


def measured(days: int = DAYS, rows: int = 64) -> Iterator[str]:
    """Yield the lines of the table."""
    with ExitStack() as until:
        place = Path(until.enter_context(tempfile.TemporaryDirectory()))
        generate(place / "taxi.duckdb")
        config = place / "declared"
        (config / "schemas").mkdir(parents=True)
        (config / "config.yaml").write_text(_CONFIG.format(), encoding="utf-8")
        (config / "schemas" / "trips.yaml").write_text(_TABLE.format(grows="", rows=rows), encoding="utf-8")
        policy = load(config / "config.yaml", {}).policy
        world = until.enter_context(running(policy, {"ana": "asker"}, Memory(policy, public={})))
        each = WHOLE / len(CHARTS)
        grown = Month(place / "grown", place / "taxi.duckdb", world, until, rows, grows=True)
        told: dict[str, Cells] = {}
        for day in [*range(2, days), days + 2]:
            with grown.copied(FIRST + timedelta(days=day, hours=6)) as ask:
                told = {name: ask(statement(columns), each) for name, columns in CHARTS.items()}
            sys.stderr.write(f"day {day}: ε = {float(grown.spent):.3f} in {grown.charges} charges\n")
        anew = Month(place / "anew", place / "taxi.duckdb", world, until, rows, grows=False)
        with anew.copied(FIRST + timedelta(days=days + 2, hours=6)) as ask:
            again = {name: ask(statement(columns), each / days) for name, columns in CHARTS.items()}
        with duckdb.connect(place / "taxi.duckdb", read_only=True) as connection:
            for name, columns in CHARTS.items():
                truth, numbers = true_cells(connection, columns)
                both = [median(errors(answers[name], truth, numbers)) for answers in (told, again)]
                yield f"| {name} | {' | '.join(map(_shown, both))} |"
        own, others = f"{float(grown.spent):.2g}, in {grown.charges} charges", f"1, in {len(CHARTS) * days:,} charges"
        yield f"| ε for the month | {own} | {others} |"


def _shown(error: float) -> str:
    return f"{100 * error:.2g} %" if 100 * error < 99.5 else f"{100 * error:.0f} %"


def write(lines: Sequence[str]) -> None:
    """Write the page's table anew."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(_BEGIN, 1)
    _, tail = rest.split(_END, 1)
    table = "\n".join(("| | standing | measured anew each day |", "|---|---|---|", *lines))
    PAGE.write_text(f"{head}{_BEGIN}\n\n{table}\n\n{_END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    write(list(measured()))
