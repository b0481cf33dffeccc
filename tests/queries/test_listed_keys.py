"""Groups are those that WHERE leaves: of a list of numbers or days its values, and not all from the least to the largest."""

from dataclasses import replace

import pytest

from dpsql.errors import MissingBounds
from dpsql.policy.model import Policy
from tests.support.exactness import plans, unnoised
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_world import World


@pytest.mark.parametrize(
    ("key", "condition", "keys"),
    [
        ("seats", "seats IN (1, 5)", [1, 5]),
        ("seats", "seats = 1 OR seats = 5", [1, 5]),
        ("seats", "seats = 1 OR seats IN (2, 9) OR seats = ANY(ARRAY[5])", [1, 2, 5]),
        ("seats * 2", "seats IN (1, 5)", [2, 10]),
        ("seats", "seats IN (1, 2, 6) AND seats > 1", [2, 6]),
        ("seats", "seats IN (1, 5) AND seats <> 1", [5]),
        ("seats", "seats IN (8, 9)", []),
        ("seats", "seats = 5 OR seats > 4", [5, 6]),
        ("age", "age IN (3, 50)", [3, 50]),
        ("extract(day FROM day)", "day IN (DATE '2019-03-02', '2019-03-07')", [2, 7]),
        ("number", "number IN (46, 11)", [11, 46]),
        ("number", "number IN (46, 11, 12) AND number > 11", [12, 46]),
        ("number", "number = 9007199254740993", [9007199254740993]),
        ("number", "number IN (1, 99999999999)", [1, 99999999999]),
        ("seats", "seats = 1 OR late", [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_the_groups_are_those_of_the_list(
    key: str, condition: str, keys: list[int], policy: Policy, world: World, tiny: Engines
) -> None:
    """As of texts, and of columns with declared values."""
    tiny["duckdb"].fill("rides", [])
    asked = f"SELECT {key}, count(*) FROM rides WHERE {condition} GROUP BY 1"
    (plan,) = plans(asked, policy, world, tiny["duckdb"])
    assert [shown[0] for shown in plan.groups.shown] == keys


def test_nothing_is_computed_with_a_number_without_bounds(policy: Policy, world: World, tiny: Engines) -> None:
    """An engine may compute it for rows that WHERE leaves out, where it could overflow."""
    for asked in ("sum(number)", "sum(number * number)", "count(*) FILTER (WHERE number + 1 > 5)"):
        with pytest.raises(MissingBounds):
            plans(f"SELECT {asked} FROM rides WHERE number IN (1, 2)", policy, world, tiny["duckdb"])
    for key in ("number * 1000", "number % 2", "abs(number)"):
        with pytest.raises(MissingBounds):
            plans(f"SELECT {key}, count(*) FROM rides WHERE number IN (1, 2) GROUP BY 1", policy, world, tiny["duckdb"])


@pytest.mark.parametrize("dialect", ENGINES)
def test_ids_beside_a_numeric_are_told_apart(dialect: str, policy: Policy, world: World, tiny: Engines) -> None:
    """Drivers send decimals for large ids, which double precision takes for their neighbours."""
    tiny[dialect].fill("rides", [])
    first = 2**53
    tiny[dialect].execute(
        f"INSERT INTO rides (rider, number) SELECT i, {first} + i % 3 FROM generate_series(0, 29) AS t(i)"
    )
    for condition, rows in (
        (f"number = {first + 1}::numeric", 10),
        (f"number IN ({first}::numeric, {first + 2})", 20),
        (f"number > {first}::numeric", 20),
        (f"number::numeric = {first + 1}", 10),
        (f"number <> {first + 1}::numeric", 20),
        (f"number > {first}.5", 20),
        (f"{first}.5 >= number", 10),
        (f"number BETWEEN {first}.5 AND {first + 1}.5", 10),
        (f"number = {first + 1}.5 OR number IS NOT DISTINCT FROM {first + 2}.5", 0),
        (f"number IN ({first}.0, 5.5)", 10),
        (f"number NOT IN ({first + 1}.0, 5.5)", 20),
        (f"number NOT IN ({first}.5, 5.5)", 30),
    ):
        ((found,),) = unnoised(f"SELECT count(*) FROM rides WHERE {condition}", policy, world, tiny[dialect]).values()
        assert found == rows, condition
    asked = f"SELECT number, count(*) FROM rides WHERE number IN ({first + 1}, 7) GROUP BY 1"
    groups = unnoised(asked, policy, world, tiny[dialect])
    assert {key[0]: rows for key, (rows,) in groups.items()} == {7: 0, first + 1: 10}


def test_what_a_type_has_no_room_for_is_no_group(policy: Policy, world: World, tiny: Engines) -> None:
    """PostgreSQL compares an integer with any number; its own value can't be shown as one."""
    seats = replace(policy.tables["rides"].columns["seats"], bounds=None)
    rides = replace(policy.tables["rides"], columns={**policy.tables["rides"].columns, "seats": seats})
    wide = replace(policy, tables={**policy.tables, "rides": rides})
    for condition in (
        "seats IN (1, 99999999999)",
        "seats = 1 OR seats = 99999999999",
    ):
        asked = f"SELECT seats, count(*) FROM rides WHERE {condition} GROUP BY 1"
        (plan,) = plans(asked, wide, world, tiny["duckdb"])
        assert [shown[0] for shown in plan.groups.shown] == [1]
