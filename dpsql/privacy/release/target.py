"""How much ε an answer takes for the error that is asked for: from what was released of it already.

All of it is post-processing: the next measurement, and its ε, depend on data through released values only, which a
privacy filter allows (Rogers, Roth, Ullman, Vadhan 2016). The typical error of a number is the mean of its absolute
error. It is below the margin at a level of 1 − 1/e, which it is with Laplace noise; other noise is less wide. It is
wanted for the group in which the median row is.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median

from dpsql.privacy.accuracy.margin import Margins, rests_on_nothing
from dpsql.privacy.features.feature import ONE, Readout, row_count
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import DistinctCountOutput, KeySearch, MeasurementPlan, StatisticOutput
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.mechanisms.quantile import ROWS_FOR_WIDTH
from dpsql.privacy.release.release import Draws, Found, together
from dpsql.rewrite.translate.rows.aggregates import Moment

# How much more ε chosen quantiles take for an error, and how far off the width of their buckets alone puts them.
#
# A value that was chosen with its width says itself how far off it is; of others two choices are compared. Half a bucket
# counts as an error that no ε makes less.

_TYPICAL_CHOICE = 0.3
"""A choice with a width is typically off by so much of it: by 0.15 to 0.3, as was seen of 1,000 to 20,000 rows."""
_FURTHER = 3
"""How many times as much is paid for another choice, which tells how far the first one errs, or finds enough rows."""
_SURELY = Fraction(9, 7)
"""How many times as many rows as a width needs are paid for: their number has noise, too."""


def of_widths(histogram: Histogram, draws: Draws, error: Fraction, share: Fraction) -> Fraction | None:
    """Return the ε at which values chosen with their widths would err by as much; None if they do not by more.

    A margin that is too wide at any price, because the buckets are, asks for no more. As long as no width can be told
    all that is left is paid where there would not be as much again.
    """
    rows = [row for row in draws.chosen() if _is_found(histogram, row)]
    inside = [row for row in rows if row[1] < histogram.number - 1 or histogram.number == 1]
    more = median([_times(histogram, row, error) for row in rows]) if rows else _too_few(histogram)
    wanted, left = (
        histogram.epsilon * Fraction(more),
        share - sum(measurement.epsilon for measurement, _ in draws.drawn),
    )
    if 2 * len(inside) <= len(rows):
        return wanted if left >= 2 * wanted else max(left, wanted)
    return wanted if more > 1 else None


def _too_few(histogram: Histogram) -> float:
    """Return how many times as much is paid next where a width can't be told: what it takes for as many rows as expected."""
    expected = (histogram.relation.expected_rows or math.inf) / max(len(histogram.groups.grouped), 1)
    needed = float(ROWS_FOR_WIDTH * _SURELY * histogram.bound.rows / histogram.epsilon)
    return max(needed / expected, float(_FURTHER))


def _times(histogram: Histogram, row: Sequence[int], error: Fraction) -> float:
    """Return how many times as much one chosen value would have to pay."""
    bucket, width = row
    if width >= histogram.number - 1 > 0:
        return _too_few(histogram)
    grid = float(histogram.half_width(0, bucket))
    noise = _TYPICAL_CHOICE * float(histogram.half_width(width, bucket)) - _TYPICAL_CHOICE * grid
    value = abs(float(histogram.value(bucket)))
    if value + _DOUBT * noise <= grid / float(error):
        return 0.0
    return noise / max((value - _DOUBT * noise) * float(error) - grid, noise / _FURTHER)


def of_choices(draws: Draws, error: Fraction) -> Fraction | None:
    """Return the ε at which chosen values would err by as much; None if they do not by more.

    How far they err is told by how far the two best choices lie apart, which is what the worse of them errs by. Errors fall
    with 1/ε, but for half of a bucket.
    """
    (best, least_noise), *others = sorted(draws.drawn, key=lambda draw: draw[0].epsilon, reverse=True)
    if not others or not isinstance(best, Histogram):
        return best.epsilon * _FURTHER
    worse, more_noise = others[0]
    pairs = [
        (row, other)
        for row, other in zip(least_noise.numbers, more_noise.numbers, strict=True)
        if any(bucket < best.number for bucket in (*row, *other))
    ]
    apart = [_apart(best, row, other) for row, other in pairs]
    if not apart or not math.isfinite(middle := median(apart)):
        return best.epsilon * _FURTHER**2
    errs = Fraction(middle) * worse.epsilon / best.epsilon
    grid = Fraction(median([min(_bucket_share(best, row), float(error)) for row, _ in pairs if _is_found(best, row)]))
    left = error - grid if grid < error else error
    return None if errs <= left else best.epsilon * min(errs / left, Fraction(_FURTHER**2))


def _apart(histogram: Histogram, row: Sequence[int], other: Sequence[int]) -> float:
    """Return how far two choices lie apart, relative to the first; infinite where one has none."""
    furthest = 0.0
    for bucket, two in zip(row, other, strict=True):
        if max(bucket, two) >= histogram.number:
            return math.inf
        value, difference = float(histogram.value(bucket)), float(histogram.value(bucket) - histogram.value(two))
        furthest = max(furthest, abs(difference / value) if value else math.inf if difference else 0.0)
    return furthest


def off_by_buckets(histogram: Histogram, draws: Draws) -> float:
    """Return how far values may be from the middle of their buckets, as a share of them; 0 where there are none."""
    groups = [_bucket_share(histogram, row) for row in draws.chosen() if _is_found(histogram, row)]
    return median(groups) if groups else 0.0


def _bucket_share(histogram: Histogram, row: Sequence[int]) -> float:
    """Return how far values may be from the middle of their buckets, as a share of them."""
    shares = []
    for bucket in row[: len(histogram.points)]:
        value, grid = abs(float(histogram.value(bucket))), float(histogram.half_width(0, bucket))
        shares.append(grid / value if value else math.inf if grid else 0.0)
    return max(shares)


def _is_found(histogram: Histogram, row: Sequence[int]) -> bool:
    return all(bucket < histogram.number for bucket in row[: len(histogram.points)])


_TYPICAL = 1 - math.exp(-1)
"""The level at which the margin of Laplace noise is its mean absolute error."""
_ASSUMED = 2
"""What margins assume of the rows that C takes off is the most: ratios and spreads are off by half of that, typically."""
_NEARLY = Fraction(9, 10)
"""The share of the ε that is needed which is enough: the sizes are noisy, too."""
_DOUBT, _MORE_DOUBT = 2, 3
"""How many times the noise is taken off a value before an error is small beside it; and where the size of the noise follows
from noisy values itself, as that of means and variances does."""
_WORTH = 4
"""A measurement that is worth less than this part of all that was paid is not made any more."""
_COUNT = Readout(Moment("count", ()), ONE)


@dataclass(frozen=True, slots=True)
class _Group:
    """The group by which it is judged how far an answer errs."""

    estimates: Found
    margins: Margins
    """With what its C takes off most likely, not with all that margins have to allow for."""

    def estimate(self, readout: Readout) -> float | None:
        """Return a statistic of it."""
        return statistic(readout.moment.name).estimate(readout, self.estimates)


def is_aimed(plan: MeasurementPlan, place: int) -> bool:
    """Return whether the error of a part's outputs can be told from what is released of it; groups are declared."""
    part = plan.parts[place]
    return not part.extremes if isinstance(part, Histogram) else bool(_readouts(plan, place))


def next_payment(
    plan: MeasurementPlan, place: int, draws: Draws, error: Fraction, ladder: Sequence[Fraction]
) -> Fraction | None:
    """Return how much ε a part is to pay next, a step of `ladder`; None where it errs little enough or has paid its share.

    `ladder` has ascending amounts, of which the last is the part's share. The next price is at least the worth of all
    releases by now, so that there are few of them.
    """
    now = draws.measurement.epsilon
    left = ladder[-1] - sum(measurement.epsilon for measurement, _ in draws.drawn)
    wanted = _wanted(plan, place, draws, error, ladder)
    if wanted is None:
        return None
    # Another payment at the same ε would give the same release.
    paid = {measurement.epsilon for measurement, _ in draws.drawn}
    # Releases are stored by the ε that was paid for them, so that a step that was paid already would bring nothing new.
    free = [epsilon for epsilon in ladder[: bisect_right(ladder, left)] if epsilon not in paid]
    if not free:
        return None
    step = free[min(bisect_left(free, max(wanted, now)), len(free) - 1)]
    return step if step >= now / _WORTH else None


def is_met(plan: MeasurementPlan, place: int, draws: Draws, error: Fraction, ladder: Sequence[Fraction]) -> bool:
    """Return whether a part errs as little as it has to, by its releases: with the part that no ε makes less, too."""
    return _wanted(plan, place, draws, error, ladder) is None and irreducible_error(plan, place, draws, error) is None


def irreducible_error(plan: MeasurementPlan, place: int, draws: Draws, error: Fraction) -> str | None:
    """Return what makes a part err by more than it is to at any price: how wide buckets are, or what its C takes off."""
    match draws.measurement:
        case Histogram() as histogram:
            if off_by_buckets(histogram, draws) > error:
                ends = f"[{float(histogram.x.interval.low):g}, {float(histogram.x.interval.high):g}]"
                return f"its {histogram.number:,} buckets of {ends} are too wide for it, narrower bounds help"
        case Sums() as sums:
            readouts = _readouts(plan, place)
            group = _middle(draws, readouts[0]) if readouts and draws.likely_cut else None
            if group is not None and any(_cut_share(sums, readout, group) > float(error) for readout in readouts):
                if draws.is_of_few:
                    return f"there are too few units ({sums.bound.unit.name}) to choose the row limit well"
                return f"max_rows: {sums.worth:,} takes more off it, and a larger one less"
        case KeySearch():
            pass
    return None


def _wanted(
    plan: MeasurementPlan, place: int, draws: Draws, error: Fraction, ladder: Sequence[Fraction]
) -> Fraction | None:
    match draws.measurement:
        case Sums():
            return _of_sums(plan, place, draws, error, ladder)
        case Histogram(margin=True) as histogram:
            return of_widths(histogram, draws, error, ladder[-1])
        case Histogram():
            return of_choices(draws, error)
        case KeySearch():
            return None


def _of_sums(
    plan: MeasurementPlan, place: int, draws: Draws, error: Fraction, ladder: Sequence[Fraction]
) -> Fraction | None:
    """Return the ε with which all releases together would have the error; None if they do."""
    sums, now, readouts = draws.measurement, draws.measurement.epsilon, _readouts(plan, place)
    if not isinstance(sums, Sums) or not readouts:
        return None
    group = _middle(draws, readouts[0])
    if group is None:
        return _unseen(now, error)
    if all(_errs_little(sums, readout, group, error) for readout in readouts):
        return None
    step = max(_first(sums, readout, group, error, ladder) for readout in readouts)
    if step == len(ladder):
        return ladder[-1]
    # Releases add up by the squares of their ε: to be worth w together with what is there takes √(w² − now²).
    return together((ladder[step],), less=now) if ladder[step] > now else now


def _errs_little(sums: Sums, readout: Readout, group: _Group, target: Fraction) -> bool:
    """Return whether one output has the error already, or nearly: relative to what it is less 2 or 3 times its noise.

    Noise that makes a value too large makes its relative error small, and a search that stops there stops at the worst
    answers. Judged by the released value alone, averages of few rows erred by 18 % where 15 % was the target, and some by
    more than themselves.
    """
    value, margins = group.estimate(readout), group.margins
    width = margins.spread(readout, group.estimates, _TYPICAL)
    nearly = margins.times(_NEARLY).spread(readout, group.estimates, _TYPICAL)
    if value is None or width is None or nearly is None:
        return False
    return nearly <= _beside_cut((abs(value) - _doubt(readout) * width) * float(target), sums, readout, group)


def _doubt(readout: Readout) -> int:
    return _MORE_DOUBT if statistic(readout.moment.name).located else _DOUBT


def _unseen(now: Fraction, error: Fraction) -> Fraction:
    """Return what is paid next if nothing released is above its noise: less is not enough for what is just not seen."""
    return now * (1 + _DOUBT * error) / (_DOUBT * error)


def _beside_cut(allowed: float, sums: Sums, readout: Readout, group: _Group) -> float:
    """Return the error that noise may have beside the loss by the C; all of it where that is too much for any noise."""
    cut = _cut(sums, readout, group)
    return math.sqrt(allowed**2 - cut**2) if 0 < cut < allowed else allowed


def _cut(sums: Sums, readout: Readout, group: _Group) -> float:
    """Return by how much an output is off for what its C takes off, as it seems."""
    if sums.distinct not in {CountOf.ROWS, CountOf.UNITS}:
        return 0.0
    assumed = statistic(readout.moment.name).located and sums.end is None and not rests_on_nothing(readout)
    return group.margins.cut_off(readout, group.estimates) / (_ASSUMED if assumed else 1)


def _cut_share(sums: Sums, readout: Readout, group: _Group) -> float:
    """Return which share of an output its C takes off; 0 of what can't be told from its noise."""
    value, cut = group.estimate(readout), _cut(sums, readout, group)
    return cut / (abs(value) + cut) if value and cut else 0.0


def _first(sums: Sums, readout: Readout, group: _Group, target: Fraction, ladder: Sequence[Fraction]) -> int:
    """Return the first step at which one output has the error.

    A value that noise may have, such as a mean at its bound, is taken for twice as large as its noise: what is paid for it is
    not more than it takes, and tells more.
    """
    value, margins = group.estimate(readout), group.margins
    width = margins.spread(readout, group.estimates, _TYPICAL)
    if value is None or width is None:
        return bisect_left(ladder, _unseen(sums.epsilon, target))
    size, beside = max(abs(value), _DOUBT * width), 1 + _doubt(readout) * float(target)
    allowed = _beside_cut(size * float(target) / beside, sums, readout, group)

    def exceeds(epsilon: Fraction) -> bool:
        width = margins.times(sums.epsilon / epsilon).spread(readout, group.estimates, _TYPICAL)
        return width is None or width > allowed

    # Noise falls as ε grows, so that steps which are too noisy all stand before the others.
    return bisect_left(ladder, 1, key=lambda epsilon: 0 if exceeds(epsilon) else 1)


def _middle(draws: Draws, readout: Readout) -> _Group | None:
    """Return what was released of the group in which the median row is; groups that may be empty are none."""
    read, margins, count = draws.reader(), draws.margins_by_place(missing=False), _rows_of(readout)
    groups = sorted(((read(i), i) for i in range(draws.groups)), key=lambda pair: count(pair[0]), reverse=True)
    widest = margins(None)
    if not groups or widest is None:
        return None
    least = widest.half_width(_COUNT if ONE in groups[0][0] else readout, groups[0][0]) or 0.0
    # Empty groups have noisy counts, too: a thousand of them could add up to more rows than there are in the others.
    present = [(group, i) for group, i in groups if count(group) > least]
    left = sum(count(group) for group, _ in present) / 2
    for group, i in present:
        left -= count(group)
        if left <= 0:
            of_group, share = margins(i) or widest, draws.likely_cut / draws.doubted if draws.doubted else 0.0
            return _Group(group, replace(of_group, cut=of_group.cut * share))
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
    readouts = []
    for output in plan.outputs:
        match output:
            case StatisticOutput(part=part, readout=readout, margin=False) if part == place:
                readouts.append(readout)
            case DistinctCountOutput(part=part) if part == place:
                readouts.append(_COUNT)
            case _:
                pass
    return readouts
