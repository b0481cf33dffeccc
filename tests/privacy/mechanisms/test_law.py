"""The cube's continuous law against draws and closed forms."""

import numpy as np
import pytest

from dpsql.privacy.mechanisms.law import LAPLACE, CubeLaw

DRAWS = 200_000


def test_one_coordinate_of_one_is_laplace() -> None:
    """P(|z| > x) = e^(−x)."""
    x = np.array([0.1, 1.0, 5.0])
    assert LAPLACE.tail(x, np.array([1.0])) == pytest.approx(np.exp(-x))
    assert LAPLACE.variance == 2


@pytest.mark.parametrize(("d", "weights"), [(1, [1.0]), (2, [1.0]), (3, [0.5, 2.0]), (5, [1.0, 1.0, 0.2])])
def test_tails_are_those_of_draws(d: int, weights: list[float]) -> None:
    """Within 0.6 %, 5 standard errors of so many draws, wherever it is looked."""
    rng, law = np.random.default_rng(3), CubeLaw(d)
    radius = rng.gamma(d + 1, 1.0, DRAWS)
    sums = np.abs((rng.uniform(-1, 1, (DRAWS, len(weights))) * radius[:, None]) @ np.array(weights))
    x = np.quantile(sums, [0.3, 0.6, 0.9, 0.99])
    assert law.tail(x, np.array(weights)) == pytest.approx(1 - np.array([0.3, 0.6, 0.9, 0.99]), abs=0.006)
    assert float(np.mean(radius > law.far)) < 1e-4


def test_a_cube_has_no_more_weights_than_coordinates() -> None:
    """A third weight for two coordinates is a mistake."""
    with pytest.raises(ValueError, match="3 weights"):
        CubeLaw(2).tail(np.array([1.0]), np.ones(3))
