"""Which groups may be empty."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.accuracy.margin import emptiness, within_noise
from dpsql.privacy.measurement.plan import MeasurementPlan
from tests.support.exactness import plans
from tests.support.fix_world import World
from tests.support.memory import Memory


@pytest.fixture
def plan(policy: Policy, world: World) -> MeasurementPlan:
    """Counts by payment, at ε = 1."""
    (planned,) = plans("SELECT paid, count(*) FROM rides GROUP BY 1", policy, world, Memory(policy))
    return replace(planned, parts=tuple(replace(part, epsilon=Fraction(1)) for part in planned.parts))


def test_more_groups_need_a_larger_count(plan: MeasurementPlan) -> None:
    """Of many empty groups, one is the more likely to look as if it were not."""
    few, many = within_noise(plan, 1), within_noise(plan, 1000)
    assert few is not None
    assert many is not None
    assert 0 < few < many


def test_a_group_may_be_empty_up_to_what_noise_reaches(plan: MeasurementPlan) -> None:
    """From there on it is not."""
    assert plan.count is not None
    least = within_noise(plan, 4)
    assert least is not None
    may_be_empty = emptiness(plan, 4)
    for count, expected in ((-5.0, True), (0.0, True), (least - 1, True), (least + 1, False)):
        assert may_be_empty([dict.fromkeys(plan.count.readout.features, count)]) is expected


def test_without_a_count_every_group_may_be_empty(plan: MeasurementPlan) -> None:
    """Nothing says that it is not."""
    assert emptiness(replace(plan, count=None), 4)([])
