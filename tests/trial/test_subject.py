"""A trial stands by itself: the engine that holds the records is not asked, and need not be there."""

import pytest

from dpsql.policy.model import Policy
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.served import Filled, Served
from tests.support.tried import court

STATEMENTS = (
    "SELECT count(*) FROM rides",
    "SELECT paid, sum(price), median(fare) FROM rides GROUP BY paid",
    "SELECT z.borough, avg(fare) FROM rides JOIN zones z ON z.zone_id = to_zone GROUP BY 1",
    "SELECT count(*) FROM rides WHERE fare > (SELECT avg(fare) FROM rides)",
)


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_a_source_that_is_down_is_not_missed(engine: str, policy: Policy, world: World) -> None:
    """Statements are tried, and pass, after the engine was closed and its tables are gone."""
    source: Filled = Memory(policy) if engine == "duckdb" else Served(world, "gone")
    trial_court = court(policy, world, source)
    priced = [trial_court.priced(sql, "owner") for sql in STATEMENTS]
    source.close()
    if engine == "postgres":
        world.owner.execute("DROP DATABASE gone WITH (FORCE)")
    assert all(trial_court.see(plan, "owner").new for plan in priced)
