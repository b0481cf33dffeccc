"""How much ε an answer takes for the error that is asked for: from what was released of it already.

All of it is post-processing: what is measured next, and at which ε, depends on data through released values only, which a
privacy filter allows (Rogers, Roth, Ullman, Vadhan 2016). The typical error of a number is the mean of its absolute error,
a third of its margin, as it is with Laplace noise (ln 20 = 3.0). It is wanted for the group in which the median row is.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.privacy.accuracy.margin import half_width
from dpsql.privacy.features.estimate import row_count
from dpsql.privacy.features.feature import ONE
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.readout import Readout
from dpsql.privacy.measurement.plan import DistinctCountOutput, MeasurementPlan, StatisticOutput
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.draws import Draws, Found
from dpsql.rewrite.translate.aggregates import Moment

MARGINS = 3
"""Mean absolute errors in a margin."""
_COUNT = Readout(Moment("count", ()), ONE)


def is_aimed(plan: MeasurementPlan, place: int) -> bool:
    """Return whether the error of a part's outputs can be told from what is released of it."""
    part = plan.parts[place]
    return isinstance(part, Sums) and not part.delta and bool(_readouts(plan, place))


def enough(plan: MeasurementPlan, place: int, draws: Draws, target: Fraction, ladder: Sequence[Fraction]) -> int | None:
    """Return the first step of `ladder` (ascending amounts of ε) at which all outputs of a part have the error.

    The number of its steps if none has; None if nothing released is above its noise, so that nothing can be said.
    """
    sums, readouts = draws.measurement, _readouts(plan, place)
    if not isinstance(sums, Sums):
        return None
    group = _middle(sums, draws, readouts[0])
    if group is None:
        return None
    return max(_first(sums, readout, group, target, ladder) for readout in readouts)


def _first(sums: Sums, readout: Readout, group: Found, target: Fraction, ladder: Sequence[Fraction]) -> int:
    """Return the first step at which one output has the error."""
    value = statistic(readout.moment.name).estimate(readout, group)
    if not value:
        return len(ladder)
    allowed = abs(value) * float(target) * MARGINS

    def exceeds(epsilon: Fraction) -> bool:
        width = half_width(replace(sums, epsilon=epsilon), readout, group)
        return width is None or width > allowed

    return bisect_left(ladder, 1, key=lambda epsilon: 0 if exceeds(epsilon) else 1)


def _middle(sums: Sums, draws: Draws, readout: Readout) -> Found | None:
    """Return what was released of the group in which the median row is; groups that may be empty are none."""
    read, count = draws.reader(), _rows_of(readout)
    groups = sorted((read(i) for i in range(len(draws.best[1].numbers))), key=count, reverse=True)
    if not groups:
        return None
    least = half_width(sums, _COUNT if ONE in groups[0] else readout, groups[0]) or 0.0
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
