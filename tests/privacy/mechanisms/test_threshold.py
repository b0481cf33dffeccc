"""Thresholds against the exact probability that a key of one unit alone is shown."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.privacy.mechanisms.discrete_laplace import cube
from dpsql.privacy.mechanisms.threshold import per_key, threshold

GRID = [
    (epsilon, delta, keys)
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3))
    for delta in (Fraction(1, 20), Fraction("1e-6"), Fraction("1e-12"))
    for keys in (1, 3, 20)
]


def _scale(keys: int, step: int, epsilon: Fraction) -> int:
    return math.ceil(keys * step / epsilon)


def _tail(t: int, d: int, m: int) -> float:
    """Add up P(z ≥ m) radius by radius."""
    radius = np.arange(m + t * (60 + 4 * d), dtype=np.float64)
    weights = (2 * radius + 1) ** d * np.exp(-radius / t)
    above = weights[m:] * (radius[m:] - m + 1) / (2 * radius[m:] + 1)
    return float(above.sum() / weights.sum())


@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize(("epsilon", "delta", "keys"), GRID)
def test_threshold_is_safe_and_the_least(d: int, epsilon: Fraction, delta: Fraction, keys: int) -> None:
    """All keys of one unit are hidden with probability 1 − δ at τ, and would not be at τ − 1."""
    step = 1 if keys > 1 else 4
    t = _scale(keys, step, epsilon)
    m = threshold(t, d, step, keys, delta) - keys * step

    def leak(excess: int) -> float:
        return -math.expm1(keys * math.log1p(-_tail(t, d, excess)))

    assert leak(m) <= delta * (1 + 1e-9)
    assert m == 1 or leak(m - 1) > delta * (1 - 1e-9)


@pytest.mark.parametrize("t", [1, 2, 7, 1000])
def test_laplace_closed_form(t: int) -> None:
    """For one statistic the tail is p^m/(1 + p)."""
    delta = Fraction("1e-9")
    p = math.exp(-1 / t)
    m = threshold(t, 1, 1, 1, delta) - 1
    assert p**m / (1 + p) <= delta < p ** (m - 1) / (1 + p)


@pytest.mark.parametrize("d", [4, 6])
def test_scalar_formula_would_leak_in_a_cube(d: int) -> None:
    """The threshold of a lone count, used inside a cube of the same scale, is too small by a factor above 100."""
    t, delta = 20, Fraction("1e-6")
    m = threshold(t, 1, 1, 1, delta) - 1
    assert _tail(t, 1, m) <= delta
    assert _tail(t, d, m) > 100 * delta


@pytest.mark.parametrize("t", [2**30, 2**62, 2**100])
@pytest.mark.parametrize("d", [1, 5, 40])
def test_large_scales(t: int, d: int) -> None:
    """At fine lattices the threshold follows the scale: its excess is a multiple of t that settles."""
    delta = Fraction("1e-8")
    fine, coarse = threshold(t, d, 1, 1, delta) - 1, threshold(2**20, d, 1, 1, delta) - 1
    assert Fraction(fine, t) == pytest.approx(coarse / 2**20, rel=1e-4)


def test_vanishing_delta_has_a_threshold() -> None:
    """The search ends however small δ is: in 40 dimensions beyond ln(1/δ) scales, but not far."""
    assert 690 < (threshold(10**6, 40, 1, 1, Fraction(1, 10**300)) - 1) / 10**6 < 950


def test_excess_in_rows_matches_the_continuous_law() -> None:
    """For d = 1: b·ln(1/(2δ)), since half of the Laplace's tail lies above."""
    t = 2**30
    assert (threshold(t, 1, 1, 1, Fraction("1e-8")) - 1) / t == pytest.approx(math.log(1 / 2e-8), rel=1e-6)


@pytest.mark.parametrize("delta", [Fraction(1, 20), Fraction("1e-6"), Fraction("1e-40"), Fraction(1, 10**300)])
@pytest.mark.parametrize("keys", [1, 2, 20, 1000])
def test_delta_per_key_is_safe_and_tight(delta: Fraction, keys: int) -> None:
    """δ₁ is small enough, by exact arithmetic, and a little more would not be (where the digits suffice)."""
    part = per_key(delta, keys)
    assert (1 - part) ** keys >= 1 - delta
    if delta > Fraction("1e-50"):
        assert (1 - part * (1 + Fraction("1e-12"))) ** keys < 1 - delta


def test_hidden_keys_stay_hidden() -> None:
    """Drawn noise: a lone unit's key in a cube of four statistics shows as often as δ allows (false alarm 1e-6).

    20,000 draws at δ = 0.05 expect 1,000 shows at most; 1,147 is 4.8 standard errors above.
    """
    t, delta = 8, Fraction(1, 20)
    needed = threshold(t, 4, 4, 1, delta)
    drawn = cube(np.random.default_rng(2).bytes, t, 4, 20_000)
    shows = sum(4 + z[0] >= needed for z in drawn)
    assert 600 < shows < 1147


@pytest.mark.parametrize("wrong", [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)])
def test_arguments_are_positive(wrong: tuple[int, int, int, int]) -> None:
    """Nothing has a threshold without noise, rows or keys; nor does δ = 0 or 1."""
    for arguments, delta in ((wrong, Fraction(1, 2)), ((1, 1, 1, 1), Fraction(0)), ((1, 1, 1, 1), Fraction(1))):
        with pytest.raises(ValueError, match="threshold"):
            threshold(*arguments, delta)
