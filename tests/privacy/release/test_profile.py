"""What is read off a profile's releases; whatever was released can be read."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.beyond_bounds import ONE_UNIT, BeyondBounds
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.release import Profile, Release
from dpsql.rewrite.ir.relation import ref
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory


@pytest.fixture(scope="module")
def counted(policy: Policy, world: World) -> Sums:
    """A count of rides."""
    (sums,) = measurements("SELECT count(*) FROM rides", policy, world, Memory(policy))
    assert isinstance(sums, Sums)
    return sums


def _known(counted: Sums, cells: list[int], also: int = 20) -> Profile:
    search = RowsPerUnit(replace(counted, bound=replace(counted.bound, up_to=64)), Fraction(1), also=also)
    whole = [cell * search.sensitivity for cell in cells] + [0] * (len(search.rungs) - len(cells))
    return Profile().with_release("rides", "identity", search, Release([whole]))


def test_a_condition_keeps_a_share_of_each_units_rows(counted: Sums) -> None:
    """Of 500 units with 32 rows C = 20 takes 6,000 off all; of half of the rows, 16 each, nothing."""
    ladder = RowsPerUnit(replace(counted, bound=replace(counted.bound, up_to=64)), also=32).rungs
    table = _known(counted, [500 if rung == 32 else 0 for rung in ladder], also=32).of("rides")
    assert table is not None
    assert table.rows == pytest.approx(16_000, rel=0.03)
    assert table.cut(20)[0] == pytest.approx(6_000, rel=0.03)
    assert table.cut(20, 8_000.0)[0] == pytest.approx(0, abs=120)
    assert table.share_cut(20).value == pytest.approx(12 / 32, rel=0.03)


@pytest.mark.parametrize("cells", [[0, 0, 0], [-(2**90), 2**90, 2**90], [2**90, -(2**90), 1], [ONE_UNIT, 0, ONE_UNIT]])
def test_shares_are_shares(cells: list[int], counted: Sums, policy: Policy) -> None:
    """Between 0 and 1, whatever noise there is."""
    fare = ref(0, policy.tables["rides"], "fare")
    measured = BeyondBounds(counted.relation, counted.bound, (fare,), Fraction(1, 10**6))
    table = Profile().with_release("rides", "i", measured, Release([cells])).of("rides")
    assert table is not None
    for share in table.beyond["fare"]:
        assert 0 <= share.value <= 1
        assert 0 <= share.margin <= 1
    assert table.rows is None
    assert table.cut(20, 10.0) == (0, 0)


@pytest.mark.parametrize("cell", [0, 2**200, -(2**200)])
def test_nothing_makes_it_fail(cell: int, counted: Sums) -> None:
    """Neither what is told of it, nor what it says of a C."""
    profile = _known(counted, [cell, -cell, cell, cell])
    assert [line.value >= 0 for line in profile.lines("passenger")]
    table = profile.of("rides")
    assert table is not None
    for counted_rows in (None, 0.0, -5.0, 1e300):
        assert min(table.cut(20, counted_rows)) >= 0
