"""The bounds and the domain of a column, read by the column's type."""

import re
from collections.abc import Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.load import scalars
from dpsql.policy.load.mistakes import Mistakes, Path, Positioned
from dpsql.policy.model import SqlType, Value

_VARYING = re.compile(r"character varying\((\d+)\)")
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")


def bounds_of(
    kind: SqlType, texts: Sequence[str] | None, path: Path, document: Positioned, mistakes: Mistakes
) -> Interval | None:
    """Read `bounds`; note what is wrong and return None."""
    if texts is None:
        return Interval.of(0, scalars.MICROS_OF_DAY - 1) if kind is SqlType.TIME else None
    if not (kind.is_number or kind.is_temporal or kind.is_span):
        mistakes.add(document, path, f'can\'t be given for a column of type {kind}; declare its "values"')
        return None
    ends: list[Fraction] = []
    for at, text in enumerate(texts):
        try:
            ends.append(scalars.bound(kind, text))
        except ValueError as failure:
            mistakes.add(document, (*path, at), f'is "{text}"; it {failure}')
    if len(ends) < 2:
        return None
    try:
        return scalars.interval(kind, ends[0], ends[1])
    except ValueError as failure:
        mistakes.add(document, path, f"are [{texts[0]}, {texts[1]}]; {failure}")
    return None


def declared_values(
    kind: SqlType,
    declared: str,
    texts: Sequence[str] | None,
    path: Path,
    document: Positioned,
    mistakes: Mistakes,
) -> tuple[Value, ...] | None:
    """Read `values`; note what is wrong and return None."""
    if texts is None:
        return None
    found: dict[Value, str] = {}
    for at, text in enumerate(texts):
        try:
            value = scalars.domain_value(kind, declared, text)
            _see_room(declared, value)
        except ValueError as failure:
            mistakes.add(document, (*path, at), f'is "{text}"; it {failure}')
            continue
        if value in found:
            mistakes.add(document, (*path, at), f'is "{text}", a value that is already there')
        found[value] = text
    return tuple(found)


def _see_room(declared: str, value: Value) -> None:
    """See that a value has room in a type of some length: another would be shown in its place.

    Raises:
        ValueError: it has none.
    """
    if isinstance(value, str):
        varying = _VARYING.fullmatch(declared)
        if varying is not None and len(value) > int(varying[1]):
            raise ValueError(f"must have at most {varying[1]} characters, since the column's type is {declared}")
    elif (numeric := _NUMERIC.fullmatch(declared)) is not None:
        digits, places = int(numeric[1]), int(numeric[2])
        scaled = Fraction(value) * 10**places
        if scaled.denominator != 1 or abs(scaled) >= 10**digits:
            raise ValueError(f"must have at most {digits - places} digits before the point and {places} after it")
