"""Several releases of one measurement, read as one."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import ExactSums
from dpsql.privacy.release.release import Draw, Draws, Found, estimates, release_sums, together
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory


@pytest.fixture
def draws(policy: Policy, world: World) -> Draws:
    """A count and a sum, released at ε = 1 and at ε = 2."""
    (sums,) = measurements("SELECT count(*), sum(fare) FROM rides", policy, world, Memory(policy))
    assert isinstance(sums, Sums)
    exact, noise = ExactSums(None, [[10**9] * len(sums.features)]), np.random.default_rng(1).bytes
    paid = [replace(sums, epsilon=Fraction(epsilon)) for epsilon in (1, 2)]
    return Draws(tuple((measurement, release_sums(measurement, exact, noise)) for measurement in paid))


def sums_of(draw: Draw) -> Found:
    """Return what one release alone says of its only group."""
    measurement, release = draw
    assert isinstance(measurement, Sums)
    return estimates(measurement)(release.numbers[0])


def test_releases_count_by_the_squares_of_their_epsilons(draws: Draws) -> None:
    """Noise at ε = 2 has a quarter of the variance, and so four times the weight."""
    first, second = (sums_of(draw) for draw in draws.drawn)
    read = draws.reader()(0)
    assert first != second
    assert read == {f: pytest.approx((first[f] + 4 * second[f]) / 5) for f in first}


def test_one_release_is_read_as_it_is(draws: Draws) -> None:
    """There is nothing to weigh."""
    alone = Draws(draws.drawn[:1])
    assert alone.reader()(0) == sums_of(draws.drawn[0])
    assert alone.measurement == draws.drawn[0][0]


def test_all_have_as_much_noise_as_one_at_the_root_of_the_squares(draws: Draws) -> None:
    """Rounded down, so that no margin is too small."""
    assert together([Fraction(3), Fraction(4)]) == 5
    assert together([Fraction(1), Fraction(1)]) ** 2 < 2
    assert draws.measurement.epsilon == together([Fraction(1), Fraction(2)])
    assert draws.best is draws.drawn[1]
