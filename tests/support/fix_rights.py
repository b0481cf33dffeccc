"""A role that is told of tables in part, beside those of the tests' policy."""

from dataclasses import replace
from typing import Any

import pytest

from dpsql.gateway.plans.views import with_checked_conditions
from dpsql.policy.model import Policy, RowCondition, Table
from tests.support.fix_policy import without_reuse
from tests.support.fix_world import World
from tests.support.records import Row, clamped
from tests.support.schema import bare, by_names, of

CONDITIONS = {
    "rides": "(paid = 'card' OR late IS NOT TRUE AND age BETWEEN 10 AND 60) AND seats > 0",
    "trips": "trips.payment_type IS NOT NULL AND trip_distance < 8 -- in miles",
}
"""Of columns that may be NULL, too."""


def holds(table: Table, row: Row) -> bool:
    """Return whether a table's condition holds of a row, as its values are declared."""
    seen: Any = clamped(row, table)
    if bare(table) == "trips":
        return seen["payment_type"] is not None and seen["trip_distance"] is not None and seen["trip_distance"] < 8
    of_card = seen["paid"] == "card"
    of_age = seen["late"] is not True and seen["age"] is not None and 10 <= seen["age"] <= 60
    return (of_card or of_age) and seen["seats"] is not None and seen["seats"] > 0


NAMED = {
    "rides": frozenset({"rider", "from_zone", "paid", "fare", "day", "late", "seats"}),
    "trips": frozenset({"passenger_id", "pickup_zone", "payment_type", "fare", "pickup_ts"}),
}


def in_part(world: World) -> Policy:
    """Return the policy with a role `in_part` that is told of some rows, and one `columns` that may name some columns."""
    owner = world.policy.roles["owner"]
    where = {
        of(table): RowCondition(text, f"config.yaml:1: roles.in_part.where.{table}")
        for table, text in CONDITIONS.items()
    }
    more = {
        "in_part": replace(owner, name="in_part", where=where),
        "columns": replace(owner, name="columns", columns=by_names(NAMED)),
    }
    policy = replace(world.policy, roles={**world.policy.roles, **more})
    return with_checked_conditions(policy, world.oracle())


@pytest.fixture(scope="session")
def rights(world: World) -> Policy:
    """The tests' policy with such roles, and without reuse."""
    return without_reuse(in_part(world))
