"""From releases to the values a client sees: rounding and clamping, all of it post-processing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.policy.model import SqlType
from dpsql.privacy.accuracy.emptiness import emptiness
from dpsql.privacy.accuracy.margin import half_width
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.readout import Readout
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import (
    DistinctCountOutput,
    GroupingOutput,
    MeasurementPlan,
    Output,
    QuantileOutput,
    StatisticOutput,
    VoteOutput,
)
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import KeyRow
from dpsql.privacy.release.release import Release, estimates
from dpsql.rewrite.functions.domains import Cell
from dpsql.rewrite.ir.literal import format_value
from dpsql.rewrite.syntax.grouping import Set

CellText = str | None
Estimator = Callable[[Sequence[int]], Mapping[Feature, float]]
_HALF = 0.5
_DIGITS, _LAST = Context(prec=330), Decimal("1e-10")
"""Room for all of double precision, to ten digits after the point."""
_WHOLE = {"bigint": 2**63 - 1, "integer": 2**31 - 1, "smallint": 2**15 - 1}
"""The largest value of each whole type."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One row of an answer before it is written: its keys (None where not grouped by), and each part's numbers."""

    keys: KeyRow
    grouped_by: Set
    numbers: Sequence[Sequence[int]]


def rows(
    plan: MeasurementPlan, releases: Sequence[Release], types: Sequence[str], *, clamp: bool
) -> Iterator[list[CellText]]:
    """Yield the answer's rows as text: the keys, then the aggregates in the types that PostgreSQL gives them.

    `releases` has one for every part of the plan.
    """
    width = len(plan.groups.keys)
    estimators = [estimates(part) if isinstance(part, Sums) else _nothing for part in plan.parts]
    for line in _lines(plan, releases, estimators):
        yield [*_shown(line.keys, types[:width]), *_outputs(plan, line, estimators, types[width:], clamp=clamp)]


def _nothing(_: Sequence[int]) -> Mapping[Feature, float]:
    return {}


def _lines(plan: MeasurementPlan, releases: Sequence[Release], estimators: Sequence[Estimator]) -> Iterator[_Line]:
    found = releases[0].keys if releases and releases[0].keys is not None else plan.groups.shown
    every = tuple(range(len(plan.groups.keys)))
    finest = [_Line(keys, every, [release.numbers[i] for release in releases]) for i, keys in enumerate(found)]
    shown = finest
    if plan.hides_empty:
        may_be_empty = emptiness(plan, len(finest))
        shown = [line for line in finest if not may_be_empty(_found(estimators, line))]
    if plan.sets is None:
        yield from shown
        return
    for one in plan.sets:
        if not one and not finest:
            yield _Line((None,) * len(every), one, [])  # nothing was measured: the total of no groups
        kept = {_keys(line, one) for line in shown}
        yield from (line for line in _together(finest, one, len(releases)) if not one or line.keys in kept)


def _keys(line: _Line, one: Set) -> KeyRow:
    return tuple(cell if i in one else None for i, cell in enumerate(line.keys))


def _found(estimators: Sequence[Estimator], line: _Line) -> list[Mapping[Feature, float]]:
    return [estimate(numbers) for estimate, numbers in zip(estimators, line.numbers, strict=True)]


def _together(finest: Sequence[_Line], one: Set, parts: int) -> Iterator[_Line]:
    """Yield the rows of one grouping set: the numbers of all groups that agree in its keys, added up."""
    sums: dict[KeyRow, list[list[int]]] = {}
    for line in finest:
        keys = _keys(line, one)
        known = sums.setdefault(keys, [[0] * len(line.numbers[p]) for p in range(parts)])
        for total, numbers in zip(known, line.numbers, strict=True):
            total[:] = [a + b for a, b in zip(total, numbers, strict=True)]
    for keys, together in sums.items():
        yield _Line(keys, one, together)


def _shown(key: KeyRow, types: Sequence[str]) -> list[CellText]:
    return [_key(cell, type_) for cell, type_ in zip(key, types, strict=True)]


def _outputs(
    plan: MeasurementPlan, line: _Line, estimators: Sequence[Estimator], types: Sequence[str], *, clamp: bool
) -> list[CellText]:
    """Return one row's aggregates."""
    found = _found(estimators, line)
    return [_value(plan, output, line, found, t, clamp=clamp) for output, t in zip(plan.outputs, types, strict=True)]


def _value(
    plan: MeasurementPlan,
    output: Output,
    line: _Line,
    found: Sequence[Mapping[Feature, float]],
    type_: str,
    *,
    clamp: bool,
) -> CellText:
    numbers = line.numbers
    match output:
        case GroupingOutput(keys=keys):
            bits = ["0" if key in line.grouped_by else "1" for key in keys]
            return str(int("".join(bits), 2))
        case StatisticOutput(part=part, readout=readout):
            if part is None or not plan.parts:
                return _of_no_rows(output)
            if output.margin:
                return format_number(half_width(_sums(plan, part), readout, found[part]), type_)
            return format_number(_estimate(readout, found[part], clamp=clamp), type_)
        case VoteOutput():
            return _voted(plan, output, found, type_)
        case DistinctCountOutput(part=part):
            counted = 0.0 if part is None or not plan.parts else numbers[part][0] / _sums(plan, part).steps_per_row
            return format_number(max(counted, 0.0) if clamp else counted, type_)
        case QuantileOutput(part=part, places=places, array=array):
            if part is None or not plan.parts:
                return None
            chosen = [_point(plan.parts[part], numbers[part][place], type_) for place in places]
            return "{" + ",".join(point or "NULL" for point in chosen) + "}" if array else chosen[0]


def _of_no_rows(output: StatisticOutput) -> CellText:
    """Return a statistic of publicly no row, which PostgreSQL knows: a count is 0 and anything else NULL."""
    return "0" if output.margin or statistic(output.readout.moment.name).counts else None


def _voted(plan: MeasurementPlan, output: VoteOutput, found: Sequence[Mapping[Feature, float]], type_: str) -> CellText:
    """Return the value with the most votes; for BOOL_AND and BOOL_OR whether any row, to half a row, speaks against or for.

    NULL where no value has half a row.
    """
    if output.part is None or not plan.parts:
        return None
    counts = [_estimate(readout, found[output.part], clamp=False) or 0.0 for readout in output.readouts]
    if max(counts, default=0.0) < _HALF:
        return None
    votes = dict(zip(output.values, counts, strict=True))
    match output.name:
        case "bool_or":
            return _key(votes.get(True, 0.0) >= _HALF, type_)
        case "bool_and":
            return _key(votes.get(False, 0.0) < _HALF, type_)
        case "mode":
            return _key(max(votes, key=votes.__getitem__), type_)


def _sums(plan: MeasurementPlan, part: int | None) -> Sums:
    sums = plan.parts[part or 0]
    if not isinstance(sums, Sums):
        raise InternalError
    return sums


def _point(part: object, bucket: int, type_: str) -> CellText:
    """Return the public value that stands for a bucket, NULL for the extreme of too few rows."""
    if not isinstance(part, Histogram):
        raise InternalError
    if bucket >= part.number:
        return None
    value = part.value(bucket)
    if part.x.expr.type.is_temporal:
        return format_value(int(value), part.x.expr.type)
    return format_number(float(value), type_.removesuffix("[]"))


def _estimate(readout: Readout, found: Mapping[Feature, float], *, clamp: bool) -> float | None:
    """Return a statistic, inside what is possible for roles that want no negative counts and accept the bias."""
    known = statistic(readout.moment.name)
    value = known.estimate(readout, found)
    return known.clamped(readout, value) if clamp and value is not None else value


def format_number(value: float | None, type_: str) -> CellText:
    """Return a statistic as text that PostgreSQL reads as `type_`."""
    if value is None:
        return None
    if type_ in _WHOLE:
        # Noise knows no limit, the type does.
        most = _WHOLE[type_]
        return str(min(max(round(value), -most - 1), most))
    if type_.startswith("numeric"):
        return format(
            _DIGITS.plus(Decimal(repr(value)).quantize(_LAST, ROUND_HALF_EVEN, _DIGITS).normalize(_DIGITS)), "f"
        )
    return repr(value)


def _key(cell: Cell, type_: str) -> CellText:
    if cell is None:
        return None
    kinds = {"boolean": SqlType.BOOLEAN, "date": SqlType.DATE}
    kind = kinds.get(type_, SqlType.TIMESTAMP if type_.startswith("timestamp") else SqlType.TEXT)
    if isinstance(cell, Fraction):
        return format_number(float(cell), type_)
    return format_value(cell, kind if not isinstance(cell, str) else SqlType.TEXT)
