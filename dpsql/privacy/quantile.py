"""Quantiles, minimum and maximum: the private choice of a bucket of a histogram, in every group at once.

A histogram has a row per group and a column per bucket, and counts rows of data in units of the weight lattice. Adding
or removing one unit moves all its counts together by at most `mass`, the contribution bound in the same units.
Scoring buckets, not the edges between them, is what makes repeated values safe: a bucket that spans the wanted rank
has the best score however many rows it holds.
"""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.privacy.choice import Scores, permute_and_flip
from dpsql.privacy.entropy import Entropy

_WIDE = 2.0**61
"""Scores that may come near 64 bits are computed as Python's integers."""
_ODDS = 20
"""The rank of an extreme is off by more than `depth` with probability 1/20."""


def quantile(
    entropy: Entropy, histogram: NDArray[np.int64], q: Fraction, epsilon: Fraction, mass: int
) -> NDArray[np.int64]:
    """Return for each group the index of a bucket near the `q`-quantile, 0 ≤ q ≤ 1.

    With q = a/b and n rows of which cᵢ lie below bucket i, its score is the distance of a·n from [b·cᵢ, b·cᵢ₊₁],
    negated. A row adds a to the first, and 0 or b to each of the others, so the score moves by max(a, b − a) at most.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"no quantile {q}")
    a, b = q.as_integer_ratio()
    counts = _wide_enough(histogram, b)
    upper: Scores = b * counts.cumsum(axis=1)
    wanted = upper[:, -1:] // b * a
    distance: Scores = np.maximum(np.maximum(wanted - upper, upper - b * counts - wanted), 0)
    return permute_and_flip(entropy, -distance, epsilon, mass * max(a, b - a))


def maximum(entropy: Entropy, histogram: NDArray[np.int64], epsilon: Fraction, mass: int) -> NDArray[np.int64]:
    """Return for each group the index of a bucket near the largest value: the one with the row that `depth` lie above.

    The score is the distance of that number from the numbers of rows above the bucket without and with its own, negated,
    so that a value of many rows is found, and not one of the empty buckets beyond it. With fewer rows no bucket has so
    many above it, and the choice would end at the wrong bound: then the index after the last bucket says that there are
    too few. Its score is the number of rows beyond `depth`, negated. A unit moves every score by its mass at most.
    """
    counts = _wide_enough(histogram, 1)
    through: Scores = counts.cumsum(axis=1)
    above, wanted = through[:, -1:] - through, max(depth(histogram.shape[1], epsilon, mass), 1)
    too_few: Scores = np.maximum(through[:, -1:] - wanted, 0)
    outside: Scores = np.maximum(np.maximum(above - wanted, wanted - above - counts), 0)
    distance: Scores = np.concatenate([outside, too_few], axis=1)
    return permute_and_flip(entropy, -distance, epsilon, mass)


def minimum(entropy: Entropy, histogram: NDArray[np.int64], epsilon: Fraction, mass: int) -> NDArray[np.int64]:
    """Return for each group the index of a bucket near the smallest value, as `maximum` does for the largest."""
    number = np.int64(histogram.shape[1])
    mirrored = maximum(entropy, histogram[:, ::-1], epsilon, mass)
    return np.where(mirrored == number, number, number - 1 - mirrored)


def extremes(
    entropy: Entropy, histogram: NDArray[np.int64], epsilon: Fraction, mass: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the buckets of the minimum and of the maximum, each for half of `epsilon`, in order if there are both."""
    low = minimum(entropy, histogram, epsilon / 2, mass)
    high = maximum(entropy, histogram, epsilon / 2, mass)
    ordered = (low < histogram.shape[1]) & (high < histogram.shape[1])
    return np.where(ordered, np.minimum(low, high), low), np.where(ordered, np.maximum(low, high), high)


def depth(buckets: int, epsilon: Fraction, mass: int) -> int:
    """Return floor(2·mass·ln(20·buckets) / ε), by which the choice may miss: an extreme is looked for so far inside.

    Nearer to the end the choice could not tell the last rows from the empty buckets beyond them.
    """
    logarithm = Fraction(Context(prec=60).ln(Decimal(_ODDS * buckets)))
    return math.floor(2 * mass * logarithm / epsilon)


def _wide_enough(histogram: NDArray[np.int64], factor: int) -> Scores:
    """Return the counts in a type that holds `factor` times their sum."""
    rows = histogram.sum(axis=1, dtype=np.float64).max(initial=0.0)
    return histogram if rows * factor < _WIDE else histogram.astype(np.object_)
