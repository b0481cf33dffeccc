"""Empirical sensitivities of a universe: Δf, which the noise is scaled with, and Δv, how far two worlds lie apart.

Count, sum and mean are solved here, quantiles and variances in files of their own; variances with several missing
people are enumerated while the universe is small.
"""

from typing import assert_never

import numpy as np

from dpsql.epsilon.databases import brute, quantiles, spreads
from dpsql.epsilon.databases.statistic import Floats, StatisticFamily, StudiedStatistic
from dpsql.epsilon.databases.universe import Universe


def noise_sensitivity(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return Δf: the most that adding or removing `distance` people changes the answer (unbounded neighbours)."""
    universe.require(statistic)
    k = universe.distance
    match statistic.kind:
        case StatisticFamily.COUNT:
            return float(k)
        case StatisticFamily.SUM:
            ranked = np.sort(universe.values)
            return max(abs(_top(ranked, k)), abs(_bottom(ranked, k)))
        case StatisticFamily.MEAN:
            ranked = np.sort(universe.values)
            return max(_mean_removal(ranked, size, k) for size in (universe.released, universe.released + k))
        case StatisticFamily.VARIANCE | StatisticFamily.DEVIATION:
            if universe.missing > 1:
                return brute.brute_noise_sensitivity(universe, statistic)
            return spreads.spread_noise_sensitivity(universe, statistic)
        case StatisticFamily.QUANTILE:
            return quantiles.quantile_noise_sensitivity(universe, statistic.fraction)
    assert_never(statistic.kind)


def world_sensitivity(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return Δv: the most that exchanging `distance` people changes the answer (bounded neighbours)."""
    universe.require(statistic)
    k = universe.distance
    match statistic.kind:
        case StatisticFamily.COUNT:
            return 0.0
        case StatisticFamily.SUM | StatisticFamily.MEAN:
            ranked = np.sort(universe.values)
            size = universe.released if statistic.kind is StatisticFamily.MEAN else 1
            return (_top(ranked, k) - _bottom(ranked, k)) / size
        case StatisticFamily.VARIANCE | StatisticFamily.DEVIATION:
            if universe.missing > 1:
                return brute.brute_world_sensitivity(universe, statistic)
            return spreads.spread_world_sensitivity(universe, statistic)
        case StatisticFamily.QUANTILE:
            return quantiles.quantile_world_sensitivity(universe, statistic.fraction)
    assert_never(statistic.kind)


def _mean_removal(ranked: Floats, size: int, k: int) -> float:
    """Return the most that taking k people from `size` moves the mean.

    It moves by k/size times the distance between the means of those who stay and those who go, which is largest when
    they stand at opposite ends.
    """
    kept = size - k
    go_high = _top(ranked, k) / k - _bottom(ranked, kept) / kept
    go_low = _top(ranked, kept) / kept - _bottom(ranked, k) / k
    return k / size * max(go_high, go_low)


def _top(ranked: Floats, count: int) -> float:
    return float(ranked[len(ranked) - count :].sum())


def _bottom(ranked: Floats, count: int) -> float:
    return float(ranked[:count].sum())
