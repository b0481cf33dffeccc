"""Closed forms for variance and standard deviation when one person is missing, in O(n log n).

Values are centred at the median, which is never further from the mean than one standard deviation, and who is left out
is never subtracted from a sum that includes them: so an outlier takes no digits away from the others.
"""

import numpy as np

from dpsql.epsilon.databases.statistic import Floats, StatisticFamily, StudiedStatistic
from dpsql.epsilon.databases.universe import Universe
from dpsql.epsilon.refusal import BadInput


def spreads_leave_one_out(values: Floats, statistic: StudiedStatistic) -> Floats:
    """Return the answer without person i, for every i."""
    centred = values - np.median(values)
    return _answers(_without_each(centred), _without_each(centred**2), len(values) - 1, statistic)


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
    everybody = _answers(centred.sum(), (centred**2).sum(), n, statistic)
    best = float(np.abs(everybody - one_less).max())
    for end in (0, 1, n - 2, n - 1):
        two_less = spreads_leave_one_out(np.delete(ranked, end), statistic)
        best = max(best, float(np.abs(two_less - np.delete(one_less, end)).max()))
    total, squares, me = _without_each(centred), _without_each(centred**2), np.arange(n)
    near = np.searchsorted(centred, total / (n - 1))
    for offset in (-2, -1, 0, 1):
        other = np.clip(near + offset, 0, n - 1)
        value = centred[other]
        two_less = _answers(total - value, squares - value**2, n - 2, statistic)
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


def _answers(total: Floats, squares: Floats, size: int, statistic: StudiedStatistic) -> Floats:
    variance = np.maximum(squares - total**2 / size, 0.0) / (size - statistic.lost)
    return np.asarray(np.sqrt(variance) if statistic.kind is StatisticFamily.DEVIATION else variance)
