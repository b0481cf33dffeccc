"""Closed forms for what one missing person changes, in O(n log n): of quantiles, of variance and standard deviation.

A quantile of a sample of size s is a weighted sum of at most two of its order statistics. Taking people from the top
leaves the ranks of the others alone, taking them from the bottom moves them all: these are the extremes, and the sample
that makes the difference largest has its low ranks at the universe's low end and its high ranks at the high end.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpsql.epsilon.databases.statistic import Floats, StatisticFamily, StudiedStatistic, Universe
from dpsql.epsilon.numbers import BadInput

MOST_MISSING = 200
"""The worlds are counted by pairs of ranks, exactly: the work grows with the square of the missing people."""


def quantiles_leave_one_out(values: Floats, fraction: Fraction) -> Floats:
    """Return the quantile without person i, for every i."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    answers = np.zeros(len(values))
    for index, weight in _quantile_weights(fraction * (len(values) - 2)).items():
        # without rank r, index i holds rank i if i < r and rank i + 1 otherwise
        answers += float(weight) * np.where(rank <= index, ranked[index + 1], ranked[index])
    return answers


def quantile_noise_sensitivity(universe: Universe, fraction: Fraction) -> float:
    """Return Δf for adding or removing `distance` people."""
    ranked, k = np.sort(universe.values), universe.distance
    best = 0.0
    for size in (universe.released, universe.released + k):
        whole, part = fraction * (size - 1), fraction * (size - k - 1)
        from_top = _quantile_spread(ranked, size, _quantile_weights(whole), _quantile_weights(part))
        from_bottom = _quantile_spread(ranked, size, _quantile_weights(part + k), _quantile_weights(whole))
        best = max(best, from_top, from_bottom)
    return best


def quantile_world_sensitivity(universe: Universe, fraction: Fraction) -> float:
    """Return Δv for exchanging `distance` people: both samples lie in one of m + k, without its top or bottom k."""
    ranked, k = np.sort(universe.values), universe.distance
    index = fraction * (universe.released - 1)
    return _quantile_spread(ranked, universe.released + k, _quantile_weights(index + k), _quantile_weights(index))


def quantile_worlds(universe: Universe, fraction: Fraction) -> Iterator[tuple[float, int]]:
    """Yield the quantile's possible values and in how many worlds each occurs; a value may come more than once.

    If the kept people of rank i and i + 1 are s and t in the universe, the others can be chosen in
    C(s, i)·C(n − 1 − t, m − i − 2) ways.
    """
    ranked, m, k = np.sort(universe.values).tolist(), universe.released, universe.missing
    if k > MOST_MISSING:
        raise BadInput(f"{k} people missing are too many for a quantile; the limit is {MOST_MISSING}")
    index = fraction * (m - 1)
    i, share = math.floor(index), float(index - math.floor(index))
    for s in range(i, i + k + 1):
        if share == 0:
            yield ranked[s], math.comb(s, i) * math.comb(len(ranked) - 1 - s, m - 1 - i)
            continue
        for t in range(s + 1, i + k + 2):
            ways = math.comb(s, i) * math.comb(len(ranked) - 1 - t, m - 2 - i)
            yield (1 - share) * ranked[s] + share * ranked[t], ways


def _quantile_weights(index: Fraction) -> dict[int, Fraction]:
    """Return the order statistics (from 0) that make up the value at a fractional index."""
    below, share = math.floor(index), index - math.floor(index)
    return {below: 1 - share, below + 1: share} if share else {below: Fraction(1)}


def _quantile_spread(ranked: Floats, size: int, plus: dict[int, Fraction], minus: dict[int, Fraction]) -> float:
    """Return the largest value of Σ plus·D − Σ minus·D over samples D of `size`, D by rank, `plus` the higher ranks."""
    weights = {index: plus.get(index, Fraction(0)) - minus.get(index, Fraction(0)) for index in {*plus, *minus}}
    shift = len(ranked) - size
    return float(sum(float(w) * ranked[index + shift if w > 0 else index] for index, w in weights.items()))


# Closed forms for variance and standard deviation when one person is missing, in O(n log n).
#
# Values are centred at the median, which is never further from the mean than one standard deviation, and who is left out
# is never subtracted from a sum that includes them: so an outlier takes no digits away from the others.


def spreads_leave_one_out(values: Floats, statistic: StudiedStatistic) -> Floats:
    """Return the answer without person i, for every i."""
    centred = values - np.median(values)
    return _spread_answers(_without_each(centred), _without_each(centred**2), len(values) - 1, statistic)


def spread_noise_sensitivity(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return Δf for one person: either the missing one joins, or a second one leaves.

    When i is missing, the variance without j as well is a concave parabola in j's value. So j at either end of the
    values, or next to the parabola's vertex, changes the answer most; i itself is why two candidates are tried on
    each side.
    """
    _require_one(universe)
    ranked = np.sort(universe.values)
    centred, n = ranked - np.median(ranked), len(ranked)
    one_less = spreads_leave_one_out(ranked, statistic)
    everybody = _spread_answers(centred.sum(), (centred**2).sum(), n, statistic)
    best = float(np.abs(everybody - one_less).max())
    for end in (0, 1, n - 2, n - 1):
        two_less = spreads_leave_one_out(np.delete(ranked, end), statistic)
        best = max(best, float(np.abs(two_less - np.delete(one_less, end)).max()))
    total, squares, me = _without_each(centred), _without_each(centred**2), np.arange(n)
    near = np.searchsorted(centred, total / (n - 1))
    for offset in (-2, -1, 0, 1):
        other = np.clip(near + offset, 0, n - 1)
        value = centred[other]
        two_less = _spread_answers(total - value, squares - value**2, n - 2, statistic)
        best = max(best, float(np.abs(two_less - one_less)[other != me].max(initial=0.0)))
    return best


def spread_world_sensitivity(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return Δv for exchanging one person: the range of the leave-one-out answers."""
    _require_one(universe)
    return float(np.ptp(spreads_leave_one_out(universe.values, statistic)))


def _require_one(universe: Universe) -> None:
    if universe.missing != 1:
        raise BadInput("the sensitivity of variances has a closed form for one missing person only")


def _without_each(values: Floats) -> Floats:
    """Return the sum of all but the i-th value, for every i."""
    before = np.append(0.0, np.cumsum(values)[:-1])
    after = np.append(np.cumsum(values[::-1])[-2::-1], 0.0)
    return np.asarray(before + after)


def _spread_answers(total: Floats, squares: Floats, size: int, statistic: StudiedStatistic) -> Floats:
    variance = np.maximum(squares - total**2 / size, 0.0) / (size - statistic.lost)
    return np.asarray(np.sqrt(variance) if statistic.kind is StatisticFamily.DEVIATION else variance)
