"""What is measured is exact: the same records in any physical order, on any number of threads, give the same integers."""

from collections.abc import Iterator, Sequence

import pytest

from dpsql.policy.model import Policy
from tests.dirt import rides
from tests.exactness import Exact, Measured, measurements
from tests.fix_world import World
from tests.memory import Memory

STATEMENTS = (
    ("owner", "SELECT count(*), sum(fare), avg(tip), sum(fare * tip) FROM rides"),
    ("owner", "SELECT paid, variance(fare), corr(fare, tip), stddev(weight) FROM rides GROUP BY paid"),
    ("owner", "SELECT date_trunc('day', picked), sum(sqrt(fare)), avg(refund) FROM rides GROUP BY 1"),
    (
        "owner",
        "SELECT z.borough, median(fare), count(DISTINCT rider) FROM rides JOIN zones z ON zone_id = to_zone GROUP BY 1",
    ),
    ("owner", "SELECT count(DISTINCT number), max(tip) FROM rides WHERE fare / (seats + 1) > 3.3"),
    ("explorer", "SELECT note, sum(fare), count(*) FROM rides GROUP BY note"),
)
"""With the role that asks."""
TIMES = 40
"""How many times the dirty records are taken, so that engines divide the work."""


@pytest.fixture(scope="module")
def many(policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A hundred thousand records, units with many more rows than they may have among them."""
    engine = Memory(policy)
    engine.load("rides", rides(policy), tmp_path_factory.mktemp("many"))
    engine.execute(f"INSERT INTO rides SELECT r.* FROM rides AS r, range({TIMES - 1})")
    engine.execute("CREATE TABLE kept AS SELECT * FROM rides")
    yield engine
    engine.close()


def reorder(engine: Memory, order: str, threads: int) -> None:
    """Write the records anew in an order, and set how many threads read them."""
    engine.execute("DROP TABLE rides")
    engine.execute(f"CREATE TABLE rides AS SELECT * FROM kept ORDER BY {order}")
    engine.execute(f"SET threads = {threads}")


def exacts(sql: str, role: str, policy: Policy, world: World, engine: Memory) -> Sequence[Exact]:
    """Return the exact results of all measurements of a statement."""
    return [Measured.of(part, engine, world).exact() for part in measurements(sql, policy, world, engine, role)]


@pytest.mark.parametrize(("role", "sql"), STATEMENTS, ids=range(len(STATEMENTS)))
def test_in_any_order(role: str, sql: str, policy: Policy, world: World, many: Memory) -> None:
    """Three orders on one, two and four threads."""
    found = []
    for threads, order in ((1, "rider"), (2, "fare DESC"), (4, "hash(rider, number, fare, picked)")):
        reorder(many, order, threads)
        found.append(exacts(sql, role, policy, world, many))
    assert found[0] == found[1] == found[2]


def test_thirty_times(policy: Policy, world: World, many: Memory) -> None:
    """Thirty runs on four threads are equal."""
    role, sql = STATEMENTS[0]
    reorder(many, "hash(number)", 4)
    first = exacts(sql, role, policy, world, many)
    assert all(exacts(sql, role, policy, world, many) == first for _ in range(29))


def test_sums_of_floats_would_not_be(many: Memory) -> None:
    """The records can tell: DuckDB's own sum of doubles depends on their order."""
    sums = set()
    for order in ("rider", "fare", "fare DESC", "hash(number)"):
        reorder(many, order, 1)
        sums |= set(many.execute("SELECT sum(sqrt(fare)) FROM rides WHERE fare BETWEEN 0 AND 150"))
    assert len(sums) > 1
