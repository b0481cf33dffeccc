"""How many rows of a unit count, chosen by what was released of how many they have: post-processing, as all that follows.

The cells of `RowsPerUnit` have noise. From the first rung on, units are taken to be there as long as the cells next above a
rung add up to more than their noise does, or any cells further up to far more; beyond, at each rung half as many as at the
one below, the first of which just can't be seen. That says what each C takes off; what noise it has follows from the plan.
The C is taken whose square error is least, in a group of the usual size.

Tried on the demo's trips (all, by cash, fare, day, hour, zone) and on light and heavy tails, ε = 1, 0.1 and 0.01: a count
errs 1.6 times as much as with the best C in hindsight at the median of these 30, nowhere 1.5 times as much as with C = 20.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from math import hypot, sqrt

from dpsql.privacy.accuracy.margin import largest_share
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.rows_per_unit import SHARE, ChosenBound, RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.known_mechanisms import mechanism

_SEEN = 2.5
"""How many standard deviations of noise units have to be above, to be there."""
_WIDTHS = (1, 2, 4)
"""Of how many cells together."""
_FAR = 5.5
"""How many they have to be above by further up, where there are many cells of which one may be large by chance."""
_TOGETHER_FAR = (1, 2, 3)
_UNSEEN = 0.5
"""How many units there may be that are not seen, in standard deviations of a cell."""
_FALLING = 0.5
"""By which factor they become fewer with each rung."""
_LITTLE = 1 / 32
"""What a row that is taken off matters to a ratio and to an order statistic: those that stay are like those that go."""


def chosen_bound(search: RowsPerUnit, noisy: Sequence[int], measurement: Sums | Histogram) -> ChosenBound:
    """Return the C for a measurement, by the released cells of a search that was made for it."""
    ladder, sd = search.rungs, sqrt(2) / float(search.epsilon)
    cuts = _cuts(ladder, [cell / search.sensitivity for cell in noisy], sd)
    groups = largest_share(len(measurement.groups.grouped))
    matters = 1.0 if isinstance(measurement, Sums) and not measurement.of_ratios else _LITTLE
    noise = _noise(measurement) / float(search.epsilon * SHARE)
    errors = [hypot(cut / groups * matters, rung * noise) for rung, cut in zip(ladder, cuts, strict=True)]
    place = errors.index(min(errors))
    return ChosenBound(ladder[place], math.ceil(cuts[place]))


def _cuts(ladder: Sequence[int], cells: Sequence[float], sd: float) -> list[float]:
    """Return how many rows each rung takes off."""

    def seen(place: int, widths: Sequence[int], threshold: float) -> bool:
        return any(sum(cells[place : place + w]) > threshold * sd * sqrt(w) for w in widths)

    last = len(ladder) - 1
    top = max((place for place in range(1, last + 1) if seen(place, _TOGETHER_FAR, _FAR)), default=0)
    while top < last and seen(top + 1, _WIDTHS, _SEEN):
        top += 1
    above = [0.0] * len(ladder)
    for place in range(top, len(ladder)):
        above[place] = _UNSEEN * sd * _FALLING ** (place - top)
    for place in range(top - 1, -1, -1):
        above[place] = max(above[place + 1] + cells[place + 1], above[place + 1])
    cuts = [0.0] * len(ladder)
    for place, (low, high) in reversed(list(enumerate(pairwise(ladder)))):
        cuts[place] = cuts[place + 1] + above[place] * (high - low)
    return cuts


def _noise(measurement: Sums | Histogram) -> float:
    """Return the noise's standard deviation for C = 1 and ε = 1, in rows."""
    if isinstance(measurement, Histogram):
        return sqrt(2)
    law, blocks = mechanism(measurement.mechanism), measurement.blocks
    return sqrt(max(float(law.variance(block, blocks)) for block in blocks))
