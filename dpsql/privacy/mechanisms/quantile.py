"""Quantiles: the private choice of a bucket of a histogram, in every group at once.

A histogram has a row per group and a column per bucket, and counts rows of data in units of the weight lattice. Adding
or removing one unit moves all its counts together by at most `mass`, the contribution bound in the same units.
Scoring buckets, not the edges between them, is what makes repeated values safe: a bucket that spans the wanted rank
has the best score however many rows it holds.

In a group with next to no rows all buckets are equally good, and the choice would be any of them. So one more answer
stands beside the buckets, the index after the last, which says that there are too few.
"""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.permute_and_flip import Scores, permute_and_flip

_WIDE = 2.0**61
"""Scores that may come near 64 bits are computed as Python's integers."""
OUTER = Fraction(1, 10)
"""A quantile this near to an end is kept inside."""
_ODDS = 20
"""The rank is off by more than `depth` with probability 1/20, and an empty group has a value."""


def quantile(
    entropy: Entropy, histogram: NDArray[np.int64], q: Fraction, epsilon: Fraction, mass: int
) -> NDArray[np.int64]:
    """Return for each group the index of a bucket near the `q`-quantile, 0 ≤ q ≤ 1.

    With q = a/b and n rows of which cᵢ lie below bucket i, its score is the distance of a·n from [b·cᵢ, b·cᵢ₊₁], or
    max(a, b − a) for each row that n lacks to `depth` if that is more, negated. A row adds a to a·n, and 0 or b to each of
    the ends, so that the score moves by max(a, b − a) at most. That there are too few has for its score the rows from
    `depth` on, as many times.

    Of an outer quantile, q ≤ 1/10 or q ≥ 9/10, a·n is not taken nearer to the end than `depth` rows: nearer the choice could
    not tell the last rows from the empty buckets beyond. It is then max(a·n, b·(depth − ½)) or min(a·n, b·(n − depth + ½)),
    the middle of a row, which moves by 0, a or b with a row, and never against the ends: the score moves by b at most, hardly
    more than before. (Both are doubled, to be whole.)
    """
    if not 0 <= q <= 1:
        raise ValueError(f"no quantile {q}")
    a, b = q.as_integer_ratio()
    outer = min(q, 1 - q) <= OUTER
    a, b = (2 * a, 2 * b) if outer else (a, b)
    step, enough = b if outer else max(a, b - a), max(depth(histogram.shape[1], epsilon, mass), 1)
    counts = wide_enough(histogram, b, enough)
    through: Scores = counts.cumsum(axis=1)
    rows, upper = through[:, -1:], b * through
    wanted = a * rows
    if outer:
        inside = b * enough - b // 2
        wanted = np.maximum(wanted, inside) if q <= OUTER else np.minimum(wanted, b * rows - inside)
    outside = np.maximum(np.maximum(wanted - upper, upper - b * counts - wanted), step * (enough - rows))
    distance: Scores = np.concatenate([np.maximum(outside, 0), step * np.maximum(rows - enough + 1, 0)], axis=1)
    return permute_and_flip(entropy, -distance, epsilon, mass * step)


def depth(buckets: int, epsilon: Fraction, mass: int) -> int:
    """Return floor(2·mass·ln(20·buckets) / ε), by which the choice may miss: outer quantiles are looked for so far inside.

    Nearer to the end the choice could not tell the last rows from the empty buckets beyond them, and of fewer rows it could
    tell nothing at all.
    """
    logarithm = Fraction(Context(prec=60).ln(Decimal(_ODDS * buckets)))
    return math.floor(2 * mass * logarithm / epsilon)


def wide_enough(histogram: NDArray[np.int64], factor: int, enough: int) -> Scores:
    """Return the counts in a type that holds `factor` times their sum, and `factor` times `enough`."""
    rows = max(histogram.sum(axis=1, dtype=np.float64).max(initial=0.0), enough)
    return histogram if rows * factor < _WIDE else histogram.astype(np.object_)
