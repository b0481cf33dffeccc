"""The default setting, as a client meets it: the demo's schemas, whose C is chosen, through the wire, beside the plain query.

Each question is a new one every time: with a constant that nobody has asked with, or where it has none at a price that nobody
has paid. All of dpsql's processes count. On DuckDB the processor's time of theirs is set beside that of the plain query, on
PostgreSQL, which works in processes of its own, what the clock says.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import psycopg

from benchmarks.peers.measured import DUCKDB, POSTGRES
from benchmarks.peers.server import serving as with_postgres
from benchmarks.speed.measured import today
from dpsql.demo.setting import packaged_config
from dpsql.demo.trips import generate
from dpsql.wire.protocol.scram import Verifier
from tests.clients.site import Site, serving
from tests.support.processes import children, seconds_worked

AUTO, DECLARED = "C chosen", "C = 20"
_IDLE, _HARDLY = 5, 0.1
"""Seconds in a row that a server does nothing, and the seconds of the processor that are as good as none."""
_PASSWORD = "of a benchmark"  # noqa: S105 # of a server that lives for one
_CONFIG = """\
dataset: taxi
engine: {engine}
schemas: schemas
listen: {{host: 127.0.0.1, port: 0}}
shadow: {{directory: shadow}}
ledger: sqlite:///ledger.db
budget: {{passenger: {{epsilon: 1000000}}}}
roles: {{bench: {{protects: passenger, budget: {{epsilon: 1000000}}, per_query: {{epsilon: 1}}, reuse: exact}}}}
users: {{ana: {{role: bench, password: "{verifier}"}}}}
"""


@dataclass(frozen=True, slots=True)
class Form:
    """A question with a place `{}` for a constant, or without one, and what its ratio is to be at most, by engine."""

    about: str
    sql: str
    aims: Mapping[str, float]

    def text(self, number: int) -> str:
        """Return the question with the constant of some number."""
        return self.sql.format(f"{number:06}")


def _aims(on_duckdb: float, on_postgres: float) -> Mapping[str, float]:
    return {DUCKDB: on_duckdb, POSTGRES: on_postgres}


FORMS = (
    Form("count WHERE", "SELECT count(*) FROM trips WHERE fare > 20.{}", _aims(3.5, 5)),
    Form("count, sum, avg of all", "SELECT count(*), sum(fare), avg(tip) FROM trips", _aims(2.5, 4)),
    Form(
        "… by payment WHERE",
        "SELECT payment_type, count(*), sum(fare), avg(tip) FROM trips WHERE trip_distance > 2.{} GROUP BY payment_type",
        _aims(2.2, 3),
    ),
    Form(
        "… by zone WHERE",
        "SELECT pickup_zone, count(*), sum(fare), avg(tip) FROM trips WHERE trip_distance > 2.{} GROUP BY pickup_zone",
        _aims(1.8, 2.5),
    ),
    Form(
        "one week by day",
        "SELECT date_trunc('day', pickup_ts) AS day, count(*), avg(fare) FROM trips"
        " WHERE pickup_ts >= '2019-03-04' AND pickup_ts < '2019-03-11' AND fare > 2.{} GROUP BY 1",
        _aims(2, 2.5),
    ),
    Form(
        "average and spread by seats",
        "SELECT passenger_count, avg(fare), stddev(fare) FROM trips GROUP BY 1",
        _aims(1.5, 2.5),
    ),
    Form(
        "median by seats",
        "SELECT passenger_count, percentile_cont(0.5) WITHIN GROUP (ORDER BY fare) FROM trips GROUP BY passenger_count",
        _aims(0.8, 1.2),
    ),
    Form("distinct passengers", "SELECT count(DISTINCT passenger_id) FROM trips", _aims(0.3, 1.5)),
    Form(
        "rows a passenger",
        "SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY passenger_id) AS p",
        _aims(0.8, 2.3),
    ),
    Form("max WHERE", "SELECT max(fare) FROM trips WHERE trip_distance > 2.{}", _aims(2, 1.4)),
)


@dataclass(frozen=True, slots=True)
class Through:
    """What one question takes, all of dpsql included."""

    about: str
    plain: float
    """Milliseconds, at the median."""
    ratios: Mapping[str, float]
    """By setting, what dpsql takes to that: the ratio of the medians."""
    aim: float


@dataclass(frozen=True, slots=True)
class Default:
    """All questions of one engine's records."""

    title: str
    engine: str
    questions: Sequence[Through]
    load: tuple[float, float]
    """The machine's load in the last minute, before and after."""
    taken: str
    """The day."""


def measured_through(directory: Path, rows: int, engine: str, rounds: int, told: Callable[[str], None]) -> Default:
    """Ask all questions in both settings."""
    before, questions = os.getloadavg()[0], []
    for one in _through(directory, rows, engine, rounds, told):
        said = ", ".join(f"{setting} {ratio:.2f}" for setting, ratio in one.ratios.items())
        told(f"{engine}: {one.about}: plain {one.plain:.1f} ms; {said}")
        questions.append(one)
    return Default(f"{rows:,} trips, {engine}", engine, questions, (before, os.getloadavg()[0]), today())


def _through(directory: Path, rows: int, engine: str, rounds: int, told: Callable[[str], None]) -> Iterator[Through]:
    """Ask all questions in turn; three rounds more than count warm up."""
    directory.mkdir(mode=0o711)
    told(f"{rows:,} trips of the demo: writing them")
    file = directory / "taxi.duckdb"
    generate(file, rows)
    with ExitStack() as until:
        if engine == POSTGRES:
            dsn = until.enter_context(with_postgres(directory / "postgres", file))
            source, plain = f"{{kind: postgres, dsn: {dsn!r}}}", until.enter_context(_plain_postgres(dsn))
        else:
            source, plain = f"{{kind: duckdb, database: {file}}}", until.enter_context(_plain_duckdb(file))
        sites = {
            setting: until.enter_context(serving(_configured(directory / name, source, setting), executed=True))
            for name, setting in (("auto", AUTO), ("declared", DECLARED))
        }
        for site in sites.values():
            _wait_until_idle(site)
        asking = {setting: until.enter_context(_asking(site)) for setting, site in sites.items()}
        for form in FORMS:
            yield _measured(form, engine, plain, sites, asking, rounds)


def _measured(
    form: Form,
    engine: str,
    plain: Callable[[str], object],
    sites: Mapping[str, Site],
    asking: Mapping[str, Callable[[str, int], object]],
    rounds: int,
) -> Through:
    ours = time.process_time if engine == DUCKDB else time.perf_counter
    plainly: list[float] = []
    private: dict[str, list[float]] = {setting: [] for setting in sites}
    for number in range(rounds + 3):
        sql = form.text(number)
        plainly.append(_timed(partial(plain, sql), ours))
        for setting, site in sites.items():
            theirs = partial(_worked, site) if engine == DUCKDB else time.perf_counter
            private[setting].append(_timed(partial(asking[setting], sql, number), theirs))
    exact = statistics.median(plainly[3:])
    ratios = {setting: statistics.fmean(found[3:]) / exact for setting, found in private.items()}
    return Through(form.about, exact, ratios, form.aims[engine])


def _timed(call: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return (clock() - start) * 1000


def _wait_until_idle(site: Site) -> None:
    """Wait until the server has read what it keeps beside the records; it answers before."""
    idle = 0
    while idle < _IDLE:
        before = _worked(site)
        time.sleep(1)
        idle = idle + 1 if _worked(site) - before < _HARDLY else 0


def _worked(site: Site) -> float:
    """Return how long dpsql's processes, its shadow's included, have had a processor."""
    assert site.process is not None
    whole, left = 0.0, [site.process.pid]
    while left:
        pid = left.pop()
        left += children(pid)
        whole += seconds_worked(pid)
    return whole


def _configured(directory: Path, source: str, setting: str) -> Path:
    directory.mkdir(mode=0o711)
    schemas = directory / "schemas"
    schemas.mkdir()
    for file in (packaged_config().parent / "schemas").glob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        if setting == DECLARED:
            text = text.replace("{column: passenger_id}", "{column: passenger_id, max_rows: 20}")
        (schemas / file.name).write_text(text, encoding="utf-8")
    config = directory / "config.yaml"
    config.write_text(_CONFIG.format(engine=source, verifier=Verifier.of(_PASSWORD)), encoding="utf-8")
    return config


@contextmanager
def _asking(site: Site) -> Iterator[Callable[[str, int], object]]:
    """Give what asks a question at a price of its own, to its last row."""
    words = f"host=127.0.0.1 port={site.port} user=ana password='{_PASSWORD}' dbname=taxi sslmode=disable"
    with psycopg.connect(words, autocommit=True) as own:

        def ask(sql: str, number: int) -> Sequence[object]:
            own.execute(f"SET dpsql.epsilon = '0.{90_000 + number}'".encode())
            return own.execute(sql.encode()).fetchall()

        yield ask


@contextmanager
def _plain_duckdb(file: Path) -> Iterator[Callable[[str], object]]:
    with duckdb.connect(file, read_only=True) as own:  # as anybody would, with DuckDB's own settings
        yield lambda sql: own.execute(sql).fetchall()


@contextmanager
def _plain_postgres(dsn: str) -> Iterator[Callable[[str], object]]:
    with psycopg.connect(dsn, options="-c jit=off", autocommit=True) as own:
        yield lambda sql: own.execute(sql.encode()).fetchall()
