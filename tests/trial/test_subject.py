"""A trial stands by itself: the engine that holds the records is not asked, and need not be there."""

from pathlib import Path

import pytest

from dpsql.policy.model import Policy
from dpsql.trial.records import made_up_records
from tests.lists.conftest import _RETAIL as RETAIL
from tests.lists.conftest import read_policy as retail_policy
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


def test_several_columns_point_to_a_key_of_other_names(tmp_path: Path) -> None:
    """A return's item and ticket are those of a sale, where both tables call them otherwise."""
    policy = retail_policy(tmp_path, "tpcds", RETAIL)
    public = {name: dict.fromkeys(table.columns, (None,)) for name, table in policy.tables.items() if table.public}
    for records in made_up_records(policy, public, {}):
        places = {name: records.tables[name].columns.index for name in ("store_sales", "store_returns")}
        sales = {
            (row[places["store_sales"]("ss_item_sk")], row[places["store_sales"]("ss_ticket_number")])
            for row in records.tables["store_sales"].rows
        }
        returns = [
            (row[places["store_returns"]("sr_item_sk")], row[places["store_returns"]("sr_ticket_number")])
            for row in records.tables["store_returns"].rows
        ]
        assert sum(pair in sales for pair in returns) > len(returns) / 2
