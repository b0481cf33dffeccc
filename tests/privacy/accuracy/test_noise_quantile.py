"""How far one draw of noise reaches."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from dpsql.privacy.accuracy.margin import noise_quantile
from dpsql.privacy.mechanisms.law import LAPLACE, CubeLaw

DRAWS = 400_000


@pytest.mark.parametrize(("d", "expected"), [(1, 2.996), (2, 4.113), (3, 5.186), (4, 6.234), (6, 8.282), (8, 10.29)])
def test_one_coordinate_of_a_cube(d: int, expected: float) -> None:
    """The half-widths that the design was made with, to their last digit."""
    assert noise_quantile(CubeLaw(d), [1.0]) == pytest.approx(expected, rel=1e-3)


def test_laplace_in_closed_form() -> None:
    """P(|z| > x) = e^(−x), at any level and in proportion to the weight."""
    assert noise_quantile(LAPLACE, [2.0], 0.99) == pytest.approx(2 * math.log(100), rel=1e-9)


@pytest.mark.parametrize("weights", [[1.0, 0.3], [1.0, 0.7, 0.2, 0.9], [0.5] * 6, [1.0, *[1e-6] * 7]])
def test_draws_stay_within(weights: Sequence[float]) -> None:
    """5 % of drawn sums lie beyond, or a little less: 0.2 % off is 5 standard errors, and small weights are raised."""
    rng, d = np.random.default_rng(5), len(weights)
    radius = rng.gamma(d + 1, 1.0, DRAWS)
    sums = (rng.uniform(-1, 1, (DRAWS, d)) * radius[:, None]) @ np.array(weights)
    beyond = float(np.mean(np.abs(sums) > noise_quantile(CubeLaw(d), weights)))
    assert 0.046 <= beyond <= 0.052


def test_nothing_reaches_nowhere() -> None:
    """Weights of zero have no noise, and none have none."""
    assert noise_quantile(CubeLaw(2), [0.0, 0.0]) == 0
    assert noise_quantile(CubeLaw(2), []) == 0
