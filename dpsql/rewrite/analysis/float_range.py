"""Where an engine's numbers can be, which it computes in double precision: a little beside where exact ones would be.

A value that is exactly 0 may come out as 1e-17 and, multiplied often enough, overflow: for one row, which would tell
of it. A single operation rounds to the nearest number and so keeps the order of its arguments: the ends of an
interval, rounded in the same way, hold all its values. Where there are several operations, or a jump, some slack is
added.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.forms import TINY
from dpsql.rewrite.functions.function import FloatRange
from dpsql.rewrite.functions.ranges import widened
from dpsql.rewrite.functions.table import function_of
from dpsql.rewrite.ir.expr import Apply


def as_read(interval: Interval | None, type_: SqlType) -> Interval | None:
    """Return where a column or a constant is as an engine reads it."""
    return rounded(interval) if interval is not None and _is_double(type_) else interval


def computed_range(expr: Apply, given: Sequence[Interval | None], nullable: Sequence[bool]) -> Interval | None:
    """Return where the values of `expr` are, its arguments being where `given` says; None if that is not bounded.

    An argument that can be `nullable` may be left out by a function that chooses among its arguments.

    Raises:
        OverflowError, ValueError, ZeroDivisionError: they can't be computed there.
    """
    function, double = function_of(expr), _is_double(expr.type)
    args = [_argument(i, expr, function.float_range, double=double) for i in given]
    chosen = function.interval_of_present
    interval = function.interval(args, expr) if chosen is None else chosen(args, nullable)
    if interval is None or not double:
        return interval
    if function.float_range.several:
        interval = widened(interval)
    if function.float_range.beside is not None:
        interval = function.float_range.beside(interval, args)
    return rounded(interval)


def _argument(interval: Interval | None, expr: Apply, rule: FloatRange, *, double: bool) -> Interval | None:
    if interval is None:
        return None
    if double and expr.args[0].type.is_number:
        interval = rounded(interval)
    if not double and rule.folds_constants and not interval.magnitude:
        return Interval.of(0, 1)
    if double and rule.flushes_tiny:
        interval = interval.hull(Interval(_flushed(interval.low), _flushed(interval.high)))
    return widened(interval) if rule.jumps else interval


def _is_double(type_: SqlType) -> bool:
    return type_.is_number and not type_.is_integer


@lru_cache(maxsize=1024)  # the same few bounds are read again and again
def rounded(interval: Interval) -> Interval:
    """Return an interval with its ends as they are in double precision."""
    return Interval(Fraction(float(interval.low)), Fraction(float(interval.high)))


def _flushed(number: Fraction) -> Fraction:
    return Fraction(float(number) + float(TINY) - float(TINY))
