"""How much ε an answer takes for the error that is asked for: from what was released of it already.

All of it is post-processing: what is measured next, and at which ε, depends on data through released values only, which a
privacy filter allows (Rogers, Roth, Ullman, Vadhan 2016). The typical error of a number is the mean of its absolute error.
It is below the margin at a level of 1 − 1/e, which it is with Laplace noise; other noise is less wide. It is wanted for the
group in which the median row is.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import median

from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.features.estimate import row_count
from dpsql.privacy.features.feature import ONE
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.readout import Readout
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.key_search import KeySearch
from dpsql.privacy.measurement.plan import DistinctCountOutput, MeasurementPlan, StatisticOutput
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.draws import Draws, Found, together
from dpsql.rewrite.translate.rows.aggregates import Moment

_TYPICAL = 1 - math.exp(-1)
"""The level at which the margin of Laplace noise is its mean absolute error."""
_PILOT = 10
"""A tenth of what may be paid is to find out how much has to be."""
_FURTHER = 3
"""How many times as much is paid for a second choice, which tells how far the first one errs."""
_NEARLY = Fraction(9, 10)
"""The share of the ε that is needed which is enough: the sizes are noisy, too."""
_DOUBT = 2
"""How many times the noise is taken off a value before an error is small beside it."""
_WORTH = 4
"""What is worth less than this part of what was paid is not measured any more."""
_COUNT = Readout(Moment("count", ()), ONE)


def is_aimed(plan: MeasurementPlan, place: int) -> bool:
    """Return whether the error of a part's outputs can be told from what is released of it; groups are declared."""
    part = plan.parts[place]
    return not part.extremes if isinstance(part, Histogram) else bool(_readouts(plan, place))


def further(
    plan: MeasurementPlan, place: int, draws: Draws, error: Fraction, ladder: Sequence[Fraction]
) -> Fraction | None:
    """Return how much ε a part is to pay next, a step of `ladder`; None where it errs little enough or has paid its share.

    `ladder` has ascending amounts, of which the last is the part's share. What is paid next is at least what all releases
    are worth by now, so that there are few of them.
    """
    now = draws.measurement.epsilon
    left = ladder[-1] - sum(measurement.epsilon for measurement, _ in draws.drawn)
    wanted = _wanted(plan, place, draws, error, ladder)
    if wanted is None:
        return None
    # What is paid for again at the same ε would be the same release.
    paid = {measurement.epsilon for measurement, _ in draws.drawn}
    free = [epsilon for epsilon in ladder[: bisect_right(ladder, left)] if epsilon not in paid]
    if not free:
        return None
    step = free[min(bisect_left(free, max(wanted, now)), len(free) - 1)]
    return step if step >= now / _WORTH else None


def is_met(plan: MeasurementPlan, place: int, draws: Draws, error: Fraction, ladder: Sequence[Fraction]) -> bool:
    """Return whether a part errs as little as it is to, by what was released of it."""
    return _wanted(plan, place, draws, error, ladder) is None


def _wanted(
    plan: MeasurementPlan, place: int, draws: Draws, error: Fraction, ladder: Sequence[Fraction]
) -> Fraction | None:
    match draws.measurement:
        case Sums():
            return _of_sums(plan, place, draws, error, ladder)
        case Histogram():
            return _of_choices(draws, error, ladder[-1])
        case KeySearch():
            return None


def _of_sums(
    plan: MeasurementPlan, place: int, draws: Draws, error: Fraction, ladder: Sequence[Fraction]
) -> Fraction | None:
    """Return the ε with which all releases together would have the error; None if they do."""
    sums, now, readouts = draws.measurement, draws.measurement.epsilon, _readouts(plan, place)
    if not isinstance(sums, Sums) or not readouts:
        return None
    group = _middle(sums, draws, readouts[0])
    if group is None:
        return _searching(now, ladder[-1])
    if all(_errs_little(sums, readout, group, error) for readout in readouts):
        return None
    step = max(_first(sums, readout, group, error, ladder) for readout in readouts)
    if step == len(ladder):
        return ladder[-1]
    return together((ladder[step],), less=now) if ladder[step] > now else now


def _errs_little(sums: Sums, readout: Readout, group: Found, target: Fraction) -> bool:
    """Return whether one output has the error as it is, or nearly: relative to what it is less twice its own noise.

    Noise that makes a value too large makes its relative error small, and those who stop there are the ones that err most:
    judged by the value as it was released, averages of few rows erred by 18 % where 15 % was aimed at, and some by more than
    themselves.
    """
    value, margins = statistic(readout.moment.name).estimate(readout, group), Margins.of(sums)
    width = margins.spread(readout, group, _TYPICAL)
    nearly = margins.times(_NEARLY).spread(readout, group, _TYPICAL)
    if value is None or width is None or nearly is None:
        return False
    return nearly <= (abs(value) - _DOUBT * width) * float(target)


def _searching(now: Fraction, share: Fraction) -> Fraction:
    """Return what is paid next if nothing released is above its noise: ten times as much, from a tenth of all on the rest."""
    pilot = share / _PILOT
    return share if now * _FURTHER >= pilot else min(now * _PILOT, pilot)


def _of_choices(draws: Draws, error: Fraction, share: Fraction) -> Fraction | None:
    """Return the ε at which chosen values would err by as much; None if they do not by more.

    How far they err is told by how far the two best choices lie apart, which is what the worse of them errs by. Errors fall
    with 1/ε.
    """
    (best, least_noise), *others = sorted(draws.drawn, key=lambda draw: draw[0].epsilon, reverse=True)
    if not others or not isinstance(best, Histogram):
        return best.epsilon * _FURTHER
    worse, more_noise = others[0]
    apart = [
        _apart(best, row, other)
        for row, other in zip(least_noise.numbers, more_noise.numbers, strict=True)
        if any(bucket < best.number for bucket in (*row, *other))
    ]
    if not apart or not math.isfinite(middle := median(apart)):
        return _searching(best.epsilon, share)
    errs = Fraction(middle) * worse.epsilon / best.epsilon
    return None if errs <= error else best.epsilon * min(errs / error, Fraction(_FURTHER**2))


def _apart(histogram: Histogram, row: Sequence[int], other: Sequence[int]) -> float:
    """Return how far two choices lie apart, relative to the first; infinite where one has none."""
    found = 0.0
    for one, two in zip(row, other, strict=True):
        if max(one, two) >= histogram.number:
            return math.inf
        value, difference = float(histogram.value(one)), float(histogram.value(one) - histogram.value(two))
        found = max(found, abs(difference / value) if value else math.inf if difference else 0.0)
    return found


def _first(sums: Sums, readout: Readout, group: Found, target: Fraction, ladder: Sequence[Fraction]) -> int:
    """Return the first step at which one output has the error."""
    value = statistic(readout.moment.name).estimate(readout, group)
    if not value:
        return len(ladder)
    allowed, margins = abs(value) * float(target) / (1 + _DOUBT * float(target)), Margins.of(sums)

    def exceeds(epsilon: Fraction) -> bool:
        width = margins.times(sums.epsilon / epsilon).spread(readout, group, _TYPICAL)
        return width is None or width > allowed

    return bisect_left(ladder, 1, key=lambda epsilon: 0 if exceeds(epsilon) else 1)


def _middle(sums: Sums, draws: Draws, readout: Readout) -> Found | None:
    """Return what was released of the group in which the median row is; groups that may be empty are none."""
    read, count = draws.reader(), _rows_of(readout)
    groups = sorted((read(i) for i in range(len(draws.best[1].numbers))), key=count, reverse=True)
    if not groups:
        return None
    least = Margins.of(sums).half_width(_COUNT if ONE in groups[0] else readout, groups[0]) or 0.0
    present = [group for group in groups if count(group) > least]
    left = sum(map(count, present)) / 2
    for group in present:
        left -= count(group)
        if left <= 0:
            return group
    return None


def _rows_of(readout: Readout) -> Callable[[Found], float]:
    """Return how to read a group's size: its rows, or the size of a sum by itself."""

    def count(group: Found) -> float:
        if ONE in group:
            return group[ONE]
        if readout.count is None:
            return abs(statistic(readout.moment.name).estimate(readout, group) or 0.0)
        return row_count(readout, group)

    return count


def _readouts(plan: MeasurementPlan, place: int) -> list[Readout]:
    """Return the readouts of a part whose error is wanted; margins and votes have none."""
    found = []
    for output in plan.outputs:
        match output:
            case StatisticOutput(part=part, readout=readout, margin=False) if part == place:
                found.append(readout)
            case DistinctCountOutput(part=part) if part == place:
                found.append(_COUNT)
            case _:
                pass
    return found
