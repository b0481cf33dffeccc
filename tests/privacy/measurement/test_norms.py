"""What a unit's rows add up to is bounded where sums alone are asked, and their number where rows are counted."""

from dataclasses import replace

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from tests.support.exactness import Measured, measurements, unnoised
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.records import Maker


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("sum(fare)", 120),
        ("sum(fare), count(*)", 6),
    ],
)
def test_small_values_of_a_heavy_unit_are_not_lost(select: str, expected: float, policy: Policy, world: World) -> None:
    """Forty rows of 3 are less than two rows may be; where the rows are counted too, two of the forty are left."""
    policy = with_rows(policy, "rides", "passenger", 2)
    engine, maker = Memory(policy), Maker(4)
    one = maker.row(policy.tables["rides"]) | {"rider": 1, "fare": 3.0, "seats": 0}
    engine.fill("rides", [one] * 40)
    ((found, *_),) = unnoised(f"SELECT {select} FROM rides", policy, world, engine).values()
    assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("dialect", ENGINES)
def test_any_number_of_rows_of_zero_is_summed(dialect: str, policy: Policy, world: World, tiny: Engines) -> None:
    """They have no norm and so their full weight, and half of the lattice's steps; no engine's integer is too small."""
    policy, engine = with_rows(policy, "rides", "passenger", 2), tiny[dialect]
    one = Maker(4).row(policy.tables["rides"]) | {"rider": 1, "refund": 0.0}
    engine.fill("rides", [one] * 3_000)
    (part,) = measurements("SELECT sum(refund) FROM rides", policy, world, engine)
    assert isinstance(part, Sums)
    measured = Measured.of(replace(part, points=2**30), engine, world)
    assert {x for row in measured.exact().values() for x in row} == {0}
