"""Margins of lines hold for the answers that have one, however few these are: where x varies by little more than noise."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql.policy.model import Digits, Policy
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.lattice import EngineSum
from dpsql.privacy.measurement.plan import StatisticOutput
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release import postprocess
from dpsql.privacy.release.exact import ExactSums
from dpsql.privacy.release.postprocess import Shows
from dpsql.privacy.release.release import Draws, estimates, release_sums
from tests.support.exactness import plans
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.memory import Memory

TIP = np.random.default_rng(1).normal(1, 2.3, 4_000)
"""Of bounds from −5 to 35."""
VALUES = {"tip": np.clip(TIP, -5, 35), "fare": np.clip(7 * (TIP + 5), 0, 150)}
"""Fares go with tips as far as they can, so that the noise of x alone decides how far a slope is off."""
_Points = NDArray[np.int64]


def _exact(sums: Sums, column: EngineSum) -> int:
    products: _Points = np.ones(len(TIP), dtype=np.int64)
    for scaled in column.factors:
        values = next(values for name, values in VALUES.items() if name in str(scaled.expr))
        steps = sums.lattice if column.upwards else 2 * sums.lattice
        shares = (values - float(scaled.interval.low)) / float(scaled.interval.width)
        products = products * (np.rint(shares * steps).astype(np.int64) - (sums.lattice if column.centred else 0))
    return sums.bound.weight * int(products.sum())


def _answers(
    select: str, epsilon: Fraction, answers: int, policy: Policy, world: World
) -> tuple[float, list[tuple[str | None, str | None]]]:
    policy = with_rows(policy, "rides", "passenger", 1)
    (plan,) = plans(f"SELECT {select}, dpsql.margin({select}) FROM rides", policy, world, Memory(policy))
    sums, output = plan.parts[0], plan.outputs[0]
    assert isinstance(sums, Sums)
    assert isinstance(output, StatisticOutput)
    sums = replace(sums, epsilon=epsilon)
    exact = tuple(sums.reader()([_exact(sums, column) for column in sums.columns()]))
    true = statistic(output.readout.moment.name).estimate(output.readout, dict(estimates(sums)(exact)))
    assert true is not None
    plan = replace(plan, groups=replace(plan.groups, shown=((),) * answers), parts=(sums,))
    release = release_sums(sums, ExactSums(None, [exact] * answers), np.random.default_rng(7).bytes)
    shows = Shows.of(Digits.AUTO, clamp=False)
    rows = postprocess.rows(plan, [Draws(((sums, release),))], ["double precision"] * 2, shows)
    return true, [(value, margin) for value, margin in rows]


def _covered(select: str, epsilon: Fraction, answers: int, policy: Policy, world: World) -> tuple[float, float]:
    """Return which share of answers has a margin, and of how many of these it is the error or more."""
    true, rows = _answers(select, epsilon, answers, policy, world)
    given = [(float(value), float(margin)) for value, margin in rows if value is not None and margin is not None]
    return len(given) / answers, sum(abs(value - true) <= margin for value, margin in given) / max(len(given), 1)


@pytest.mark.parametrize("select", ["regr_slope(fare, tip)", "regr_intercept(fare, tip)"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_margins_of_lines_cover_where_few_have_one(
    select: str, epsilon: Fraction, policy: Policy, world: World
) -> None:
    """Of 700 answers, of which from 8 to 100 of 100 have a margin, 93 % are covered or more: 95 % less its own error."""
    given, covered = _covered(select, epsilon, 700, policy, world)
    assert given > 0.05
    assert covered > 0.93


@pytest.mark.slow
@pytest.mark.parametrize("select", ["regr_slope(fare, tip)", "regr_intercept(fare, tip)"])
@pytest.mark.parametrize("epsilon", [Fraction(n, 20) for n in (5, 6, 8, 12, 20, 40, 60)])
def test_margins_of_lines_cover_95_of_100(select: str, epsilon: Fraction, policy: Policy, world: World) -> None:
    """Of 6,000 answers, of which 3 of 100 have a margin or more, 95 % are covered, less three of its own errors."""
    given, covered = _covered(select, epsilon, 6_000, policy, world)
    assert given > 0.02
    assert covered > 0.95 - 3 * (0.95 * 0.05 / (6_000 * given)) ** 0.5


def test_lines_without_margins_have_the_digits_that_mean_something(policy: Policy, world: World) -> None:
    """A slope that is off by some whole numbers is not shown with seventeen digits, whether it has a margin or none."""
    _, rows = _answers("regr_slope(fare, tip)", Fraction(1, 5), 200, policy, world)
    unsaid = [value for value, margin in rows if value is not None and margin is None]
    assert len(unsaid) > 100
    assert max(map(len, unsaid)) < 12
