"""Roots, logarithms and powers: in double precision, NULL where they are not defined."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import Value
from dpsql.rewrite.functions.domains import Cell
from dpsql.rewrite.functions.function import (
    Call,
    EmitRule,
    FloatRange,
    Function,
    IntervalRule,
    Inverse,
    infix,
    template,
)
from dpsql.rewrite.functions.ranges import all_given, widened
from dpsql.rewrite.ir.expr import Apply, Expr
from dpsql.rewrite.ir.literal import simplest

_BASE = "1e-17"
"""The 16th power of anything that is not smaller does not underflow."""
_LEAST_BASE = Fraction(1, 10**16)
"""Below it a power may come out as 0."""


def _analytic(f: Callable[[float], float], domain: Callable[[Fraction], bool]) -> IntervalRule:
    """Enclose a monotone real function, a little widened for its rounding; unknown outside its domain."""

    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        given = all_given(intervals)
        if given is None or not domain(given[0].low):
            return None
        try:
            low, high = Fraction(f(float(given[0].low))), Fraction(f(float(given[0].high)))
        except (OverflowError, ValueError):
            return None
        return widened(Interval(low, high))

    return rule


def _power(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    given = all_given(intervals)
    if given is None or given[1].width != 0 or given[1].low.denominator != 1:
        return None
    base, n = given[0], int(given[1].low)
    if not 0 <= n <= 16:
        return None
    ends = [base.low**n, base.high**n] + ([Fraction(0)] if 0 in base and n > 0 else [])
    return Interval(min(ends), max(ends))


def _beside_power(interval: Interval, args: Sequence[Interval | None]) -> Interval:
    base = args[0]
    least = Fraction(0) if base is None or 0 in base else min(abs(base.low), abs(base.high))
    return interval.hull(Interval.of(0, 0)) if base is not None and least < _LEAST_BASE else interval


def _of_one(f: Callable[[float], float]) -> Inverse:
    """Return that a function which never is the same for two numbers is decided by its argument; NULL outside its domain."""

    def outer(_: Apply, value: Value) -> Cell:
        try:
            return simplest(Fraction(f(float(value))))
        except (OverflowError, ValueError):
            return None

    return Inverse(_whole_argument, outer, rounded=True)


def _whole_argument(apply: Apply) -> Expr | None:
    (arg,) = apply.args
    inner = arg.args[0] if isinstance(arg, Apply) and arg.op == "to_double" else arg
    return inner if inner.type.is_integer else None


def _guarded(condition: str, call: str) -> EmitRule:
    """Return NULL where the function is not defined, instead of an error."""
    return lambda args, _, __: f"(CASE WHEN {condition.format(*args)} THEN {call.format(*args)} END)"


ANALYTIC: tuple[Function, ...] = (
    Function(
        "sqrt",
        "sqrt(a)",
        _guarded("{0} >= 0", "sqrt({0})"),
        _analytic(math.sqrt, lambda low: low >= 0),
        makes_null=True,
        inverse=_of_one(math.sqrt),
        call=Call(("sqrt",), double=True),
        note="NULL where a is negative",
    ),
    Function(
        "ln",
        "ln(a)",
        _guarded("{0} > 0", "ln({0})"),
        _analytic(math.log, lambda low: low > 0),
        makes_null=True,
        inverse=_of_one(math.log),
        call=Call(("ln",), double=True),
        note="NULL where a is not positive",
    ),
    Function(
        "log10",
        "log(a), log10(a)",
        lambda args, _, dialect: f"(CASE WHEN {args[0]} > 0 THEN {dialect.log10(args[0])} END)",
        _analytic(math.log10, lambda low: low > 0),
        makes_null=True,
        inverse=_of_one(math.log10),
        call=Call(("log", "log10"), double=True),
        note="NULL where a is not positive",
    ),
    Function(
        "exp",
        "exp(a)",
        _guarded("{0} BETWEEN -300 AND 300", "exp({0})"),
        _analytic(math.exp, lambda low: low >= -300),
        makes_null=True,
        inverse=_of_one(math.exp),
        call=Call(("exp",), double=True),
        note="NULL outside [-300, 300]",
    ),
    Function(
        "power",
        "power(a, n), a ^ n",
        template(f"(CASE WHEN abs({{0}}) < {_BASE} AND {{1}} > 0 THEN 0 * {{0}} ELSE power({{0}}, {{1}}) END)"),
        _power,
        float_range=FloatRange(several=True, beside=_beside_power),
        describe=infix("^"),
        note="n a whole number from 0 to 16",
    ),
)
