"""Minimum and maximum: ε is all that is spent, for every pair of small neighbouring histograms, and little is missed."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql.privacy.mechanisms import extreme as module
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.extreme import (
    BEYOND,
    NO_END,
    fewest_units,
    maximum,
    minimum,
    units_above,
    units_told_apart,
)

Reals = NDArray[np.float64]
EPSILON, MASS, BUCKETS = Fraction(1), 2, 3
DRAWN = 400
"""Beyond so many steps the threshold's noise has a probability below e^-100."""


def _entropy(seed: int = 1) -> Entropy:
    return np.random.default_rng(seed).bytes


@dataclass(frozen=True, slots=True)
class Paid:
    """How many times the noise is paid that is drawn: once, unless there is a mistake."""

    threshold: int = 1
    coins: int = 1


def _law(cells: Sequence[int], patch: pytest.MonkeyPatch, paid: Paid, most: int) -> Reals:
    """Return the probabilities of every answer, from what the mechanism asks of its noise."""
    scales: list[Fraction] = []
    chances: list[Reals] = []

    def each(_: Entropy, scale: Fraction, number: int) -> Sequence[int]:
        scales.append(Fraction(scale) / paid.threshold)
        return range(number)

    def none(_: Entropy, counts: NDArray[np.uint64], rate: Fraction) -> NDArray[np.bool_]:
        chances.append(np.exp(-counts.astype(float) * float(rate * paid.coins)))
        return np.zeros(counts.size, dtype=np.bool_)

    patch.setattr(module, "geometric", each)
    patch.setattr(module, "coins", none)
    maximum(bytes, np.array([list(cells)] * DRAWN, dtype=np.int64), EPSILON, MASS, most)
    heads = chances[0].reshape(DRAWN, len(cells) + 1)
    heads[:, -1] = 1
    before = np.cumprod(np.concatenate([np.ones((DRAWN, 1)), 1 - heads[:, :-1]], axis=1), axis=1)
    drawn = np.exp(-np.arange(DRAWN) / float(scales[0]))
    law: Reals = (drawn / drawn.sum()) @ (heads * before)
    return law


def _worst(patch: pytest.MonkeyPatch, paid: Paid = Paid(), most: int = NO_END) -> float:
    """Return the largest log-ratio of an answer's probabilities with and without a unit of full mass."""
    histograms = list(itertools.product(range(0, 12, 3), repeat=BUCKETS))
    units = [cells for cells in itertools.product(range(MASS + 1), repeat=BUCKETS) if sum(cells) == MASS]
    laws = {cells: _law(cells, patch, paid, most) for cells in itertools.product(range(12), repeat=BUCKETS)}
    return max(
        float(np.abs(np.log(laws[a]) - np.log(laws[a[0] + u[0], a[1] + u[1], a[2] + u[2]])).max())
        for a in histograms
        for u in units
    )


def test_no_answer_tells_more_than_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all answers of all small histograms, one unit changes the probability by e^ε at most, and nearly so."""
    assert 0.8 * float(EPSILON) < _worst(monkeypatch) <= float(EPSILON) + 1e-9


@pytest.mark.parametrize("most", [1, 4, 9])
def test_nor_where_few_units_are_told_apart(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few that are."""
    assert _worst(monkeypatch, most=most) <= float(EPSILON) + 1e-9


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(10)])
def test_as_many_units_as_are_told_apart_are_never_passed_over(epsilon: Fraction) -> None:
    """A bucket with so many above is taken once in 2^40 times, and what stands for too few as seldom."""
    most, drawn = units_told_apart(epsilon, 1), float(epsilon * Fraction(2, 5))
    assert math.exp(-drawn * (most - fewest_units(epsilon, 1))) <= 2.0**-40
    histogram = np.full((20, 64), most, dtype=np.int64)
    assert (maximum(_entropy(), histogram, epsilon, 1, most) >= 62).all()
    assert (minimum(_entropy(), histogram, epsilon, 1, most) <= 1).all()


@pytest.mark.parametrize("paid", [Paid(threshold=2), Paid(coins=2)])
def test_what_is_wrong_tells_more(paid: Paid, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the threshold's noise, or of the coins', is seen."""
    assert _worst(monkeypatch, paid) > float(EPSILON)


def test_extremes_of_repeated_values_are_these() -> None:
    """Where many rows have the largest value it is found, or one of the few buckets beyond."""
    histogram = np.zeros((400, 100), dtype=np.int64)
    histogram[:, [40, 60]] = 900, 100
    high, low = maximum(_entropy(), histogram, Fraction(1), 1), minimum(_entropy(), histogram, Fraction(1), 1)
    assert (high >= 60).all()
    assert (high <= 60 + BEYOND).mean() >= 0.93
    assert (low <= 40).all()
    assert (low >= 40 - BEYOND).mean() >= 0.93


def test_few_units_lie_beyond() -> None:
    """In 95 of 100 answers no more than `reach` do, where each bucket has one; of 400, fewer than 92 % once in 1,000."""
    histogram = np.ones((400, 1024), dtype=np.int64)
    chosen = maximum(_entropy(), histogram, Fraction(1, 2), 1)
    assert (1023 - chosen <= units_above(1024, Fraction(1, 2), 1)).mean() >= 0.92
    assert (1023 - chosen).mean() < 20


def test_extremes_of_too_few_units_are_none() -> None:
    """An empty group has none with probability 19/20, and one of thrice as many as may have one has one."""
    few = fewest_units(Fraction(1), 3)
    assert few == 10
    histogram = np.zeros((500, 64), dtype=np.int64)
    assert 450 <= (maximum(_entropy(), histogram, Fraction(1), 3) == 64).sum() < 500
    assert 450 <= (minimum(_entropy(), histogram, Fraction(1), 3) == 64).sum() < 500
    histogram[:, 30] = 3 * few
    assert (maximum(_entropy(), histogram, Fraction(1), 3) == 64).sum() <= 50


def test_the_last_bucket_is_taken_where_no_other_is() -> None:
    """Rows in the last bucket alone are found in it."""
    histogram = np.zeros((1, 5), dtype=np.int64)
    histogram[0, 4] = 10**6
    assert maximum(_entropy(), histogram, Fraction(1), 1).tolist() == [4]
    assert minimum(_entropy(), histogram[:, ::-1], Fraction(1), 1).tolist() == [0]


def test_any_epsilon_and_any_number_are_computed_with() -> None:
    """However little is paid, something comes out; with very much it is the extreme itself, be the counts beyond 62 bits."""
    rows = np.full((2, 10), 2**40, dtype=np.int64)
    assert all(0 <= x <= 10 for x in maximum(_entropy(), rows, Fraction(1, 10**30), 2**20))
    assert maximum(_entropy(), rows, Fraction(10**12), 2**20).tolist() == [9, 9]
    assert maximum(_entropy(), np.array([[0, 0, 0], [0, 1, 0]]), Fraction(10**12), 1).tolist() == [3, 1]
    rows = np.array([[2**60, 2**60, 2**60, 0]])
    assert maximum(_entropy(), rows, Fraction(10**12), 2**20).tolist() == [2]


def test_no_groups() -> None:
    """No group, no choice."""
    assert not len(maximum(_entropy(), np.zeros((0, 4), dtype=np.int64), Fraction(1), 1))
