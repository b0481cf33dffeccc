"""Closed forms for quantiles with linear interpolation: leave-one-out answers, sensitivities, worlds with their number.

A quantile of a sample of size s is a weighted sum of at most two of its order statistics. Taking people from the top
leaves the ranks of the others alone, taking them from the bottom moves them all: these are the extremes, and the sample
that makes the difference largest has its low ranks at the universe's low end and its high ranks at the high end.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpsql.epsilon.databases.statistic import Floats
from dpsql.epsilon.databases.universe import Universe
from dpsql.epsilon.refusal import BadInput

MOST_MISSING = 200
"""The worlds are counted by pairs of ranks, exactly: the work grows with the square of the missing people."""


def quantiles_leave_one_out(values: Floats, fraction: Fraction) -> Floats:
    """Return the quantile without person i, for every i."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    answers = np.zeros(len(values))
    for index, weight in _weights(fraction * (len(values) - 2)).items():
        # without rank r, index i holds rank i if i < r and rank i + 1 otherwise
        answers += float(weight) * np.where(rank <= index, ranked[index + 1], ranked[index])
    return answers


def quantile_noise_sensitivity(universe: Universe, fraction: Fraction) -> float:
    """Return Δf for adding or removing `distance` people."""
    ranked, k = np.sort(universe.values), universe.distance
    best = 0.0
    for size in (universe.released, universe.released + k):
        whole, part = fraction * (size - 1), fraction * (size - k - 1)
        from_top = _spread(ranked, size, _weights(whole), _weights(part))
        from_bottom = _spread(ranked, size, _weights(part + k), _weights(whole))
        best = max(best, from_top, from_bottom)
    return best


def quantile_world_sensitivity(universe: Universe, fraction: Fraction) -> float:
    """Return Δv for exchanging `distance` people: both samples lie in one of m + k, without its top or bottom k."""
    ranked, k = np.sort(universe.values), universe.distance
    index = fraction * (universe.released - 1)
    return _spread(ranked, universe.released + k, _weights(index + k), _weights(index))


def worlds(universe: Universe, fraction: Fraction) -> Iterator[tuple[float, int]]:
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


def _weights(index: Fraction) -> dict[int, Fraction]:
    """Return the order statistics (from 0) that make up the value at a fractional index."""
    below, share = math.floor(index), index - math.floor(index)
    return {below: 1 - share, below + 1: share} if share else {below: Fraction(1)}


def _spread(ranked: Floats, size: int, plus: dict[int, Fraction], minus: dict[int, Fraction]) -> float:
    """Return the largest value of Σ plus·D − Σ minus·D over samples D of `size`, D by rank, `plus` the higher ranks."""
    weights = {index: plus.get(index, Fraction(0)) - minus.get(index, Fraction(0)) for index in {*plus, *minus}}
    shift = len(ranked) - size
    return float(sum(float(w) * ranked[index + shift if w > 0 else index] for index, w in weights.items()))
