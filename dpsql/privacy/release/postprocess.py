"""From releases to the values a client sees: rounding and clamping, all of it post-processing.

What is rounded is what the shadow is handed, after everything is read off releases, which are kept whole.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, combinations
from math import sqrt

from dpsql.errors import InternalError
from dpsql.policy.model import TYPE_NAMES, Digits, SqlType
from dpsql.privacy.accuracy.computed_margin import ComputedMargin, Peers, point_half_width
from dpsql.privacy.accuracy.margin import (
    LEVEL,
    Margins,
    distinct_half_width,
    emptiness,
    is_told,
    least_told,
)
from dpsql.privacy.accuracy.shrunk import (
    NoiseScales,
    ShrunkMean,
    last_place,
    place_of_margin,
    round_margin_up,
    round_to_place,
    shrunk_means,
)
from dpsql.privacy.features.feature import ONE, Feature, Readout
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.measurement.histogram import Histogram, is_counted
from dpsql.privacy.measurement.plan import (
    AddedUp,
    ComputedMarginOutput,
    DistinctCountOutput,
    DistinctMarginOutput,
    GroupingOutput,
    KnownOutput,
    MeasurementPlan,
    Output,
    PointMarginOutput,
    Possible,
    QuantileOutput,
    ReadTotal,
    StatisticOutput,
    VoteOutput,
)
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import KeyRow
from dpsql.privacy.release.release import Draws, Found
from dpsql.rewrite.functions.function import Cell
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.literal import format_value
from dpsql.rewrite.syntax.named.grouping import Set
from dpsql.rewrite.translate.rows.aggregates import Moment
from dpsql.rewrite.translate.rows.computed_statistics import Total

# Groups that are sums of measured ones: histograms between constants, added up to what each constant is compared with.
#
# Post-processing. Counts of groups each of which holds the one before rise: they are made to, by isotonic regression in least
# squares (pool adjacent violators; Ayer et al. 1955), which brings them no further from any numbers that rise.


def added_up(sums: AddedUp | None, read: Callable[[int], Found]) -> Callable[[int], Found]:
    """Return the function from a shown group's place to all sums that can be read of it, by those of measured groups."""
    if sums is None:
        return read
    measured = [
        read(place) for place in range(max((run.places.stop for line in sums.lines for run in line), default=1))
    ]
    # Sums up to each place: a run of measured groups is one difference then, however long it is.
    through = {feature: [0.0, *accumulate(found[feature] for found in measured)] for feature in measured[0]}
    lines: list[Found] = [
        {
            feature: sum(run.factor * (sums_to[run.places.stop] - sums_to[run.places.start]) for run in line)
            for feature, sums_to in through.items()
        }
        for line in sums.lines
    ]
    for chain in sums.rising:
        # Counts alone: what has more rows has no smaller count, but its sum of values may be smaller.
        if all(ONE in lines[place] for place in chain):
            for place, count in zip(chain, risen([lines[place][ONE] for place in chain]), strict=True):
                lines[place] = {**lines[place], ONE: count}
    return lines.__getitem__


def margins_of(sums: AddedUp | None, place: int, margins: Mapping[int, Margins]) -> Mapping[int, Margins]:
    """Return the margins of a shown group.

    Noise of n groups is √n times that of one, at most: its tail is no heavier.
    """
    if sums is None:
        return margins
    groups, noise = sums.number(place), sums.variance(place)
    return {
        part: replace(
            part_margins,
            unit=part_margins.unit * sqrt(noise),
            rows=part_margins.rows * groups,
            cut=min(part_margins.cut * groups, part_margins.cut_of_all),
        )
        for part, part_margins in margins.items()
    }


def risen(numbers: Sequence[float]) -> list[float]:
    """Return the numbers that never fall which are nearest in least squares."""
    # 3, 5, 1  →  3, then 5 and 1 pooled to 3 and 3: a new number that is below the pool before it is averaged with
    # that, and the new pool with the one before, until none falls.
    pools: list[tuple[float, int]] = []
    for number in numbers:
        mean, size = number, 1
        while pools and pools[-1][0] > mean:
            before, many = pools.pop()
            mean, size = (mean * size + before * many) / (size + many), size + many
        pools.append((mean, size))
    return [mean for mean, size in pools for _ in range(size)]


# Released values as PostgreSQL reads them.

CellText = str | None
_DIGITS, _LAST = Context(prec=330), Decimal("1e-10")
"""Room for all of double precision, to ten digits after the point."""
_WHOLE = {"bigint": 2**63 - 1, "integer": 2**31 - 1, "smallint": 2**15 - 1}
"""The largest value of each whole type."""
_LONGEST = 2**63 - 1
"""Of an interval without months, in microseconds."""
_LARGEST_REAL, _LEAST_REAL = (2 - 2.0**-23) * 2.0**127, 2.0**-149
"""Of `real`, the type of a sum of such: PostgreSQL reads nothing beyond, and nothing nearer to 0 but 0."""


def is_whole(type_: str) -> bool:
    """Return whether a type of PostgreSQL's has whole numbers alone."""
    return type_ in _WHOLE


def format_number(value: float | None, type_: str) -> CellText:
    """Return a statistic as text that PostgreSQL reads as `type_`."""
    if value is None:
        return None
    if type_ in _WHOLE:
        # Noise knows no limit, the type does.
        # PostgreSQL would refuse a number beyond the type, and the answer that was paid for with it.
        most = _WHOLE[type_]
        return str(min(max(round(value), -most - 1), most))
    if type_ == "real":
        return repr(min(max(value, -_LARGEST_REAL), _LARGEST_REAL)) if abs(value) >= _LEAST_REAL else "0"
    if type_.startswith("time "):
        return format_value(min(max(round(value), 0), DAY), SqlType.TIME)
    if type_.startswith("interval"):
        return _span(value)
    if type_.startswith("numeric"):
        return format(
            _DIGITS.plus(Decimal(repr(value)).quantize(_LAST, ROUND_HALF_EVEN, _DIGITS).normalize(_DIGITS)), "f"
        )
    # The shortest text that is read as the same double.
    return repr(value)


def _span(micros: float) -> str:
    """Return an interval as the difference of two times has it: days of 24 hours, and microseconds."""
    days, rest = divmod(min(round(abs(micros)), _LONGEST), DAY)
    sign = "-" if micros < 0 else ""
    return f"{sign}{days} days {sign}{rest} microseconds"


@lru_cache(maxsize=4096, typed=True)  # the groups of two keys have each value of either many times
def key_text(cell: Cell, type_: str) -> CellText:
    """Return the value of a key as text that PostgreSQL reads as `type_`."""
    if cell is None:
        return None
    if isinstance(cell, Fraction):
        exact = type_.startswith("numeric")
        return format_value(cell, SqlType.NUMERIC) if exact else format_number(float(cell), type_)
    return format_value(cell, SqlType.TEXT if isinstance(cell, str) else _counted_as(type_))


@lru_cache(maxsize=256)
def _counted_as(type_: str) -> SqlType:
    """Return the type whose values are whole numbers here and are not written as such, by PostgreSQL's name of it."""
    name = re.sub(r"\(\d+\)", "", type_)
    sql_type = TYPE_NAMES.get(name, SqlType.TEXT)
    return sql_type if sql_type.is_temporal or sql_type.is_span or sql_type is SqlType.BOOLEAN else SqlType.TEXT


CanHaveRows = Callable[[KeyRow], bool]
"""Returns whether a group can have rows."""
_UNITS = Readout(Moment("count", ()), ONE)
_ONE_SIDED = 2 * LEVEL - 1
"""The level of an interval whose lower end the value exceeds in 95 of 100 cases."""


@dataclass(frozen=True, slots=True)
class Shows:
    """How values are shown."""

    clamp: bool
    """Whether they are kept to what is possible, at the price of a bias."""
    scales: NoiseScales | None = None
    """By which real numbers are shown with the digits that mean something; None: with all."""

    @classmethod
    def of(cls, digits: Digits, *, clamp: bool) -> "Shows":
        """Return how one answer is shown."""
        return cls(clamp, NoiseScales() if digits is Digits.AUTO else None)


_AS_IT_IS = Shows(clamp=False)


@dataclass(frozen=True, slots=True)
class _Line:
    """One row of an answer before it is written: its keys (None where not grouped by), and what each part has of it."""

    keys: KeyRow
    grouped_by: Set
    estimates: Sequence[Found]
    chosen: Sequence[Sequence[int]]
    """The buckets of quantiles."""
    margins: Mapping[int, Margins]
    """The common part of the margins of all lines, by part."""
    cut: Sequence[float] = ()
    """How many rows of a group the C of each part may take off."""
    shrunk: Mapping[tuple[int, Readout], ShrunkMean | None] = field(default_factory=dict)
    """Means drawn towards that of all groups that are shown, by part."""


def rows(
    plan: MeasurementPlan,
    draws: Sequence[Draws],
    types: Sequence[str],
    shows: Shows,
    *,
    possible: CanHaveRows | None = None,
) -> Iterator[list[CellText]]:
    """Yield the answer's rows as text: the keys, then the aggregates in the types that PostgreSQL gives them.

    `draws` has what was released of every part of the plan; groups that are not `possible` are left out.
    """
    width = len(plan.groups.keys)
    # The plan was made before anything was known: here its parts are as they were measured, with the C that was chosen
    # and the ε that all their releases are worth together. Margins are of these.
    plan = replace(plan, parts=tuple(draw.measurement for draw in draws))
    nothing = replace(plan, parts=())
    lines: Iterable[_Line] = _lines(plan, draws, possible)
    drawn_together = {(o.part, o.readout) for o in plan.outputs if isinstance(o, StatisticOutput) and o.shrunk}
    if drawn_together:
        lines = _drawn_together(plan, lines, [(part, readout) for part, readout in drawn_together if part is not None])
    totals = None
    if any(isinstance(output, ComputedMarginOutput) and output.totals for output in plan.outputs):
        # Totals need all lines before the first can be written. Other answers are written as they are read.
        lines = list(lines)
        totals = _Totals([line for line in lines if _has_enough(plan, line)])
    for line in lines:
        if not _has_enough(plan, line):
            # Without GROUP BY there is one row, always. A group by keys that has too few units is left out, row and
            # key.
            if not plan.groups.keys:
                yield [None] * len(plan.outputs)
            continue
        # The total of no groups is that of no rows, for any measurement of groups that there might have been.
        read = plan if line.estimates else nothing
        yield [*_shown(line.keys, types[:width]), *_outputs(read, line, types[width:], shows, totals)]


def _drawn_together(plan: MeasurementPlan, lines: Iterable[_Line], read: Sequence[tuple[int, Readout]]) -> list[_Line]:
    """Return the lines with the means that are drawn towards that of all that are shown; of others nothing is used."""
    lines = list(lines)
    places = [place for place, line in enumerate(lines) if _has_enough(plan, line)]
    means: list[dict[tuple[int, Readout], ShrunkMean | None]] = [{} for _ in lines]
    for part, readout in read if plan.parts else ():
        groups = [(lines[place].margins[part], lines[place].estimates[part]) for place in places]
        for place, mean in zip(places, shrunk_means(readout, groups), strict=True):
            means[place][part, readout] = mean
    return [replace(line, shrunk=of_line) for line, of_line in zip(lines, means, strict=True)]


def too_few(plan: MeasurementPlan, draws: Sequence[Draws], possible: CanHaveRows | None = None) -> tuple[int, int]:
    """Return how many groups can't be shown to have as many units as they have to, and of how many."""
    plan = replace(plan, parts=tuple(draw.measurement for draw in draws))
    lines = list(_lines(plan, draws, possible))
    return sum(not _has_enough(plan, line) for line in lines), len(lines)


def _has_enough(plan: MeasurementPlan, line: _Line) -> bool:
    """Return whether a group has as many units as it has to with 95 %.

    Of one that has a unit less, or fewer, it is said with 5 % at most, as noise is as often too low as too high.
    """
    if plan.units is None:
        return True
    counted = plan.units.counted
    if counted.part is None or not plan.parts:
        return False
    estimates, readout = line.estimates[counted.part], _UNITS
    if isinstance(counted, StatisticOutput):
        margins, readout = line.margins[counted.part], counted.readout
    else:
        margins = Margins.of(_sums(plan, counted.part))
    number, width = _estimate(readout, estimates, _AS_IT_IS), margins.half_width(readout, estimates, _ONE_SIDED)
    return number is not None and width is not None and number - width > plan.units.least - 1


def _lines(plan: MeasurementPlan, draws: Sequence[Draws], possible: CanHaveRows | None) -> Iterator[_Line]:
    groups = draws[0].keys if draws and draws[0].keys is not None else plan.groups.shown
    every = tuple(range(len(plan.groups.keys)))
    sums = plan.added_up
    read, chosen = [added_up(sums, draw.reader()) for draw in draws], [draw.chosen() for draw in draws]
    cut = {o.part for o in plan.outputs if isinstance(o, StatisticOutput) and o.cut}  # for which all groups are read
    of_parts = [draw.margins_by_place(missing=i in cut) for i, draw in enumerate(draws)]
    cut_off = [draw.doubted_of_group for draw in draws]
    widest = {i: part_margins for i, of in enumerate(of_parts) if (part_margins := of(None)) is not None}

    def margins(place: int) -> Mapping[int, Margins]:
        if sums is not None:
            return margins_of(sums, place, widest)
        return {i: of_group for i, of in enumerate(of_parts) if (of_group := of(place)) is not None}

    def finest() -> Iterator[_Line]:
        for i, keys in enumerate(groups):
            if possible is not None and not possible(keys):
                continue
            buckets = [] if sums is not None else [chosen_buckets[i] for chosen_buckets in chosen]
            yield _Line(keys, every, [estimates_of(i) for estimates_of in read], buckets, margins(i), cut_off)

    may_be_empty = emptiness(plan, len(groups), widest) if plan.hides_empty else _never
    if plan.sets is None:
        yield from (line for line in finest() if not may_be_empty(line.estimates))
        return
    lines = list(finest())
    for by in plan.sets:
        if not by and not lines:
            yield _Line((None,) * len(every), by, [], [], {})  # the total of no groups
        # A coarser row is shown if one of the groups that it is made of is, and then with the noise of all of them. The
        # grand total is always there, as it is in PostgreSQL.
        kept = {_keys(line, by) for line in lines if not may_be_empty(line.estimates)}
        yield from (line for line in _together(lines, by, widest) if not by or line.keys in kept)


def _never(_: Sequence[Found]) -> bool:
    return False


def _keys(line: _Line, grouping_set: Set) -> KeyRow:
    return tuple(cell if i in grouping_set else None for i, cell in enumerate(line.keys))


def _together(lines: Sequence[_Line], grouping_set: Set, widest: Mapping[int, Margins]) -> Iterator[_Line]:
    """Yield the rows of one grouping set: the sums of all groups that agree in its keys, added up."""
    sums: dict[KeyRow, list[dict[Feature, float]]] = {}
    many = Counter(_keys(line, grouping_set) for line in lines)
    for line in lines:
        totals = sums.setdefault(_keys(line, grouping_set), [dict.fromkeys(part, 0.0) for part in line.estimates])
        for total, estimates in zip(totals, line.estimates, strict=True):
            total.update({feature: total[feature] + value for feature, value in estimates.items()})
    for keys, together in sums.items():
        noisier = {part: margins.times(Fraction(math.sqrt(many[keys]))) for part, margins in widest.items()}
        yield _Line(keys, grouping_set, together, [], noisier)


def _shown(key: KeyRow, types: Sequence[str]) -> list[CellText]:
    return [key_text(cell, type_) for cell, type_ in zip(key, types, strict=True)]


def _outputs(
    plan: MeasurementPlan, line: _Line, types: Sequence[str], shows: Shows, totals: "_Totals | None"
) -> list[CellText]:
    """Return one row's aggregates."""
    return [_value(plan, output, line, t, shows, totals) for output, t in zip(plan.outputs, types, strict=True)]


def _value(
    plan: MeasurementPlan, output: Output, line: _Line, type_: str, shows: Shows, totals: "_Totals | None"
) -> CellText:
    estimates = line.estimates
    match output:
        case GroupingOutput(keys=keys):
            # GROUPING(a, b) of the row that is grouped by a alone is 01, so 1: the first argument is the highest bit.
            bits = ["0" if key in line.grouped_by else "1" for key in keys]
            return str(int("".join(bits), 2))
        case StatisticOutput():
            nothing = output.part is None or not plan.parts
            return _of_no_rows(output) if nothing else format_number(_statistic(output, line, type_, shows), type_)
        case VoteOutput():
            return _voted(plan, output, line, type_)
        case KnownOutput(value=value):
            return key_text(value, type_)
        case DistinctCountOutput(part=part):
            counted = 0.0 if part is None or not plan.parts else estimates[part][ONE]
            return format_number(_possible_number(counted, output.most, shows), type_)
        case ComputedMarginOutput():
            nothing = output.part is None or not plan.parts
            return "0" if nothing else format_number(_computed_margin(output, line, shows, totals), type_)
        case DistinctMarginOutput() | PointMarginOutput():
            return _margin(plan, output, line, type_, shows)
        case QuantileOutput(part=part, places=places, array=array):
            if part is None or not plan.parts:
                return None
            buckets = _buckets(plan, part)
            if not places:  # of an empty array PostgreSQL says whether there are rows
                return None if _point(buckets, line.chosen[part], 0, output, type_, None) is None else "{}"
            last = _place_of_point(buckets, line, part, output.possible) if shows.scales is not None else None
            chosen = [_point(buckets, line.chosen[part], place, output, type_, last) for place in places]
            return "{" + ",".join(map(_element, chosen)) + "}" if array else chosen[0]


def _statistic(output: StatisticOutput, line: _Line, type_: str, shows: Shows) -> float | None:
    """Return what is read off noisy sums: a statistic, its margin, or which share of it is missing."""
    if output.part is None:
        return None
    estimates = line.estimates[output.part]
    if output.cut:
        return line.margins[output.part].missing
    if output.shrunk:
        mean = line.shrunk.get((output.part, output.readout))
        if mean is None:
            return None
        last = place_of_margin(mean.half_width) if shows.scales is not None else None
        return round_margin_up(mean.half_width, last, real=True) if output.margin else round_to_place(mean.value, last)
    margins, readout = line.margins.get(output.part), output.readout
    whole = is_whole(type_) or (output.margin and statistic(readout.moment.name).rounding(readout) > 0)
    last = None
    if shows.scales is not None and margins is not None and (output.margin or not whole):
        last = last_place(shows.scales.of(margins, readout, estimates))
    if output.margin:
        return _shown_margin(line.margins[output.part], readout, estimates, last, real=not whole)
    if margins is not None:
        readout, estimates = margins.own(readout, estimates)
        if not is_told(margins, readout, estimates):
            return None
    return round_to_place(_estimate(readout, estimates, shows), last)


def _shown_margin(
    margins: Margins, readout: Readout, estimates: Found, last: int | None, *, real: bool
) -> float | None:
    """Return a margin, rounded up; it is no wider than from one end to the other of what is possible."""
    width = round_margin_up(margins.shown(readout, estimates), last, real=real)
    return None if width is None else min(width, statistic(readout.moment.name).widest(readout))


def _computed_margin(output: ComputedMarginOutput, line: _Line, shows: Shows, totals: "_Totals | None") -> float | None:
    """Return the margin of what is computed of statistics as they are shown: with digits that mean something, or whole."""
    part = output.part or 0
    margins, estimates = line.margins.get(part), line.estimates[part]
    if margins is None:
        return None
    off = [_shown_off(margins, readout, estimates, shows) for readout in output.readouts]
    peers = totals.of(line, part, output.totals) if totals is not None else {}
    others = totals.others(line, part, output.totals) if totals is not None else {}
    width = ComputedMargin(output.formula, output.readouts, margins, estimates, peers, others, off).half_width()
    return round_margin_up(width, place_of_margin(width) if shows.scales is not None else None, real=False)


def _shown_off(margins: Margins, readout: Readout, estimates: Found, shows: Shows) -> float:
    """Return how far a statistic is shown from what is measured, at most."""
    off = statistic(readout.moment.name).rounding(readout)
    last = last_place(shows.scales.of(margins, readout, estimates)) if shows.scales is not None and not off else None
    return off if last is None else 10.0**last / 2


class _Totals:
    """The totals of groups that are shown, as windows over an answer have them."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines = lines
        self._sums: dict[tuple[int, tuple[int, ...]], dict[KeyRow, dict[Feature, float]]] = {}
        self._counts: dict[tuple[int, tuple[int, ...]], dict[KeyRow, Counter[float]]] = {}

    def of(self, line: _Line, part: int, totals: Sequence[ReadTotal]) -> Mapping[Total, Peers]:
        """Return the sums of the groups that are in each total with one, and what a C may take off them all."""
        peers = {}
        for total in totals:
            self._read(part, total.keys)
            key = _at(line.keys, total.keys)
            cut = line.margins[part].cut_of_groups(self._counts[part, total.keys][key].total())
            peers[total.of] = Peers(self._sums[part, total.keys][key], cut)
        return peers

    def others(
        self, line: _Line, part: int, totals: Sequence[ReadTotal]
    ) -> Mapping[tuple[frozenset[Total], float], int]:
        """Return how many other groups are in some of the totals and in no other, by how many times a group's noise each has.

        Those that are in all of some totals have the keys of all of these; by inclusion and exclusion.
        """
        # Larger sets of totals come first, so that what is in more of them is known, and taken off, when smaller ones
        # are counted: of 40 groups in the year's total, 12 in the month's too, 28 are in the year's alone.
        exact: dict[tuple[frozenset[Total], float], int] = {}
        own = line.margins[part].unit
        subsets = [some for size in range(len(totals), 0, -1) for some in combinations(totals, size)]
        for some in subsets:
            keys = tuple(sorted({key for total in some for key in total.keys}))
            self._read(part, keys)
            of = frozenset(total.of for total in some)
            for unit, number in self._counts[part, keys][_at(line.keys, keys)].items():
                noise = unit / own if own else 1.0
                more = sum(n for (within, other), n in exact.items() if within > of and other == noise)
                exact[of, noise] = number - (unit == own) - more
        return {which: number for which, number in exact.items() if number > 0}

    def _read(self, part: int, keys: tuple[int, ...]) -> None:
        if (part, keys) in self._sums:
            return
        sums: dict[KeyRow, dict[Feature, float]] = {}
        counts: dict[KeyRow, Counter[float]] = {}
        for line in self._lines:
            key, estimates = _at(line.keys, keys), line.estimates[part]
            total = sums.setdefault(key, dict.fromkeys(estimates, 0.0))
            for feature, value in estimates.items():
                total[feature] += value
            counts.setdefault(key, Counter())[line.margins[part].unit] += 1
        self._sums[part, keys], self._counts[part, keys] = sums, counts


def _at(keys: KeyRow, places: Sequence[int]) -> KeyRow:
    return tuple(keys[place] for place in places)


def _possible_number(counted: float, most: int | None, shows: Shows) -> float:
    """Return a count of values that there may be: of two payment types there are neither -40 nor 102."""
    if most is not None:
        return min(max(counted, 0.0), most)
    return max(counted, 0.0) if shows.clamp else counted


def _margin(
    plan: MeasurementPlan, output: DistinctMarginOutput | PointMarginOutput, line: _Line, type_: str, shows: Shows
) -> CellText:
    """Return the margin of what is not read off sums."""
    match output:
        case DistinctMarginOutput(part=part):
            if part is None or not plan.parts:
                return "0"
            width: float | None = distinct_half_width(_sums(plan, part), line.margins[part].cut)
            last = place_of_margin(width) if shows.scales is not None else None
            return format_number(round_margin_up(width, last, real=False), type_)
        case PointMarginOutput(part=part, possible=possible):
            if part is None or not plan.parts:
                return None
            buckets = _buckets(plan, part)
            width = point_half_width(buckets, line.chosen[part], line.cut[part], possible)
            last = place_of_margin(width) if shows.scales is not None else None
            return format_number(round_margin_up(width, last, real=not is_counted(buckets)), type_)


def _of_no_rows(output: StatisticOutput) -> CellText:
    """Return a statistic of publicly no row, which PostgreSQL knows: a count is 0 and anything else NULL."""
    return "0" if output.margin or statistic(output.readout.moment.name).counts else None


def _voted(plan: MeasurementPlan, output: VoteOutput, line: _Line, type_: str) -> CellText:
    """Return what is decided by the values that rows have, as their noisy counts tell; NULL where they tell of none.

    A value is had by some row where its count is above its noise. BOOL_OR and MAX are the largest such value, BOOL_AND and
    MIN the smallest, MODE that of the most rows.
    """
    counts = output.name == "count"
    if output.part is None or not plan.parts:
        return "0" if counts else None
    estimates, margins = line.estimates[output.part], line.margins.get(output.part)
    votes = dict.fromkeys(output.values, 0.0)
    for value, readout in zip(output.values, output.readouts, strict=True):
        votes[value] = _estimate(readout, estimates, _AS_IT_IS) or 0.0
    told = [
        value
        for value, readout in zip(output.values, output.readouts, strict=True)
        if votes[value] > least_told(margins, readout, len(plan.groups.shown))
    ]
    if counts:
        return format_number(float(len(votes) - len(told) if output.margin else len(told)), type_)
    if not told:
        return None
    match output.name:
        case "bool_or" | "max":
            return key_text(max(told), type_)
        case "bool_and" | "min":
            return key_text(min(told), type_)
        case _:
            return key_text(max(told, key=votes.__getitem__), type_)


def _sums(plan: MeasurementPlan, part: int | None) -> Sums:
    sums = plan.parts[part or 0]
    if not isinstance(sums, Sums):
        raise InternalError
    return sums


def _buckets(plan: MeasurementPlan, part: int) -> Histogram:
    buckets = plan.parts[part]
    if not isinstance(buckets, Histogram):
        raise InternalError
    return buckets


def _element(point: CellText) -> str:
    """Return a value as an array's text has it."""
    if point is None:
        return "NULL"
    # Always quoted: an unquoted NULL is no value in an array's text, and a comma would begin the next one.
    return '"' + point.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _place_of_point(buckets: Histogram, line: _Line, part: int, possible: Possible | None) -> int | None:
    """Return the last place that is shown of a point of values between others, where its margin is released."""
    if not buckets.margin or is_counted(buckets) or possible is not None:
        return None
    return place_of_margin(point_half_width(buckets, line.chosen[part], line.cut[part]))


def _point(
    part: Histogram, chosen: Sequence[int], place: int, output: QuantileOutput, type_: str, last: int | None
) -> CellText:
    """Return the public value that stands for a bucket, NULL for the extreme of too few rows."""
    # The mechanism answers with the index after the last bucket where a group seems to have too few rows.
    bucket = chosen[place]
    if bucket >= part.number:
        return None
    possible = output.possible
    value = part.value(bucket) if possible is None else possible.of_bucket(part, bucket, part.points[place])
    if output.ordered is not None:
        return str(output.ordered[int(value)])
    if part.x.expr.type.is_temporal:
        return format_value(int(value), part.x.expr.type)
    return format_number(round_to_place(float(value), last), type_.removesuffix("[]"))


def _estimate(readout: Readout, estimates: Mapping[Feature, float], shows: Shows) -> float | None:
    """Return a statistic, inside what is possible for roles that want no negative counts and accept the bias."""
    kind = statistic(readout.moment.name)
    value = kind.estimate(readout, estimates)
    return kind.clamped(readout, value) if shows.clamp and value is not None else value


# What in an answer is not distinguishable from zero: groups that may be empty, and statistics that noise has hidden.


def empty_groups(plan: MeasurementPlan, draws: Sequence[Draws], possible: CanHaveRows | None = None) -> tuple[int, int]:
    """Return how many of the groups may be empty, by their released counts, and of how many that are shown."""
    plan = replace(plan, parts=tuple(draw.measurement for draw in draws))
    groups, read = plan.groups.shown, [draw.reader() for draw in draws]
    margins = {
        i: of_draw
        for i, draw in enumerate(draws)
        if (of_draw := draw.margins_by_place(missing=False)(None)) is not None
    }
    may_be_empty = emptiness(plan, len(groups), margins)
    shown = [i for i, keys in enumerate(groups) if possible is None or possible(keys)]
    return sum(may_be_empty([estimates_of(i) for estimates_of in read]) for i in shown), len(shown)


def hidden_statistics(plan: MeasurementPlan, draws: Sequence[Draws]) -> Iterator[tuple[Moment, int, int]]:
    """Yield each statistic with the number of groups in which noise has hidden it, if there are some, and of all groups."""
    for output in plan.outputs if draws else ():
        if not isinstance(output, StatisticOutput) or output.part is None or output.margin:
            continue
        readout, draw = output.readout, draws[output.part]
        kind = statistic(readout.moment.name)
        if kind.hides:
            sums, margins = draw.reader(), draw.margins_by_place(missing=False)
            places = range(draws[0].groups)
            number = sum(kind.is_hidden(readout, sums(i)) and _is_shown(margins(i), readout, sums(i)) for i in places)
            if number:
                yield readout.moment, number, len(places)


def _is_shown(margins: Margins | None, readout: Readout, estimates: Found) -> bool:
    return margins is None or is_told(margins, *margins.own(readout, estimates))
