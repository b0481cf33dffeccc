"""From released estimates to the values a client sees: rounding and clamping, all of it post-processing."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal

from dpsql.policy.model import SqlType
from dpsql.privacy.feature import Feature
from dpsql.privacy.measure import Output, Plan
from dpsql.privacy.reading import read
from dpsql.privacy.release import Release, estimates
from dpsql.rewrite.keys import Cell
from dpsql.rewrite.literal import format_value

Text = str | None
_WHOLE = frozenset({"bigint", "integer", "smallint"})


def rows(plan: Plan, release: Release | None, types: Sequence[str], *, clamp: bool) -> list[list[Text]]:
    """Return the answer's rows as text: the keys, then the aggregates in the types that PostgreSQL gives them."""
    keys = len(plan.groups.keys)
    return [
        [
            *(_key(cell, type_) for cell, type_ in zip(shown, types[:keys], strict=True)),
            *_aggregates(plan, _found(plan, release, index), types[keys:], clamp=clamp),
        ]
        for index, shown in enumerate(plan.groups.shown)
    ]


def _found(plan: Plan, release: Release | None, index: int) -> Mapping[Feature, float]:
    """Return one group's estimates; where nothing was measured everything is publicly zero."""
    if plan.sums is None or release is None:
        return {feature: 0.0 for output in plan.outputs for feature in output.reading.features}
    return estimates(plan.sums, release.noisy[index])


def _aggregates(plan: Plan, found: Mapping[Feature, float], types: Sequence[str], *, clamp: bool) -> list[Text]:
    return [
        number(_clamped(output, read(output.reading, found), clamp=clamp), type_)
        for output, type_ in zip(plan.outputs, types, strict=True)
    ]


def _clamped(output: Output, value: float | None, *, clamp: bool) -> float | None:
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
    return format_value(cell, kind if not isinstance(cell, str) else SqlType.TEXT)
