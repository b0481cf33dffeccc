"""The noise on the cells of what is searched: as wide as is claimed, and as the charge says.

False alarms: the mean distance of 20,000 draws lies within 4 % of the scale, beyond five of its standard deviations.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.plan import Searched
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import ExactCells
from dpsql.privacy.release.release import release_cells
from dpsql.rewrite.ir.relation import ref
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory

DRAWS = 20_000


@pytest.fixture(scope="module")
def searches(policy: Policy, world: World) -> Sequence[Searched]:
    """Give a ladder, and the shares of two columns beyond their bounds."""
    (sums,) = measurements("SELECT count(*) FROM rides", policy, world, Memory(policy))
    assert isinstance(sums, Sums)
    columns = tuple(ref(0, policy.tables["rides"], name) for name in ("fare", "tip"))
    ladder = RowsPerUnit(replace(sums, bound=replace(sums.bound, up_to=64)), Fraction(1, 4), also=20)
    return ladder, BeyondBounds(sums.relation, sums.bound, columns, Fraction(1, 4))


def test_each_cells_noise_is_as_wide_as_a_unit_moves_all(searches: Sequence[Searched]) -> None:
    """Its mean distance from what is there is sensitivity / ε; ε is what is charged."""
    for search in searches:
        released = release_cells(search, ExactCells([7] * DRAWS), np.random.default_rng(5).bytes)
        distance = float(np.mean(np.abs(np.array(released.numbers[0], dtype=np.float64) - 7)))
        assert distance == pytest.approx(float(search.sensitivity / search.epsilon), rel=0.04)
