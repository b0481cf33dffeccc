"""Keys without counts: private at every number of units, and the most that privacy allows."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpsql.privacy.mechanisms.entropy import exp_bounds
from dpsql.privacy.mechanisms.partition_selection import _ONE, _chances, chances, select_keys
from tests.support.laws import as_far

GRID = [
    (epsilon, delta)
    for epsilon in (Fraction(1, 50), Fraction(1, 3), Fraction(1), Fraction(5))
    for delta in (Fraction(1, 20), Fraction("1e-6"), Fraction("1e-12"))
]


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_one_unit_changes_no_chance_by_more(epsilon: Fraction, delta: Fraction) -> None:
    """Both outcomes obey (ε, δ) in both directions between any n and n + 1, in exact arithmetic."""
    every = [Fraction(c, _ONE) for c in _chances(epsilon, delta)]
    _, high = exp_bounds(epsilon, 200)
    growth = Fraction(2**200, high)
    for a, b in pairwise(every):
        assert a <= b
        assert b <= growth * a + delta
        assert 1 - a <= growth * (1 - b) + delta
    assert every[0] == 0
    assert every[-1] == 1


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_chances_are_the_published_optimum(epsilon: Fraction, delta: Fraction) -> None:
    """The recurrence agrees with the closed form of the paper."""
    e, spare = float(epsilon), float(delta)
    every = [c / _ONE for c in _chances(epsilon, delta)]
    first = 1 + math.floor(math.log((math.exp(e) + 2 * spare - 1) / ((math.exp(e) + 1) * spare)) / e)
    for n, chance in enumerate(every[:-1]):
        growing = math.expm1(n * e) / math.expm1(e) * spare
        if n <= first:
            assert chance == pytest.approx(growing, rel=1e-6, abs=1e-30)
            continue
        m, at_first = n - first, every[first]
        expected = -math.expm1(-m * e) * (1 + spare / math.expm1(e)) + math.exp(-m * e) * at_first
        assert chance == pytest.approx(expected, rel=1e-6)


def test_keys_are_shown_as_often_as_their_chance() -> None:
    """The draws follow the table; a key that nobody has never shows; false alarms: 1e-6 each."""
    entropy = np.random.default_rng(4).bytes
    epsilon, delta, keys, n = Fraction(2), Fraction(1, 10), 2, 20_000
    for units in (0, 1, 2, 3, 50):
        shows = sum(select_keys(entropy, [units] * n, chances(epsilon, delta, keys)))
        every = _chances(Fraction(1), 1 - Fraction(math.sqrt(0.9)))
        expected = every[min(units, len(every) - 1)] / _ONE
        assert as_far(shows, n, expected) > 1e-6
        assert shows == 0 or units > 0


def test_no_table_is_longer_than_it_may_be() -> None:
    """With too little ε there is none, and at a δ below its resolution; nor is there a choice without ε or keys."""
    assert chances(Fraction(1, 10**99), Fraction(1, 10**6), 1) == b""
    assert chances(Fraction(1, 10**4), Fraction(1, 10**6), 20) == b""
    assert chances(Fraction(1), Fraction(1, 2**200), 1) == b""
    for epsilon, keys in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="δ"):
            chances(Fraction(epsilon), Fraction(1, 2), keys)
