"""Where an engine's numbers can be, which it computes in double precision: a little beside where exact ones would be.

What is exactly 0 may come out as 1e-17 and, multiplied often enough, overflow: for one row, which would tell of it. A
single operation rounds to the nearest number and so keeps the order of its arguments: the ends of an interval, rounded
alike, hold all its values. Where there are several operations, or a jump, some slack is added.
"""

from collections.abc import Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import TINY
from dpsql.rewrite.functions.table import TABLE
from dpsql.rewrite.ir.expr import Apply

_SLACK = Fraction(1, 2**40)
_JUMPS = frozenset({"round", "to_integer"})
_STEPS = frozenset({"power", "extract", "round"})
_DUSTED = frozenset({"mul", "div", "mod"})
_LEAST_BASE = Fraction(1, 10**16)
"""Below it a power may come out as 0."""


def as_read(interval: Interval | None, type_: SqlType) -> Interval | None:
    """Return where a column or a constant is as an engine reads it."""
    return _rounded(interval) if interval is not None and _is_double(type_) else interval


def reached(expr: Apply, given: Sequence[Interval | None]) -> Interval | None:
    """Return where the values of `expr` are, its arguments being where `given` says; None if that is not bounded.

    Raises:
        OverflowError, ValueError, ZeroDivisionError: they can't be computed there.
    """
    jumps, double = expr.op in _JUMPS, _is_double(expr.type)
    args = [_argument(i, expr, jumps=jumps, double=double) for i in given]
    found = TABLE[expr.op].interval(args, expr)
    if found is None or not double:
        return found
    if expr.op in _STEPS:
        found = _widened(found)
    if expr.op == "power" and args[0] is not None and _least(args[0]) < _LEAST_BASE:
        found = found.hull(Interval.of(0, 0))
    if expr.op == "mod" and args[1] is not None:
        most = args[1].magnitude
        found = Interval(found.low - most, found.high + most)
    return _rounded(found)


def _argument(interval: Interval | None, expr: Apply, *, jumps: bool, double: bool) -> Interval | None:
    if interval is None:
        return None
    if double and expr.args[0].type.is_number:
        interval = _rounded(interval)
    if not double and expr.op == "mul" and not interval.magnitude:
        return Interval.of(0, 1)  # DuckDB multiplies the constants of a product first: 0·a·b must fit as 1·a·b
    if double and expr.op in _DUSTED:
        interval = interval.hull(Interval(_dusted(interval.low), _dusted(interval.high)))
    return _widened(interval) if jumps else interval


def _is_double(type_: SqlType) -> bool:
    return type_.is_number and not type_.is_integer


def _rounded(interval: Interval) -> Interval:
    return Interval(Fraction(float(interval.low)), Fraction(float(interval.high)))


def _dusted(number: Fraction) -> Fraction:
    return Fraction(float(number) + float(TINY) - float(TINY))


def _widened(interval: Interval) -> Interval:
    return Interval(interval.low - abs(interval.low) * _SLACK, interval.high + abs(interval.high) * _SLACK)


def _least(interval: Interval) -> Fraction:
    return Fraction(0) if 0 in interval else min(abs(interval.low), abs(interval.high))
