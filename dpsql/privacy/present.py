"""From releases to the values a client sees: rounding and clamping, all of it post-processing."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.policy.model import SqlType
from dpsql.privacy.buckets import Buckets
from dpsql.privacy.exact import KeyRow
from dpsql.privacy.feature import Feature
from dpsql.privacy.margins import half_width
from dpsql.privacy.measure import Chosen, Counted, Output, Plan, Statistic
from dpsql.privacy.reading import read
from dpsql.privacy.release import Release, estimates
from dpsql.privacy.sums import Sums
from dpsql.rewrite.keys import Cell
from dpsql.rewrite.literal import format_value

Text = str | None
_WHOLE = frozenset({"bigint", "integer", "smallint"})


def rows(plan: Plan, releases: Sequence[Release], types: Sequence[str], *, clamp: bool) -> list[list[Text]]:
    """Return the answer's rows as text: the keys, then the aggregates in the types that PostgreSQL gives them.

    `releases` has one for every part of the plan.
    """
    keys = len(plan.groups.keys)
    found = releases[0].keys if releases and releases[0].keys is not None else plan.groups.shown
    return [
        [*_shown(key, types[:keys]), *_group(plan, releases, index, types[keys:], clamp=clamp)]
        for index, key in enumerate(found)
    ]


def _shown(key: KeyRow, types: Sequence[str]) -> list[Text]:
    return [_key(cell, type_) for cell, type_ in zip(key, types, strict=True)]


def _group(plan: Plan, releases: Sequence[Release], index: int, types: Sequence[str], *, clamp: bool) -> list[Text]:
    """Return one group's aggregates."""
    numbers = [release.numbers[index] for release in releases]
    found = [estimates(part, n) if isinstance(part, Sums) else {} for part, n in zip(plan.parts, numbers, strict=True)]
    pairs = zip(plan.outputs, types, strict=True)
    return [_value(plan, output, numbers, found, type_, clamp=clamp) for output, type_ in pairs]


def _value(
    plan: Plan,
    output: Output,
    numbers: Sequence[Sequence[int]],
    found: Sequence[Mapping[Feature, float]],
    type_: str,
    *,
    clamp: bool,
) -> Text:
    match output:
        case Statistic(part=part, reading=reading):
            estimate = dict.fromkeys(reading.features, 0.0) if part is None or not plan.parts else found[part]
            if output.margin:
                return number(half_width(_sums(plan, part), reading, estimate), type_)
            return number(_clamped(output, read(reading, estimate), clamp=clamp), type_)
        case Counted(part=part):
            counted = 0.0 if part is None or not plan.parts else numbers[part][0] / _sums(plan, part).unit
            return number(max(counted, 0.0) if clamp else counted, type_)
        case Chosen(part=part, places=places, array=array):
            if part is None or not plan.parts:
                return None
            chosen = [_point(plan.parts[part], numbers[part][place], type_) for place in places]
            return "{" + ",".join(chosen) + "}" if array else chosen[0]


def _sums(plan: Plan, part: int | None) -> Sums:
    sums = plan.parts[part or 0]
    if not isinstance(sums, Sums):
        raise InternalError
    return sums


def _point(part: object, bucket: int, type_: str) -> str:
    """Return the public value that stands for a bucket."""
    if not isinstance(part, Buckets):
        raise InternalError
    value = part.value(bucket)
    if part.x.expr.type.is_temporal:
        return format_value(int(value), part.x.expr.type)
    return number(float(value), type_.removesuffix("[]")) or ""


def _clamped(output: Statistic, value: float | None, *, clamp: bool) -> float | None:
    """Return a count or sum inside what is possible, for roles that want no negative counts and accept the bias."""
    if not clamp or value is None:
        return value
    moment, x = output.reading.moment, output.reading.x
    if moment.name == "count":
        return max(value, 0.0)
    if moment.name == "sum" and x is not None and x.x is not None:
        low, high = x.x.interval.low, x.x.interval.high
        return max(value, 0.0) if low >= 0 else min(value, 0.0) if high <= 0 else value
    return value


def number(value: float | None, type_: str) -> Text:
    """Return a statistic as text that PostgreSQL reads as `type_`."""
    if value is None:
        return None
    if type_ in _WHOLE:
        return str(round(value))
    if type_.startswith("numeric"):
        return format(Decimal(repr(value)).quantize(Decimal("1e-10"), ROUND_HALF_EVEN).normalize() + 0, "f")
    return repr(value)


def _key(cell: Cell, type_: str) -> Text:
    if cell is None:
        return None
    kinds = {"boolean": SqlType.BOOLEAN, "date": SqlType.DATE}
    kind = kinds.get(type_, SqlType.TIMESTAMP if type_.startswith("timestamp") else SqlType.TEXT)
    if isinstance(cell, Fraction):
        return number(float(cell), type_)
    return format_value(cell, kind if not isinstance(cell, str) else SqlType.TEXT)
