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
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace
from dpsql.privacy.mechanisms.entropy import Entropy, below_each, coins

# Private choice of one candidate among many by score, in every group at once.
#
# Permute-and-flip (McKenna and Sheldon, "Permute-and-Flip: A New Mechanism for Differentially Private Selection", 2020),
# which is never worse than the exponential mechanism.

_BLOCK = 2**20
"""How many coins are in memory at once."""


Scores = NDArray[np.int64] | NDArray[np.object_]
"""Integers, as objects where 64 bits could not hold them: a row is a group, a column a candidate."""


def permute_and_flip(entropy: Entropy, scores: Scores, epsilon: Fraction, sensitivity: int) -> NDArray[np.int64]:
    """Return for each group the index of the chosen candidate.

    `sensitivity` is the most by which one unit moves any score; where groups share no rows it is the most by which it
    moves the scores of all its groups together, and every group has the full `epsilon`.

    Walking through the candidates in random order and taking the first whose coin falls on heads is the same as
    flipping all coins and choosing uniformly among the heads, so nothing has to be permuted.
    """
    if epsilon <= 0 or sensitivity < 1:
        raise ValueError("the choice needs a positive ε and sensitivity")
    groups, candidates = scores.shape
    # A candidate that is `behind` the best by s stays with probability exp(−ε·s / 2Δ). The 2 is for scores that may
    # rise for one candidate while they fall for another.
    rate = epsilon / (2 * sensitivity)
    rows = max(1, _BLOCK // candidates)
    chosen = [_choose(entropy, scores[first : first + rows], rate) for first in range(0, groups, rows)]
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def _choose(entropy: Entropy, scores: Scores, rate: Fraction) -> NDArray[np.int64]:
    behind = scores.max(axis=1, keepdims=True).astype(scores.dtype) - scores
    if scores.dtype == np.int64:
        # A number beyond 2^63 wrapped round, and modulo 2^64 is the exact difference.
        behind = behind.astype(np.uint64)
    heads = coins(entropy, behind.ravel(), rate).reshape(scores.shape)
    rank = below_each(entropy, np.count_nonzero(heads, axis=1).astype(np.uint64)) + np.uint64(1)
    # The best candidate's coin always falls on heads (it is behind by 0), so that there is one to choose in each group.
    chosen: NDArray[np.int64] = (np.cumsum(heads, axis=1, dtype=np.uint64) == rank[:, None]).argmax(axis=1)
    return chosen


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


# A quantile and how far off it is: one private choice of a bucket and of how many buckets around it may have the quantile.
#
# A margin in ranks is public, one in values is not: how many values lie about the quantile is private. So candidates are
# pairs of a bucket and a width h, the bucket scored as by `quantile`, and h by how far the quantile's rank lies inside the
# 2·h + 1 buckets about it, which should be `_INSIDE`: noise then leaves it inside in 95 of 100 choices, however values lie. A
# candidate has the worse of both scores. Each moves by max(a, b − a) for a unit's row, so that their maximum does, and ε is
# not divided. Of the two errors, which are as in a cube of two coordinates, the bucket's has 1.41 times the standard
# deviation that it has alone. An eighth of ε is for the number of rows, by which groups with too few have no quantile, or no
# margin.
#
# Rows that a C may take off are added to what a width has to hold: a public number, which moves no candidate's score.

_AT_ONCE = 2**22
"""How many candidates are in memory at once."""
_INSIDE = Fraction(327, 100)
"""With r from Gamma(3) and Y uniform in [−r, r], the law of a coordinate of a cube of two, P(Y < −3.27) = 5 %."""
COUNTED = Fraction(1, 8)
"""The share of ε for the number of rows."""
_ANY, _ENOUGH = Fraction(24, 10), 7
"""Noisy rows in units of their noise's scale: a group without rows has more than the one in 22 cases; with the other the
choice is among the rows, and not among the empty buckets, of which there are many."""
ROWS_FOR_WIDTH = _ENOUGH / COUNTED
"""From about so many rows times C/ε on a group has a quantile with a width."""


def widths(buckets: int) -> tuple[int, ...]:
    """Return the widths that there are to choose from: half as many again each time.

    Where values have gaps, all widths that end in one hold the same rows and are equally wrong: between two of eight years,
    with widths an eighth apart, these were eight times as likely as the next one, and one margin of ten was of the gap alone.
    """
    steps = [0]
    while steps[-1] < buckets - 1:
        steps.append(min(max(steps[-1] + 1, steps[-1] * 3 // 2), buckets - 1))
    return tuple(steps)


def enough(epsilon: Fraction, mass: int) -> int:
    """Return from about how many rows on a group has a quantile and a margin."""
    return math.ceil(ROWS_FOR_WIDTH * mass / epsilon)


def quantile_and_width(
    entropy: Entropy, histogram: NDArray[np.int64], q: Fraction, epsilon: Fraction, mass: int, missing: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each group the index of a bucket near the `q`-quantile, and within how many of it the quantile is with 95 %.

    `missing` is how much each group may lack, in the histogram's units: all of it may have been on one side of the quantile.

    A group with too few rows has the index after the last, and one with few the largest width. Both are read off a noisy
    number of rows, which costs its share of ε (Dwork et al. 2006); the rest is for the choice.
    """
    groups, buckets = histogram.shape
    among, scale, left = widths(buckets), Fraction(mass) / (epsilon * COUNTED), epsilon * (1 - COUNTED)
    # Whole numbers: a sum in double precision would round what one row adds to very many.
    counts = wide_enough(histogram, 1, 1).sum(axis=1).tolist()
    noisy = [count + noise for count, noise in zip(counts, discrete_laplace(entropy, scale, groups), strict=True)]
    rows, sensitivity = max(1, _AT_ONCE // (buckets * len(among))), mass * _step(q)
    chosen = [
        permute_and_flip(entropy, _scores(histogram[first : first + rows], q, left, mass, missing), left, sensitivity)
        for first in range(0, groups, rows)
    ]
    every = np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)
    bucket, width = every // len(among), np.array(among)[every % len(among)]
    few = np.array([number < _ENOUGH * scale for number in noisy], dtype=np.bool_)
    none = np.array([number < _ANY * scale for number in noisy], dtype=np.bool_)
    return np.where(none, buckets, bucket), np.where(few, buckets - 1, width)


def _step(q: Fraction) -> int:
    a, b = q.as_integer_ratio()
    return max(a, b - a)


def _scores(histogram: NDArray[np.int64], q: Fraction, epsilon: Fraction, mass: int, missing: int) -> Scores:
    """Return the score of every pair, by bucket and then by width.

    A width is the right one if the quantile's rank is as far inside as it should be, and is not with the one before. One
    that stands for several, being followed by a gap, counts for as many: ln of their number, in units of 2·sensitivity/ε.
    """
    buckets = histogram.shape[1]
    among, unit = widths(buckets), 2 * mass * _step(q) / epsilon
    wanted = math.floor(_INSIDE * unit) + _step(q) * missing
    counts = wide_enough(histogram, q.denominator, 10 * wanted)
    missed = _outside(counts, q)
    steps = [1, *(b - a for a, b in pairwise(among))]
    before: Scores | None = None
    scores: list[Scores] = []
    for width, step in zip(among, steps, strict=True):
        inside = _inside(counts, q, width)
        off = missed if before is None else np.maximum(missed, before - wanted)
        if width < buckets - 1:
            off = np.maximum(off, wanted - inside)
        scores.append(-off - math.floor(unit * Fraction(math.log(max(steps) / step))))
        before = inside
    every: Scores = np.concatenate([layer[:, :, None] for layer in scores], axis=2).reshape(len(histogram), -1)
    return every


def _outside(counts: Scores, q: Fraction) -> Scores:
    """Return for each bucket the distance of a·n from [b·cᵢ, b·cᵢ₊₁], where q = a/b."""
    a, b = q.as_integer_ratio()
    upper: Scores = b * counts.cumsum(axis=1)
    wanted = a * counts.sum(axis=1, keepdims=True)
    distance: Scores = np.maximum(np.maximum(wanted - upper, upper - b * counts - wanted), 0)
    return distance


def _inside(counts: Scores, q: Fraction, width: int) -> Scores:
    """Return for each bucket how far the rank a·n is inside the ranks b·cᵢ of the buckets at most `width` away."""
    groups, buckets = counts.shape
    a, b = q.as_integer_ratio()
    through: Scores = b * np.concatenate([np.zeros((groups, 1), dtype=counts.dtype), counts.cumsum(axis=1)], axis=1)
    place, rank = np.arange(buckets), a * counts.sum(axis=1, keepdims=True)
    below = rank - through[:, np.maximum(place - width, 0)]
    above = through[:, np.minimum(place + width + 1, buckets)] - rank
    least: Scores = np.minimum(below, above)
    return least
