"""What is measured is exact: the same records in any physical order, on any number of threads, give the same integers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from dpsql.errors import InternalError
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import KeySearch, Measurement
from dpsql.privacy.measurement.sums import Sums
from tests.support import mutants
from tests.support.exactness import Exact, Measured, measurements
from tests.support.fix_dirty import Records
from tests.support.fix_engines import ENGINES
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.served import Served

STATEMENTS = (
    ("owner", "SELECT count(*), sum(fare), avg(tip), sum(fare * tip) FROM rides"),
    ("owner", "SELECT paid, variance(fare), corr(fare, tip), stddev(weight) FROM rides GROUP BY paid"),
    ("owner", "SELECT date_trunc('day', picked), sum(sqrt(fare)), avg(refund) FROM rides GROUP BY 1"),
    (
        "owner",
        "SELECT z.borough, median(fare), count(DISTINCT rider) FROM rides JOIN zones z ON zone_id = to_zone GROUP BY 1",
    ),
    ("owner", "SELECT count(DISTINCT number), max(tip) FROM rides WHERE fare / (seats + 1) > 3.3"),
    ("owner", "SELECT percentile_cont(ARRAY[0.1, 0.3, 0.5, 0.7, 0.9]) WITHIN GROUP (ORDER BY age) FROM rides"),
    ("owner", "SELECT shared, paid, sum(weight), count(tip) FROM rides GROUP BY CUBE (1, 2)"),
    ("owner", "SELECT min(dropped), max(dropped) FROM rides"),
    ("auditor", "SELECT stars, avg(price), count(tip) FILTER (WHERE late) FROM rides GROUP BY stars"),
    ("explorer", "SELECT note, sum(fare), count(*) FROM rides GROUP BY note"),
    ("explorer", "SELECT DISTINCT note, to_zone FROM rides WHERE tip > 0.1"),
)
"""With the role that asks; together every kind of measurement."""
FIRST = STATEMENTS[0]
TIMES = 17
"""How many times the dirty records are taken: so that engines divide the work, and that heavy units have odd weights."""
LARGE = "SELECT variance(age * 100), avg(tip) FROM rides"
"""Its sums have more digits than double precision."""
ORDERS = ((1, "rider"), (2, "fare DESC"), (4, "md5(concat(rider, number, fare, picked))"))
"""With how many threads read them."""
PARALLEL = {
    "max_parallel_workers_per_gather": "2",
    "min_parallel_table_scan_size": "0",
    "parallel_setup_cost": "0",
    "parallel_tuple_cost": "0",
}
Both = Mapping[str, Memory | Served]
Found = Callable[[str, str, str], Sequence[Sequence[Exact]]]


@pytest.fixture(scope="module")
def many(policy: Policy, world: World, records: Records, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Many records, units with many more rows than they may have among them."""
    directory: Path = tmp_path_factory.mktemp("many")
    memory, served = Memory(policy, file=directory / "many.duckdb"), Served(world, "many", **PARALLEL)
    memory.load("rides", records["rides"], directory)
    served.fill("rides", records["rides"])
    memory.execute(f"CREATE TABLE kept AS SELECT r.* FROM rides AS r, range({TIMES})")
    served.execute(f"CREATE TABLE kept AS SELECT r.* FROM rides AS r, generate_series(1, {TIMES})")
    both: Both = {"duckdb": memory, "postgres": served}
    for engine in both.values():
        engine.execute("TRUNCATE rides")
        engine.execute("INSERT INTO rides SELECT * FROM kept")
    served.execute("ANALYZE rides")
    yield both
    memory.close()
    served.close()


def reorder(engine: Memory | Served, order: str, threads: int = 1) -> None:
    """Write the records anew in an order, and set how many threads read them."""
    engine.execute("TRUNCATE rides")
    engine.execute(f"INSERT INTO rides SELECT * FROM kept ORDER BY {order}")
    if isinstance(engine, Memory):
        engine.execute(f"SET threads = {threads}")
    else:
        engine.execute("ANALYZE rides")


def measured(sql: str, role: str, policy: Policy, world: World, engine: Memory | Served) -> Sequence[Measured]:
    """Return all measurements of a statement, which does not look at rows."""
    return [Measured.of(part, engine, world) for part in measurements(sql, policy, world, engine, role)]


def exacts(parts: Sequence[Measured]) -> Sequence[Exact]:
    """Return the exact results of all measurements of a statement."""
    return [part.exact() for part in parts]


@pytest.fixture(scope="module")
def measured_sums(policy: Policy, world: World, many: Both) -> Found:
    """Give a function that returns a statement's results in each order; an order is made once for all statements."""

    @cache
    def all_of(dialect: str) -> Mapping[tuple[str, str], Sequence[Sequence[Exact]]]:
        seen: dict[tuple[str, str], list[Sequence[Exact]]] = {statement: [] for statement in STATEMENTS}
        planned = {(role, sql): measured(sql, role, policy, world, many[dialect]) for role, sql in STATEMENTS}
        for threads, order in ORDERS:
            reorder(many[dialect], order, threads)
            for statement, parts in planned.items():
                seen[statement].append(exacts(parts))
        return seen

    return lambda dialect, role, sql: all_of(dialect)[role, sql]


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(("role", "sql"), STATEMENTS, ids=range(len(STATEMENTS)))
def test_in_any_order(role: str, sql: str, dialect: str, measured_sums: Found) -> None:
    """Three orders, in DuckDB on one, two and four threads and in PostgreSQL with parallel workers."""
    first, *others = measured_sums(dialect, role, sql)
    assert any(any(values) for exact in first for values in exact.values())
    assert all(other == first for other in others)


def test_every_kind_of_measurement_is_here(policy: Policy, world: World, many: Both) -> None:
    """Rows, units and values counted; weights and selections; points, extremes and whole histograms."""
    parts = [p for role, sql in STATEMENTS for p in measurements(sql, policy, world, many["duckdb"], role)]
    assert {_kind(part) for part in parts} == {
        *(("rows", form, finds_keys) for form, finds_keys in (("REWEIGHT", False), ("TRUNCATE", True))),
        *(("units", form, finds_keys) for form, finds_keys in (("REWEIGHT", False), ("TRUNCATE", True))),
        ("values", "TRUNCATE", False),
        *(("order statistics", "extremes" * extremes, noisy) for extremes, noisy in ((0, 0), (1, 0), (0, 1))),
    }


def _kind(part: Measurement) -> tuple[str, str, bool]:
    match part:
        case Sums():
            return part.distinct.value, part.bound.form.name, bool(part.delta)
        case Histogram():
            return "order statistics", "extremes" * part.extremes, part.noisy
        case KeySearch():
            return "keys", part.bound.form.name, True


def test_the_work_is_divided(policy: Policy, world: World, many: Both) -> None:
    """DuckDB has parts of the table for each of several threads, PostgreSQL plans for workers."""
    duckdb, postgres = many["duckdb"], many["postgres"]
    assert duckdb.execute("SELECT count(DISTINCT row_group_id) > 2 FROM pragma_storage_info('rides')") == [(True,)]
    (part,) = measurements(FIRST[1], policy, world, postgres)
    assert "Workers Planned" in str(postgres.execute(f"EXPLAIN {Measured.of(part, postgres, world).sql}"))


@pytest.mark.parametrize("dialect", ENGINES)
def test_ten_times(dialect: str, policy: Policy, world: World, many: Both) -> None:
    """Ten runs on four threads are equal."""
    role, sql = FIRST
    reorder(many[dialect], "fare", 4)
    parts = measured(sql, role, policy, world, many[dialect])
    first = exacts(parts)
    assert all(exacts(parts) == first for _ in range(9))


@pytest.mark.parametrize("dialect", ENGINES)
def test_sums_of_floats_would_not_be(dialect: str, many: Both) -> None:
    """The records can tell: an engine's own sum of doubles depends on their order."""
    sums = set()
    for order in ("rider", "fare", "fare DESC", "md5(number::text)"):
        reorder(many[dialect], order)
        sums |= set(many[dialect].execute("SELECT sum(sqrt(fare)) FROM rides WHERE fare BETWEEN 0 AND 150"))
        if len(sums) > 1:
            return
    pytest.fail("all sums are the same")


@pytest.mark.parametrize("dialect", ENGINES)
def test_sums_that_pass_through_floats_are_caught(
    dialect: str, policy: Policy, world: World, many: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They differ from the exact ones, or are no whole numbers."""
    right = exacts(measured(LARGE, "owner", policy, world, many[dialect]))
    mutants.sums_in_floats(monkeypatch)
    try:
        assert exacts(measured(LARGE, "owner", policy, world, many[dialect])) != right
    except InternalError:
        return
