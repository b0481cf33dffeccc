"""The bounds, the domain and the step of a column, read by the column's type."""

import re
from collections.abc import Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.load import scalars
from dpsql.policy.load.mistakes import Mistakes, Path, Positioned
from dpsql.policy.model import SqlType, Value
from dpsql.policy.steps import common_step

_VARYING = re.compile(r"character varying\((\d+)\)")
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")


def bounds_of(
    kind: SqlType, texts: Sequence[str] | None, path: Path, document: Positioned, mistakes: Mistakes
) -> Interval | None:
    """Read `bounds`; note mistakes and return None."""
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
    """Read `values`; note mistakes and return None."""
    if texts is None:
        return None
    text_of: dict[Value, str] = {}
    for at, text in enumerate(texts):
        try:
            value = scalars.domain_value(kind, declared, text)
            _see_room(declared, value)
        except ValueError as failure:
            mistakes.add(document, (*path, at), f'is "{text}"; it {failure}')
            continue
        if value in text_of:
            mistakes.add(document, (*path, at), f'is "{text}", a value that is already there')
        text_of[value] = text
    return tuple(text_of)


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


def of_type(kind: SqlType, declared: str) -> Fraction | None:
    """Return the step that a type implies: 1 for whole numbers, 0.01 for numeric(10, 2)."""
    if kind.is_integer:
        return Fraction(1)
    match = _NUMERIC.fullmatch(declared)
    return Fraction(1, 10 ** int(match[2])) if match else None


def own_step(kind: SqlType, declared: str, bounds: Interval | None, values: Sequence[Value] | None) -> Fraction | None:
    """Return the step of a column that declares none; None where it has none, or one that its bounds are no multiples of."""
    if values is not None and kind.is_number:
        return common_step(Fraction(value) for value in values if not isinstance(value, str)) or None
    step = of_type(kind, declared)
    return None if step is None or (bounds is not None and not _divides(step, bounds)) else step


def misfit(step: Fraction, kind: SqlType, declared: str, bounds: Interval | None) -> str | None:
    """Return the mistake in a declared step; None where it fits."""
    finest = of_type(kind, declared)
    if not kind.is_number:
        return f"can't be given for a column of type {kind}"
    if finest is not None and (step / finest).denominator != 1:
        return f"is {_decimal(step)}; values of type {declared} are multiples of {_decimal(finest)}, and so must the step be"
    if bounds is None:
        return 'can\'t be given without "bounds"'
    if not _divides(step, bounds):
        ends = f"[{_decimal(bounds.low)}, {_decimal(bounds.high)}]"
        return f"is {_decimal(step)}, of which the bounds {ends} are no whole multiples"
    return None


def _divides(step: Fraction, bounds: Interval) -> bool:
    return all((end / step).denominator == 1 for end in (bounds.low, bounds.high))


def _decimal(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))
