"""Exhaustive, without statistics: no unit moves the shares of values beyond bounds further than their noise is made for."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.beyond_bounds import ONE_UNIT, BeyondBounds
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import exact_cells
from dpsql.rewrite.ir.relation import ref
from tests.properties.test_sensitivity import databases
from tests.support.exactness import Measured, measurements, moves_of_each
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_world import World
from tests.support.memory import Memory

COLUMNS = ("seats", "age", "fare", "tip", "price", "refund", "weight", "day", "picked", "dropped")
"""All columns with bounds, of every type that has some; NULL, NaN and what lies beyond is among their values."""
_MANY = 7


@pytest.fixture(scope="module")
def shares(policy: Policy, world: World) -> BeyondBounds:
    """The measurement of all of them, for passengers."""
    engine = Memory(policy)
    (counted,) = measurements("SELECT count(*) FROM rides", policy, world, engine)
    engine.close()
    assert isinstance(counted, Sums)
    table = policy.tables["rides"]
    assert {name for name, column in table.columns.items() if column.bounds is not None} == {*COLUMNS}
    refs = tuple(ref(0, table, name) for name in COLUMNS)
    return BeyondBounds(counted.relation, counted.bound, refs, Fraction(1))


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("seed", [str(number) for number in range(4)])
def test_no_unit_moves_them_further_than_claimed(
    dialect: str, seed: str, shares: BeyondBounds, world: World, tiny: Engines
) -> None:
    """A unit counts once as a unit, and as one at most in each column's two cells together."""
    measured = Measured.of(shares, tiny[dialect], world)
    beyond = False
    for rows in databases(world.policy.tables["rides"], "rider", _MANY, seed):
        moved = [move for (move,) in moves_of_each([measured], "rides", rows, "rider")]
        assert max(moved) <= measured.claim
        assert set(moved) & {0} or min(moved) >= ONE_UNIT
        beyond = beyond or max(moved) > ONE_UNIT
    assert beyond


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_unit_whose_every_value_is_beyond_moves_them_as_far(
    dialect: str, shares: BeyondBounds, world: World, tiny: Engines
) -> None:
    """The claim is attained, by whole shares, however many rows the unit has."""
    fares = replace(shares, columns=tuple(column for column in shares.columns if column.name in {"fare", "seats"}))
    measured = Measured.of(fares, tiny[dialect], world)
    row = dict(next(databases(world.policy.tables["rides"], "rider", 1, "far"))[0])
    rows = [row | {"rider": 1, "fare": 1e9, "seats": -7} for _ in range(3)] + [
        row | {"rider": 2, "fare": 3, "seats": 3}
    ]
    assert [move for (move,) in moves_of_each([measured], "rides", rows, "rider")] == [measured.claim, ONE_UNIT]


@pytest.mark.parametrize("dialect", ENGINES)
def test_each_unit_has_the_same_say(dialect: str, shares: BeyondBounds, world: World, tiny: Engines) -> None:
    """Half of one's rows, all of another's: one unit and a half of three."""
    fares = replace(shares, columns=tuple(column for column in shares.columns if column.name == "fare"))
    row = next(databases(world.policy.tables["rides"], "rider", 1, "say"))[0]
    of: dict[int, list[float]] = {1: [1e9, 5, 200, 5], 2: [151], 3: [150, 0]}
    tiny[dialect].fill("rides", [row | {"rider": rider, "fare": fare} for rider, some in of.items() for fare in some])
    rows = Measured.of(fares, tiny[dialect], world).rows()
    assert exact_cells(fares, rows).cells == [3 * ONE_UNIT, 0, ONE_UNIT * 3 // 2]
