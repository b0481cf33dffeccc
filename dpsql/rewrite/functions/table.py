"""The table of functions that may stand over private rows: what is not in it is refused."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import assert_never

from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import DOUBLE_DIGITS, PRODUCT_DIGITS
from dpsql.rewrite.functions.arithmetic import ANALYTIC, ARITHMETIC, ROUNDING
from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.functions.logical import COMPARISONS, LOGIC
from dpsql.rewrite.functions.temporal import DAY_TIMES, SPANS, TIMES
from dpsql.rewrite.functions.text import ANY_TEXTS, CUTS, MAPS, PATTERNS
from dpsql.rewrite.functions.whole_numbers import WHOLE
from dpsql.rewrite.ir.expr import Apply, Const, Digits, Expr, Ref, option

CONDITIONS = (*COMPARISONS, *LOGIC, *PATTERNS)
NUMBERS = (*ARITHMETIC, *ROUNDING, *ANALYTIC, *WHOLE)
_MOST_DECIMALS = 12
_MOST_ROUNDINGS = 4
"""Of half a unit of double precision each, and a last one: 5 units in 10^16 are less than a half of the 15th digit."""
_POWERS_OF_TEN = frozenset(10**n for n in range(1, 16))
_SCALE = re.compile(r"numeric\(\d+,(\d+)\)")
TABLE: Mapping[str, Function] = {
    f.op: f for f in (*CONDITIONS, *NUMBERS, *TIMES, *DAY_TIMES, *SPANS, *MAPS, *CUTS, *ANY_TEXTS)
}


def function_of(apply: Apply) -> Function:
    """Return all that is known of the function that is applied."""
    return TABLE[apply.op]


def integral(expr: Expr) -> bool:
    """Return whether every value is a whole number, in any type."""
    match expr:
        case Ref():
            return expr.type.is_integer
        case Const():
            return expr.type.is_integer or type(expr.value) is int
        case Apply():
            return function_of(expr).whole(expr, integral)
        case _:
            assert_never(expr)


def step_of(expr: Expr) -> Fraction | None:
    """Return what every value is a whole multiple of, where that is known; 0 where every value is 0 or NULL."""
    match expr:
        case Ref():
            if expr.type.is_temporal or expr.type.is_span:
                return expr.column.step or Fraction(1)
            return expr.column.step if expr.type.is_number else None
        case Const(value=value):
            return Fraction(0) if value is None else None if isinstance(value, str) else abs(Fraction(value))
        case Apply():
            step = function_of(expr).step(expr, step_of)
            return step if step is not None or not integral(expr) else Fraction(1)
        case _:
            assert_never(expr)


_ROUNDED = frozenset({"add", "sub", "mul", "div", "mod"})
_SAME = frozenset({"neg", "abs", "greatest", "least", "case", "coalesce", "nullif"})
"""Whose values are those of an argument, or its negative."""


def decimals_computed(expr: Expr) -> int | None:
    """Return how many digits after the point values of `numeric` have that double precision may be a little beside.

    None where they are as they are stored, are whole, or have no end: 0.1 + 0.2 has one digit, and price / 3 any number.
    """
    if not (isinstance(expr, Apply) and expr.type is SqlType.NUMERIC and not integral(expr) and _is_rounded(expr)):
        return None
    step = step_of(expr)
    return None if not step else decimals_of(step)


def digits_to_settle(expr: Expr) -> int | None:
    """Return to how many digits in all values of `numeric` are settled that engines are a little beside; None of others.

    They are products of decimals of few digits, and what PostgreSQL makes of double precision, which has 15 of its digits:
    0.30000000000000004, the sum of 0.1 and 0.2, is 0.3 as a `numeric`.
    """
    if is_short_product(expr):
        return PRODUCT_DIGITS
    return DOUBLE_DIGITS if _is_of_double(expr) else None


def _is_of_double(expr: Expr) -> bool:
    """Return whether a decimal is one of double precision that may have more digits, or that times a power of ten."""
    match expr:
        case Apply(op="to_double", type=SqlType.NUMERIC, args=(arg,)):
            step = step_of(arg)
            as_stored = step is not None and decimals_of(step) is not None and not _is_rounded(arg)
            return arg.type is SqlType.DOUBLE and not as_stored
        case Apply(op="neg" | "abs", args=(arg,)):
            return _is_of_double(arg)
        case Apply(op="mul", args=(a, Const() as by)) | Apply(op="mul", args=(Const() as by, a)):
            return _is_of_double(a) and by.value in _POWERS_OF_TEN
        case _:
            return False


def is_short_product(expr: Expr) -> bool:
    """Return whether values of `numeric` are products of decimals of few digits, which may have any number after the point.

    r::numeric * 100 has 7 digits at most, and engines compute what is less than 5 units in 10^16 beside it.
    """
    short = _short(expr) if expr.type is SqlType.NUMERIC and _is_rounded(expr) and step_of(expr) is None else None
    return short is not None and short[0] < PRODUCT_DIGITS and short[1] <= _MOST_ROUNDINGS


def _short(expr: Expr) -> tuple[int, int] | None:
    """Return how many digits a decimal has in all, at most, and how often it was rounded in double precision."""
    match expr:
        case Const(value=int() | Fraction() as value):
            decimals = decimals_of(abs(Fraction(value)))
            if decimals is None:
                return None
            digits = str(abs(int(Fraction(value) * 10**decimals))).rstrip("0")
            return len(digits), int(Fraction(float(value)) != value)
        case Apply(op="to_decimal"):
            return option(expr, Digits).number, 1
        case Apply(op="mul" | "neg" | "abs"):
            parts = [_short(arg) for arg in expr.args]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            return sum(digits for digits, _ in known), sum(n for _, n in known) + len(parts) - 1
        case _:
            return None


def is_real(expr: Expr) -> bool:
    """Return whether a number is a `real` in PostgreSQL: so are sums and products of these, in double precision here."""
    return expr.type is SqlType.REAL or (
        isinstance(expr, Apply) and expr.op in _ROUNDED and expr.type.is_float and all(map(is_real, expr.args))
    )


def is_single_computed(expr: Expr) -> bool:
    """Return whether an expression is computed of numbers in single precision, in which PostgreSQL computes it."""
    return expr.type is SqlType.REAL and _is_rounded(expr)


def decimals_of(step: Fraction) -> int | None:
    """Return how many digits after the point the multiples of a step have; None where they have no end, or too many."""
    return next((n for n in range(_MOST_DECIMALS + 1) if (step * 10**n).denominator == 1), None)


def _is_rounded(expr: Expr) -> bool:
    if not isinstance(expr, Apply):
        return False
    return expr.op in _ROUNDED or (expr.op in _SAME and any(map(_is_rounded, expr.args)))


def digits_written(expr: Expr) -> int | None:
    """Return how many digits PostgreSQL writes after the point of a number not in floating point; None if it varies."""
    if expr.type.is_integer:
        return 0
    match expr:
        case Ref():
            match = _SCALE.fullmatch(expr.column.declared)
            return int(match[1]) if match else None
        case Const():
            return None
        case Apply():
            return function_of(expr).digits(expr, digits_written) if expr.type is SqlType.NUMERIC else None
        case _:
            assert_never(expr)


def without_double(expr: Expr) -> Expr:
    """Return a number as it was before it was made one in double precision; any other expression unchanged."""
    return expr.args[0] if isinstance(expr, Apply) and expr.op == "to_double" else expr


def describe(expr: Expr) -> str:
    """Return the expression for a message, much as people write it."""
    match expr:
        case Ref():
            return expr.name
        case Const():
            number = isinstance(expr.value, Fraction)
            return "NULL" if expr.value is None else str(float(expr.value) if number else expr.value)
        case Apply():
            return function_of(expr).describe([describe(arg) for arg in expr.args], expr)
        case _:
            assert_never(expr)
