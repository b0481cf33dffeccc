"""A dashboard that is loaded every morning while its table grows: what it costs, and how far it errs: `docs/accuracy.md`.

`python -m tests.truth.growing` lets the demo's trips arrive day by day for a month, and loads twelve charts on each day with
the real gateway, engine, ledger and noise. It writes the page's table anew. Beside it the same charts are measured anew each
morning, within the same ε for the month. With `--year` the same trips arrive in a year, and three users load the charts,
daily in the first and the last month.
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
from dpsql.clock import StageTimes
from dpsql.demo.trips import generate
from dpsql.engines.snapshot.accounts import AccountStore
from dpsql.engines.snapshot.open import open_snapshot
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.gateway import Gateway
from dpsql.policy.config import Config
from dpsql.policy.load import load
from dpsql.policy.model import Period
from dpsql.question import Asker, Cancellation, Settings
from tests.support.fix_world import Client, World, running
from tests.support.memory import Memory

PAGE = Path(__file__).parent.parent.parent / "docs" / "accuracy.md"
_BEGIN, _YEAR, _END = "<!-- table growing -->", "<!-- table growing year -->", "<!-- end -->"
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
DAYS = 31
WHOLE = Fraction(1)
"""ε for the term."""
USERS = {"ana": "asker", "bob": "asker", "eve": "other"}
"""Who loads the charts, with their roles; in the month the first alone."""
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
  asker: {{protects: passenger, budget: {{epsilon: 2}}, per_query: {{epsilon: 0.1, least: 0.00001}}}}
  other: {{protects: passenger, budget: {{epsilon: 2}}, per_query: {{epsilon: 0.1, least: 0.00001}}}}
users: {{}}
"""
_TABLE = """\
table: trips
expected_rows: 1_000_000
privacy_units: {{passenger: {{column: passenger_id, max_rows: {rows}}}}}
{grows}columns:
  passenger_id: {{type: integer}}
  pickup_ts: {{type: timestamp, bounds: [{first}, {end}]}}
  payment_type: {{type: text, values: [cash, credit card], nullable: true}}
  passenger_count: {{type: integer, bounds: [0, 6]}}
  fare: {{type: double precision, bounds: [0, 150]}}
  tip: {{type: double precision, bounds: [0, 40]}}
  total: {{type: double precision, bounds: [0, 200]}}
"""
_GROWS = "grows: {{by: pickup_ts, closes: {{every: day, after: 1 day}}, term: {term}}}\n"
Cells = dict[tuple[object, ...], float]


@dataclass(frozen=True, slots=True)
class Span:
    """A term in which the demo's trips arrive, and their times in it."""

    term: str
    first: datetime
    days: int
    time: str = "pickup_ts"

    @property
    def end(self) -> datetime:
        """Return the moment at which it is over."""
        return self.first + timedelta(days=self.days)

    @property
    def mornings(self) -> Sequence[int]:
        """Return the days on which charts are loaded: each of the first and the last month, and one a week between them."""
        between = range(DAYS, self.days - DAYS, 7)
        return [
            *range(2, min(DAYS, self.days)),
            *between,
            *range(max(DAYS, self.days - DAYS), self.days),
            self.days + 2,
        ]

    @property
    def where(self) -> str:
        """Return the condition of the term's trips."""
        return f"pickup_ts >= '{self.first:%Y-%m-%d}' AND pickup_ts < '{self.end:%Y-%m-%d}'"


MARCH = Span("month", datetime(2019, 3, 1, tzinfo=UTC), DAYS)
YEAR = Span(
    "year",
    datetime(2019, 1, 1, tzinfo=UTC),
    365,
    "TIMESTAMP '2019-01-01' + to_microseconds((epoch_us(pickup_ts) - epoch_us(TIMESTAMP '2019-03-01')) * 365 // 31)",
)
"""The same trips in twelve times the days."""


def statement(columns: str, span: Span = MARCH) -> str:
    """Return a chart's statement."""
    written = columns.format(day=_DAY, week=_WEEK)
    keys = [key for key in (_DAY, _WEEK, "payment_type") if written.startswith(key) or f", {key}," in written]
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {written} FROM trips WHERE {span.where}{grouped}"


def declared(directory: Path, rows: int, span: Span, *, grows: bool) -> Config:
    """Write a configuration, and return it."""
    (directory / "schemas").mkdir(parents=True)
    (directory / "config.yaml").write_text(_CONFIG.format(), encoding="utf-8")
    line = _GROWS.format(term=span.term) if grows else ""
    text = _TABLE.format(grows=line, rows=rows, first=f"{span.first:%Y-%m-%d}", end=f"{span.end:%Y-%m-%d}")
    (directory / "schemas" / "trips.yaml").write_text(text, encoding="utf-8")
    return load(directory / "config.yaml", {})


@dataclass
class Month:
    """A data set whose table has what came before a day, and what is asked of its copies."""

    directory: Path
    trips: Path
    world: World
    until: ExitStack
    rows: int
    grows: bool
    span: Span = MARCH
    now: datetime = MARCH.first

    def __post_init__(self) -> None:
        """Write the configuration, and open the ledger."""
        self.config = declared(self.directory, self.rows, self.span, grows=self.grows)
        self.ledger = self.until.enter_context(SqliteLedger(self.directory / "ledger.db", lambda: self.now))
        self.sessions = {user: self.until.enter_context(self.world.connect(user, "taxi")) for user in USERS}
        self.owner = self.until.enter_context(self.world.connect("dpsql_owner", "taxi"))

    @contextmanager
    def copied(self, at: datetime) -> Iterator[Callable[[str, Fraction, str], Cells]]:
        """Give what asks a copy that is made at a time, at an ε, as a user."""
        self.now = at
        with duckdb.connect(self.directory / "records.duckdb") as connection:
            connection.execute(f"ATTACH '{self.trips}' AS source (READ_ONLY)")
            times = f"SELECT * REPLACE ({self.span.time} AS pickup_ts) FROM source.trips"
            connection.execute(f"CREATE TABLE IF NOT EXISTS trips AS {times} LIMIT 0")
            # What has come since the last morning; the strange times of some trips come with the first.
            since = "SELECT coalesce(max(pickup_ts), TIMESTAMP '1900-01-01') FROM trips"
            until = f"pickup_ts < '{at:%Y-%m-%d %H:%M}'"
            connection.execute(f"INSERT INTO trips SELECT * FROM ({times}) WHERE pickup_ts > ({since}) AND {until}")
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
            clients = {
                user: Client(gateway, self.ledger, session, self.owner, Asker(user, USERS[user]))
                for user, session in self.sessions.items()
            }
            yield lambda sql, epsilon, user: _cells(
                clients[user].ask(sql, Settings(epsilon=f"{float(epsilon):.8f}")).rows
            )
        finally:
            engine.close()

    @property
    def spent(self) -> Fraction:
        """Return what was charged."""
        return sum((entry.cost.epsilon for entry in self.ledger.entries(None, 10_000)), Fraction(0))

    def spent_by(self, role: str) -> Fraction:
        """Return what was charged to a role."""
        every = self.ledger.entries(role, 10_000)
        return sum((entry.cost.epsilon for entry in every), Fraction(0))

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


def true_cells(connection: duckdb.DuckDBPyConnection, columns: str, span: Span) -> tuple[Cells, Cells]:
    """Return what a chart would show exactly, and how many rows each group has."""
    keys = [key for key in ("{day}", "{week}", "payment_type") if f"{key}, " in columns]
    numbers = statement(", ".join((*keys, "count(*)")), span)
    shown, counted = (_cells(connection.execute(sql).fetchall()) for sql in (statement(columns, span), numbers))
    return shown, counted


def measured(span: Span = MARCH, rows: int = 64, users: Sequence[str] = ("ana",)) -> Iterator[str]:
    """Yield the lines of a table."""
    with ExitStack() as until:
        place = Path(until.enter_context(tempfile.TemporaryDirectory()))
        generate(place / "taxi.duckdb")
        policy = declared(place / "declared", rows, span, grows=False).policy
        world = until.enter_context(running(policy, USERS, Memory(policy, public={})))
        each, days = WHOLE / len(CHARTS), span.days
        grown = Month(place / "grown", place / "taxi.duckdb", world, until, rows, grows=True, span=span)
        told: dict[str, Cells] = {}
        for day in span.mornings:
            with grown.copied(span.first + timedelta(days=day, hours=6)) as ask:
                every = [
                    {name: ask(statement(columns, span), each, user) for name, columns in CHARTS.items()}
                    for user in users
                ]
            told = every[0]
            if any(other != told for other in every):
                raise AssertionError(f"users see different charts on day {day}")
            sys.stderr.write(f"day {day}: ε = {float(grown.spent):.3f} in {grown.charges} charges\n")
        anew = Month(place / "anew", place / "taxi.duckdb", world, until, rows, grows=False, span=span)
        with anew.copied(span.first + timedelta(days=days + 2, hours=6)) as ask:
            again = {name: ask(statement(columns, span), each / days, "ana") for name, columns in CHARTS.items()}
        with duckdb.connect(place / "anew" / "records.duckdb", read_only=True) as connection:
            for name, columns in CHARTS.items():
                truth, numbers = true_cells(connection, columns, span)
                both = [median(errors(answers[name], truth, numbers)) for answers in (told, again)]
                yield f"| {name} | {' | '.join(map(_shown, both))} |"
        spent = [float(grown.spent_by(role)) for role in dict.fromkeys(USERS[user] for user in users)]
        own = " and ".join(f"{epsilon:.2g}" for epsilon in spent)
        yield f"| ε for the {span.term} | {own}, in {grown.charges} charges | 1, in {len(CHARTS) * days:,} charges |"


def _shown(error: float) -> str:
    return f"{100 * error:.2g} %" if 100 * error < 99.5 else f"{100 * error:.0f} %"


def write(begin: str, lines: Sequence[str]) -> None:
    """Write one table of the page anew, and nothing else."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(begin, 1)
    _, tail = rest.split(_END, 1)
    table = "\n".join(("| | standing | measured anew each day |", "|---|---|---|", *lines))
    PAGE.write_text(f"{head}{begin}\n\n{table}\n\n{_END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    if "--year" in sys.argv[1:]:
        write(_YEAR, list(measured(YEAR, users=tuple(USERS))))
    else:
        write(_BEGIN, list(measured()))
