"""When an answer errs little enough, by what was released of it; that it then does is tried in tests/gateway."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.features.feature import Readout
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import MeasurementPlan, StatisticOutput
from dpsql.privacy.measurement.rows_per_unit import ChosenBound
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.release import Draws, Release, estimates
from dpsql.privacy.release.target import irreducible_error, is_met, next_payment
from tests.support.exactness import plans
from tests.support.fix_world import World
from tests.support.memory import Memory

LADDER = tuple(Fraction(n, 100) for n in (1, 2, 3, 5, 10, 20, 30, 50, 100))
ROWS = 8_000


def _planned(sql: str, policy: Policy, world: World) -> tuple[MeasurementPlan, Sums, Readout]:
    """Return a plan of one statistic whose first look has paid ε = 1/20."""
    (plan,) = plans(sql, policy, world, Memory(policy))
    (sums,), output = plan.parts, plan.outputs[0]
    assert isinstance(sums, Sums)
    assert isinstance(output, StatisticOutput)
    return plan, replace(sums, epsilon=Fraction(1, 20)), output.readout


def _released(sums: Sums, *rows: float) -> Draws:
    """Return a release whose coordinates are so many rows."""
    return Draws(((sums, Release([[round(count * sums.steps_per_row) for count in rows]])),))


def _spread(sums: Sums, readout: Readout, draws: Draws) -> float:
    """Return how far noise typically moves the statistic."""
    spread = Margins.of(sums).spread(readout, estimates(sums)(draws.best[1].numbers[0]), 1 - 0.3679)
    assert spread is not None
    return spread


@pytest.mark.parametrize(("times", "met"), [(1.1, False), (1.35, False), (1.45, True), (1e6, True)])
def test_a_value_is_judged_without_its_own_noise(times: float, met: bool, policy: Policy, world: World) -> None:
    """Noise that makes a value large makes its relative error small: those that stop there would be the ones that err."""
    plan, sums, readout = _planned("SELECT count(*) FROM rides", policy, world)
    width, error = _spread(sums, readout, _released(sums, 1e5)), Fraction(1, 4)
    draws = _released(sums, times * width / float(error))
    assert is_met(plan, 0, draws, error, LADDER) is met
    assert (next_payment(plan, 0, draws, error, LADDER) is None) is met


@pytest.mark.parametrize("below", [0.0, 0.5, 1.0, 3.0])
def test_a_mean_that_noise_has_made_less_than_its_bound_is_not_thought_exact(
    below: float, policy: Policy, world: World
) -> None:
    """Its margin is short, for what it could be is near; but so much noise would move any mean by more than is wanted."""
    plan, sums, readout = _planned("SELECT avg(fare) FROM rides WHERE fare > 20", policy, world)
    at_bound = _released(sums, ROWS, -ROWS)
    width = _spread(sums, readout, at_bound)
    error = Fraction(width / 20) * Fraction(4, 5)  # of the bound, which is 20
    rows = width * ROWS / 65  # the noise's own size: from the bound to the middle there are 65
    draws = _released(sums, ROWS, -ROWS - below * rows)
    assert not is_met(plan, 0, draws, error, LADDER)


def test_what_is_paid_next_is_what_the_value_asks_for(policy: Policy, world: World) -> None:
    """A step of the ladder that is no less than what was paid, and no more than what is left."""
    plan, sums, readout = _planned("SELECT count(*) FROM rides", policy, world)
    width = _spread(sums, readout, _released(sums, 1e5))
    for times in (0.1, 0.5, 1.5, 5.0):
        draws = _released(sums, times * width)
        step = next_payment(plan, 0, draws, Fraction(1, 10), LADDER)
        assert step in LADDER
        assert Fraction(1, 20) <= step <= 1 - Fraction(1, 20)


def _chosen(histogram: Histogram, choices: Mapping[int, int]) -> Draws:
    """Return the buckets that were chosen at each hundredth of ε."""
    drawn = ((replace(histogram, epsilon=Fraction(n, 100)), Release([[bucket]])) for n, bucket in choices.items())
    return Draws(tuple(drawn))


@pytest.mark.parametrize(
    ("choices", "met"),
    [
        ({1: 100}, False),
        ({1: 100, 3: 100}, True),
        ({1: 140, 3: 100}, False),
        ({1: 110, 3: 100}, True),
        ({1: 140, 3: 128, 9: 100}, True),
        ({1: 140, 3: 130, 9: 100}, False),
        ({1: 100, 3: 140, 9: 100}, False),
    ],
)
def test_choices_are_compared_with_the_one_before(
    choices: Mapping[int, int], met: bool, policy: Policy, world: World
) -> None:
    """How far they lie apart is what the worse of two errs by, and the better by as much less as its noise is less.

    Half a bucket is added, which here is half a percent.
    """
    (plan,) = plans("SELECT median(fare) FROM rides", policy, world, Memory(policy))
    (histogram,) = plan.parts
    assert isinstance(histogram, Histogram)
    draws = _chosen(histogram, choices)
    assert is_met(plan, 0, draws, Fraction(1, 10), LADDER) is met
    assert (next_payment(plan, 0, draws, Fraction(1, 10), LADDER) is None) is met


def test_what_a_chosen_bound_takes_off_most_likely_counts(policy: Policy, world: World) -> None:
    """Margins are for more that nobody has seen: an alarm for that would be one for nothing, nearly always."""
    plan, sums, _ = _planned("SELECT count(*) FROM rides", policy, world)
    exact = Release([[round(ROWS * sums.steps_per_row)]])
    for cut, met in ((ROWS // 3, False), (ROWS // 20, True), (0, True)):
        chosen = replace(exact, chosen=ChosenBound(sums.bound.rows, cut, ROWS // 8))
        draws = Draws(((replace(sums, epsilon=Fraction(1)), Release.from_bytes(chosen.to_bytes())),))
        assert is_met(plan, 0, draws, Fraction(1, 10), LADDER) is met
        assert (irreducible_error(plan, 0, draws, Fraction(1, 10)) is None) is met


def test_of_few_units_nobody_knows(policy: Policy, world: World) -> None:
    """What a C may take off heavy units that were not seen counts there, and the reason is said."""
    plan, sums, _ = _planned("SELECT count(*) FROM rides", policy, world)
    exact = Release([[round(ROWS * sums.steps_per_row)]])
    chosen = replace(exact, chosen=ChosenBound(sums.bound.rows, 0, ROWS // 4, few=True))
    draws = Draws(((replace(sums, epsilon=Fraction(1)), Release.from_bytes(chosen.to_bytes())),))
    assert not is_met(plan, 0, draws, Fraction(1, 10), LADDER)
    assert str(irreducible_error(plan, 0, draws, Fraction(1, 10))).startswith("there are too few units (rider)")


def test_what_a_chosen_bound_takes_off_counts(policy: Policy, world: World) -> None:
    """It is an error like any other, which no ε makes less: it is said, and what is paid is for the noise alone."""
    plan, sums, _ = _planned("SELECT count(*) FROM rides", policy, world)
    exact = Release([[round(ROWS * sums.steps_per_row)]])
    for cut, met in ((0, True), (ROWS // 20, True), (ROWS // 4, False)):
        chosen = replace(exact, chosen=ChosenBound(sums.bound.rows, cut))
        draws, error = Draws(((replace(sums, epsilon=Fraction(1)), chosen),)), Fraction(1, 10)
        assert is_met(plan, 0, draws, error, LADDER) is met
        assert (irreducible_error(plan, 0, draws, error) is None) is met
        assert next_payment(plan, 0, draws, error, LADDER) is None


@pytest.mark.parametrize("width", [0, 3, 40, 4095])
def test_a_choice_with_its_width_tells_what_more_it_takes(width: int, policy: Policy, world: World) -> None:
    """By how far off it typically is, and half a bucket."""
    (plan,) = plans("SELECT median(fare) FROM rides", policy, world, Memory(policy))
    histogram = plan.parts[0]
    assert isinstance(histogram, Histogram)
    told = replace(histogram, margin=True, epsilon=Fraction(1, 100))
    draws = Draws(((told, Release([[100, width]])),))
    plan = replace(plan, parts=(told,))
    assert is_met(plan, 0, draws, Fraction(1, 10), LADDER) is (width < 10)
    step = next_payment(plan, 0, draws, Fraction(1, 10), LADDER)
    assert (step is None) is (width < 10)
    assert is_met(plan, 0, draws, Fraction(1, 250), LADDER) is False  # half of the bucket is half a percent
