"""The step of a column: what all its values are whole multiples of, declared or by the type."""

import re
from collections.abc import Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.policy.steps import common_step

_NUMERIC = re.compile(r"numeric\(\d+,(\d+)\)")


def of_type(kind: SqlType, declared: str) -> Fraction | None:
    """Return the step that a type implies: 1 for whole numbers, 0.01 for numeric(10, 2)."""
    if kind.is_integer:
        return Fraction(1)
    found = _NUMERIC.fullmatch(declared)
    return Fraction(1, 10 ** int(found[1])) if found else None


def own_step(kind: SqlType, declared: str, bounds: Interval | None, values: Sequence[Value] | None) -> Fraction | None:
    """Return the step of a column that declares none; None where it has none, or one that its bounds are no multiples of."""
    if values is not None and kind.is_number:
        return common_step(Fraction(value) for value in values if not isinstance(value, str)) or None
    step = of_type(kind, declared)
    return None if step is None or (bounds is not None and not _divides(step, bounds)) else step


def misfit(step: Fraction, kind: SqlType, declared: str, bounds: Interval | None) -> str | None:
    """Return what is wrong with a declared step; None where it fits."""
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
