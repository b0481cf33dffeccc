"""Upper bounds of what discrete Gaussian noise gives away, against probabilities that are added up."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_ndtr

from dpsql.privacy.mechanisms.gaussian_selection import LEAST_SIGMA, _mills, delta_at_most, least_sigma, tail_at_most

SIGMA = LEAST_SIGMA
_REACH = 12 * SIGMA
_NEAR = 1 + 1e-9
"""What adding up in floating point may lose: all terms are positive."""


def _law() -> NDArray[np.float64]:
    """Return P(z) for |z| ≤ 12σ; what is beyond has less than 1e-30."""
    z = np.arange(-_REACH, _REACH + 1, dtype=np.float64)
    weight = np.exp(-(z**2) / (2 * SIGMA**2))
    return np.asarray(weight / weight.sum())


@cache
def _sum_of(number: int) -> NDArray[np.float64]:
    """Return the law of the sum of so many independent draws, by adding up products."""
    law = _law()[_REACH - 7 * SIGMA : _REACH + 7 * SIGMA + 1]
    return law if number == 1 else np.convolve(_sum_of(number - 1), law)


SUMS = [1, 2, pytest.param(3, marks=pytest.mark.slow)]  # whose law takes seconds


def _exact(law: NDArray[np.float64], a: int, w: int, epsilon: float, *, removed: bool) -> float:
    """Return E[(1 − e^(ε − loss))₊] of the release of `a` numbers that a unit moves by w each."""
    half = len(law) // 2
    s = np.arange(-half, half + 1, dtype=np.float64)
    loss = ((-1 if removed else 1) * 2 * w * s + a * w * w) / (2 * SIGMA**2)
    return math.fsum((law * np.maximum(-np.expm1(epsilon - loss), 0)).tolist())


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("a", SUMS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("sensitivity", [150, 300, 620])
def test_no_move_tells_more_than_bounded(epsilon: Fraction, sensitivity: int, a: int, *, removed: bool) -> None:
    """The exact δ of `a` numbers moved alike, by Δ together, is below the bound and hardly."""
    w = math.isqrt(sensitivity**2 // a)
    bound = delta_at_most(epsilon, sensitivity, SIGMA)
    exact = _exact(_sum_of(a), a, w, float(epsilon), removed=removed)
    assert exact <= float(bound) * _NEAR
    if a == 1 and exact > 1e-12:
        assert float(bound) < 1.15 * exact


@pytest.mark.parametrize("m", [1, 2, 500, 1_000, 3_000, 5_000])
def test_no_tail_is_longer_than_bounded(m: int) -> None:
    """P(z ≥ m) added up is below the bound, and hardly: a lattice step is a thousandth of σ."""
    exact = math.fsum(_law()[_REACH + m :].tolist())
    assert exact <= float(tail_at_most(SIGMA, m)) * _NEAR
    assert float(tail_at_most(SIGMA, m)) < 1.02 * exact or m == 1


@pytest.mark.parametrize("x", [0, 0.1, 0.5, 1, 2, 4.5, 9, 30])
def test_ratio_of_mills_is_between_its_bounds(x: float) -> None:
    """And the bounds are close where thresholds are; closer than double precision from 2 on."""
    enclosed = _mills(Fraction(x))
    exact = math.exp(log_ndtr(-x) + x * x / 2) * math.sqrt(2 * math.pi)
    assert float(enclosed.low) * (1 - 1e-12) <= exact <= float(enclosed.high) * (1 + 1e-12)
    assert enclosed.low <= enclosed.high
    if x >= 2:
        assert (enclosed.high - enclosed.low) / enclosed.low < 1e-14


@pytest.mark.parametrize("delta", [Fraction(1, 20), Fraction("1e-6"), Fraction("1e-15"), Fraction("1e-300")])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(10**6)])
def test_least_sigma_is_safe_and_about_the_least(epsilon: Fraction, delta: Fraction) -> None:
    """Its bound is below δ; that of a σ smaller by a hundredth is not, unless the lattice allows no smaller."""
    sensitivity = 10**4
    sigma = least_sigma(epsilon, delta, sensitivity)
    assert delta_at_most(epsilon, sensitivity, sigma) <= delta
    smaller = sigma * 99 // 100
    allowed = smaller >= LEAST_SIGMA and 2 * epsilon * smaller**2 >= sensitivity**2
    assert not allowed or delta_at_most(epsilon, sensitivity, smaller) > delta


def test_least_sigma_is_near_the_continuous_one() -> None:
    """Fine lattices cost next to nothing over Balle's and Wang's optimum, which is 4.2246 at (1, 1e-6)."""
    assert least_sigma(Fraction(1), Fraction("1e-6"), 10**6) / 10**6 == pytest.approx(4.2246, rel=1e-3)


def test_no_bound_where_the_proof_does_not_reach() -> None:
    """For σ below a thousand, or so small that α is negative."""
    for epsilon, sensitivity, sigma in ((1, 1, 999), (Fraction(1, 100), 10_000, 1_000)):
        with pytest.raises(ValueError, match="σ"):
            delta_at_most(Fraction(epsilon), sensitivity, sigma)
