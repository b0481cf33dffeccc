"""What privacy costs the engine: each statement beside the exact query, on 5 million trips in DuckDB.

The statement is the one that the gateway would send; both run in turn, and the ratio is that of their best times.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

import duckdb
from rich.console import Console
from rich.table import Table

from dpsql.demo.generate import generate
from dpsql.demo.setting import packaged_config
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.opening import ATTACHED, DUCKDB_SETTINGS
from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.gateway.plans.planning import Planner
from dpsql.policy.load import load
from dpsql.policy.model import Policy, UnitBound
from dpsql.privacy.measurement.planner import PlanningContext
from dpsql.question import ColumnDescription
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.syntax.read.dialect import parsed
from dpsql.rewrite.syntax.whole.analyze import analyze
from tests.support.no_shadow import NoShadow

TRIPS = 5_000_000
ROUNDS = 6
QUESTIONS: Mapping[str, str] = {
    "COUNT, SUM, AVG": "SELECT count(*), sum(fare), avg(tip) FROM trips",
    "… by payment": "SELECT payment_type, count(*), sum(fare), avg(tip) FROM trips GROUP BY payment_type",
    "… by zone": "SELECT pickup_zone, count(*), sum(fare), avg(tip) FROM trips GROUP BY pickup_zone",
    "… of one column, by zone": "SELECT pickup_zone, count(*), sum(fare), avg(fare) FROM trips GROUP BY pickup_zone",
    "… by zone, one week": (
        "SELECT pickup_zone, count(*), sum(fare), avg(tip) FROM trips WHERE pickup_ts < '2019-03-08' GROUP BY pickup_zone"
    ),
    "five of four columns, by seats": (
        "SELECT passenger_count, count(*), sum(fare), avg(tip), sum(total), avg(trip_distance) FROM trips GROUP BY 1"
    ),
    "MEDIAN by seats": "SELECT passenger_count, median(fare) FROM trips GROUP BY passenger_count",
}
_FIELD = ColumnDescription("c", 25, -1, "text")


@dataclass(frozen=True, slots=True)
class Unit:
    """Whose rows are protected, for a column of the table."""

    label: str
    bound: UnitBound
    unique: bool = False


UNITS = (
    Unit("one row per unit", UnitBound("trip_id", 1), unique=True),
    Unit("passengers, C = 20", UnitBound("passenger_id", 20)),
    Unit("drivers, C = 400", UnitBound("driver_id", 400)),
)


def main() -> None:
    """Print the exact query's time, the private statement's, and their ratio."""
    table = Table("unit", "question", "exact, ms", "private, ms", "ratio")
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as directory:
        file = Path(directory) / "taxi.duckdb"
        generate(file, TRIPS)
        engine, own = DuckDb(file), duckdb.connect(config=dict(DUCKDB_SETTINGS))
        own.execute(f"ATTACH '{file}' AS {ATTACHED} (READ_ONLY); USE {ATTACHED}")
        policy = load(packaged_config(), {}).policy
        for unit in UNITS:
            for label, question in QUESTIONS.items():
                private = _private(question, policy, unit, engine)
                exact, ours = _timed([partial(_run, own, question), partial(_run, own, private)])
                table.add_row(unit.label, label, f"{exact:.0f}", f"{ours:.0f}", f"{ours / exact:.2f}")
        engine.close()
        own.close()
    Console().print(table)


def _private(question: str, policy: Policy, unit: Unit, engine: DuckDb) -> str:
    """Return the statement that measures a question."""
    trips = replace(policy.tables["trips"], units={"passenger": unit.bound})
    policy = replace(policy, tables={**policy.tables, "trips": trips})
    public = read_public(policy, engine)
    unique = frozenset({frozenset({unit.bound.column})} if unit.unique else ())
    world = PlanningContext(policy.roles["owner"], public.declared, public.rows, lambda _: unique, policy.tables)
    asked = analyze(question, policy, parsed)
    assert asked is not None
    assert asked.statement is not None
    planner = Planner(policy, world, NoShadow(_FIELD))
    plan = planner.measure(planner.track(planner.resolve(asked, ()), ()))
    ((part,),) = (scope.plan.parts for scope in plan.scopes)
    return part.sql(Emitter(engine.dialect, public.declared, engine.named))


def _run(own: duckdb.DuckDBPyConnection, sql: str) -> None:
    own.execute(sql).fetchall()  # exact answers have types of their own


def _timed(calls: Sequence[Callable[[], None]]) -> list[float]:
    """Return the best time of each call in milliseconds; they run in turn, so that a busy machine is so for all."""
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for index, call in enumerate(calls):
            start = perf_counter()
            call()
            best[index] = min(best[index], (perf_counter() - start) * 1000)
    return best


if __name__ == "__main__":
    main()
