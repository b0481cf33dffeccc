"""Closed forms for variance and standard deviation when one person is missing, in O(n log n).

The values are centred first, so that sums of squares do not cancel.
"""

import numpy as np

from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.statistic import Floats, Kind, Statistic
from dpsql.epsilon.universe import Universe


def leave_one_out(values: Floats, statistic: Statistic) -> Floats:
    """Return the answer without person i, for every i."""
    centred = values - values.mean()
    total, squares = centred.sum() - centred, (centred**2).sum() - centred**2
    return _finish(_variance(total, squares, len(values) - 1, statistic.lost), statistic)


def noise_sensitivity(universe: Universe, statistic: Statistic) -> float:
    """Return Δf for one person: either the missing one joins, or a second one leaves.

    When i is missing, the variance without j as well is a concave parabola in j's value. So j at either end of the
    values, or next to the parabola's vertex, changes the answer most; equal values and i itself are why two
    candidates on each side are tried.
    """
    if universe.missing != 1:
        raise BadInput("the sensitivity of variances has a closed form for one missing person only")
    ranked = np.sort(universe.values - universe.values.mean())
    n = len(ranked)
    without_one = leave_one_out(ranked, statistic)
    everybody = _finish(_variance(ranked.sum(), (ranked**2).sum(), n, statistic.lost), statistic)
    best = float(np.abs(everybody - without_one).max())
    total, squares = ranked.sum() - ranked, (ranked**2).sum() - ranked**2
    near = np.searchsorted(ranked, total / (n - 1))
    me = np.arange(n)
    for candidate in (0 * me, 0 * me + 1, 0 * me + n - 2, 0 * me + n - 1, near - 2, near - 1, near, near + 1):
        other = np.clip(candidate, 0, n - 1)
        value = ranked[other]
        without_two = _finish(_variance(total - value, squares - value**2, n - 2, statistic.lost), statistic)
        best = max(best, float(np.abs(without_two - without_one)[other != me].max(initial=0.0)))
    return best


def world_sensitivity(universe: Universe, statistic: Statistic) -> float:
    """Return Δv for exchanging one person: the range of the leave-one-out answers."""
    if universe.missing != 1:
        raise BadInput("the sensitivity of variances has a closed form for one missing person only")
    return float(np.ptp(leave_one_out(universe.values, statistic)))


def _variance(total: Floats, squares: Floats, size: int, lost: int) -> Floats:
    return np.maximum(squares - total**2 / size, 0.0) / (size - lost)


def _finish(variance: Floats, statistic: Statistic) -> Floats:
    return np.sqrt(variance) if statistic.kind is Kind.DEVIATION else variance
