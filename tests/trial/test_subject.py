"""A trial stands by itself: the engine that holds the records is not asked, and need not be there."""

from pathlib import Path

import pytest

from dpsql.policy.load import load
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


PEOPLE = """table: people
key: person
privacy_units: {person: {column: person, max_rows: 1}, household: {column: household, max_rows: 4}}
columns:
  person: {type: integer}
  household: {type: integer}
"""
VISITS = """table: visits
privacy_units: {person: {column: person, max_rows: 5}, household: {through: person, max_rows: 20}}
columns:
  person: {type: integer, references: people.person}
"""
CONFIG = """dataset: practice
engine: {kind: duckdb, database: practice.duckdb}
schemas: schemas
budget: {person: {epsilon: 1}, household: {epsilon: 1}}
roles: {ward: {protects: household, budget: {epsilon: 1}, per_query: {epsilon: 1}}}
"""


@pytest.mark.parametrize("person", ["column", "through"])
def test_one_column_says_whose_a_row_is_for_two_kinds(person: str, tmp_path: Path) -> None:
    """A visit's patient is one unit, and of another by the household: rows are those of whom their columns name."""
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "people.yaml").write_text(PEOPLE)
    (tmp_path / "schemas" / "visits.yaml").write_text(VISITS.replace("person: {column", f"person: {{{person}"))
    (tmp_path / "config.yaml").write_text(CONFIG)
    policy = load(tmp_path / "config.yaml").policy
    for records in made_up_records(policy, {}, {"people": frozenset({frozenset({"person"})})}):
        tables, kind = records.tables, records.kind
        owners = {row[0]: o for row, o in zip(tables["people"].rows, tables["people"].owners[kind], strict=True)}
        for (named,), owner in zip(tables["visits"].rows, tables["visits"].owners[kind], strict=True):
            if named is not None:
                by_name = kind == "person" and person == "column"
                assert owner == (owners.setdefault(named, owner) if by_name else owners.get(named))


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
