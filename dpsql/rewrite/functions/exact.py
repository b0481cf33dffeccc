"""Exact results of arithmetic, before an engine rounds them: for group keys and for intervals."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import Value
from dpsql.rewrite.functions.function import EvaluateRule
from dpsql.rewrite.functions.ranges import all_given
from dpsql.rewrite.ir.expr import Apply, Const, Expr
from dpsql.rewrite.ir.literal import simplest


def greatest_of(intervals: Sequence[Interval | None], nullable: Sequence[bool]) -> Interval | None:
    """Enclose the greatest argument that is not NULL: it is at least what is never NULL."""
    given = all_given(intervals)
    if given is None:
        return None
    least = [i.low for i, may_be_null in zip(given, nullable, strict=True) if not may_be_null]
    return Interval(max(least, default=min(i.low for i in given)), max(i.high for i in given))


def least_of(intervals: Sequence[Interval | None], nullable: Sequence[bool]) -> Interval | None:
    """Enclose the least argument that is not NULL: it is at most what is never NULL."""
    given = all_given(intervals)
    if given is None:
        return None
    most = [i.high for i, may_be_null in zip(given, nullable, strict=True) if not may_be_null]
    return Interval(min(i.low for i in given), min(most, default=max(i.high for i in given)))


def sign_of(x: Fraction) -> Fraction:
    """Return −1, 0 or 1."""
    return Fraction((x > 0) - (x < 0))


def of_numbers(f: Callable[..., Fraction | int]) -> EvaluateRule:
    """Apply to numbers a function that is NULL where one of them is."""

    def computed(args: Sequence[Value | None], _: Apply) -> Value | None:
        numbers = [Fraction(arg) for arg in args if arg is not None]
        return simplest(Fraction(f(*numbers))) if len(numbers) == len(args) else None

    return computed


def rest(args: Sequence[Value | None], _: Apply) -> Value | None:
    """Return what a division leaves, with the dividend's sign."""
    a, b = (None if arg is None else Fraction(arg) for arg in args)
    return simplest(a - math.trunc(a / b) * b) if a is not None and b else None


def of_some(choose: Callable[[Sequence[Fraction]], Fraction]) -> EvaluateRule:
    """Choose among the numbers that are not NULL."""

    def computed(args: Sequence[Value | None], _: Apply) -> Value | None:
        numbers = [Fraction(arg) for arg in args if arg is not None]
        return simplest(choose(numbers)) if numbers else None

    return computed


def ratio(args: Sequence[Value | None], apply: Apply) -> Value | None:
    """Divide; NULL by 0, and of whole numbers cut off."""
    a, b = (None if arg is None else Fraction(arg) for arg in args)
    if a is None or not b:
        return None
    return math.trunc(a / b) if apply.type.is_integer else a / b


def without_addend(expr: Expr) -> tuple[Expr, Fraction] | None:
    """Return a number and the constant that is added to it, or taken away."""
    if not (isinstance(expr, Apply) and expr.op in {"add", "sub"} and expr.type.is_number):
        return None
    term, other = expr.args
    if isinstance(term, Const) and expr.op == "add":
        term, other = other, term
    if not isinstance(other, Const) or isinstance(other.value, str) or other.value is None or not term.type.is_number:
        return None
    return term, Fraction(other.value) * (-1 if expr.op == "sub" else 1)
