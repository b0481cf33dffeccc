"""Arithmetic and functions of numbers. `numeric` is computed in double precision on every engine."""

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.function import (
    LARGEST,
    EmitRule,
    Function,
    IntervalRule,
    cast_to,
    integral,
    template,
)
from dpsql.rewrite.ir.expr import Apply, Const

_BASE = "1e-17"
"""The 16th power of what is not smaller does not underflow."""
_SLACK = Fraction(1, 2**40)


def _known(intervals: Sequence[Interval | None]) -> tuple[Interval, ...] | None:
    known = tuple(i for i in intervals if i is not None)
    return known if len(known) == len(intervals) else None


def _corners(combine: Callable[[Fraction, Fraction], Fraction]) -> IntervalRule:
    """Apply to two intervals a function that is monotone in each argument separately."""

    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        known = _known(intervals)
        if known is None:
            return None
        a, b = known
        ends = [combine(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return Interval(min(ends), max(ends))

    return rule


def _monotone(f: Callable[[Fraction], Fraction]) -> IntervalRule:
    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        known = _known(intervals)
        return Interval(f(known[0].low), f(known[0].high)) if known else None

    return rule


def _analytic(f: Callable[[float], float], domain: Callable[[Fraction], bool]) -> IntervalRule:
    """Enclose a monotone real function, a little widened for its rounding; unknown outside its domain."""

    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        known = _known(intervals)
        if known is None or not domain(known[0].low):
            return None
        try:
            low, high = Fraction(f(float(known[0].low))), Fraction(f(float(known[0].high)))
        except (OverflowError, ValueError):
            return None
        return Interval(low - abs(low) * _SLACK, high + abs(high) * _SLACK)

    return rule


def _divide(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    known = _known(intervals)
    if known is None or 0 in known[1]:
        return None
    ends = [x / y for x in (known[0].low, known[0].high) for y in (known[1].low, known[1].high)]
    if apply.type.is_integer:
        ends = [Fraction(math.trunc(end)) for end in ends]
    return Interval(min(ends), max(ends))


def _modulo(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    known = _known(intervals)
    if known is None:
        return None
    dividend, most = known[0], known[1].magnitude
    if integral(apply.args[0]) and integral(apply.args[1]):
        most = max(most - 1, Fraction(0))
    low = Fraction(0) if dividend.low >= 0 else max(dividend.low, -most)
    high = Fraction(0) if dividend.high <= 0 else min(dividend.high, most)
    return Interval(low, high)


def _absolute(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    known = _known(intervals)
    if known is None:
        return None
    (x,) = known
    low = Fraction(0) if 0 in x else min(abs(x.low), abs(x.high))
    return Interval(low, x.magnitude)


def _power(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    known = _known(intervals)
    if known is None or known[1].width != 0 or known[1].low.denominator != 1:
        return None
    base, n = known[0], int(known[1].low)
    if not 0 <= n <= 16:
        return None
    ends = [base.low**n, base.high**n] + ([Fraction(0)] if 0 in base and n > 0 else [])
    return Interval(min(ends), max(ends))


def _round_to(x: Fraction, apply: Apply) -> Fraction:
    """Round as the function does: to even in floating point, half away from zero as `numeric`."""
    if apply.args[0].type.is_float:
        return Fraction(round(x))
    scale = Fraction(10) ** _digits(apply)
    away = math.floor(abs(x) * scale + Fraction(1, 2))
    return (away if x >= 0 else -away) / scale


def _digits(apply: Apply) -> int:
    return int(apply.option) if isinstance(apply.option, str) else 0


def _rounding(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    known = _known(intervals)
    return Interval(_round_to(known[0].low, apply), _round_to(known[0].high, apply)) if known else None


def _any_of(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    """Enclose GREATEST and LEAST, which skip NULLs: a nullable argument may leave any of the others."""
    known = _known(intervals)
    return functools.reduce(Interval.hull, known) if known else None


def _buckets(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    _, low, high = intervals
    if low is None or high is None or max(low.magnitude, high.magnitude, 1 / (high.low - low.low)) > LARGEST:
        raise OverflowError
    return Interval(Fraction(0), Fraction(_count(apply) + 1))


def _count(apply: Apply) -> int:
    return int(str(apply.option))


def _product(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    a, b = args
    return f"({a} * {b})" if apply.type.is_integer else dialect.product(a, b)


def _quotient(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    a, b = args
    if apply.type.is_integer:
        return dialect.integer_quotient(a, f"NULLIF({b}, 0)")
    return f"({dialect.flush_tiny(a)} / NULLIF({dialect.flush_tiny(b)}, 0))"


def _modulus(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    a, b = args
    if apply.type.is_integer:
        return f"({a} % NULLIF({b}, 0))"
    quotient = _quotient(args, apply, dialect)
    # Where |a| < |b| the quotient may be too small to be multiplied; past 2^52 it has no whole part to speak of.
    exact = f"abs({quotient}) < {2**52}"
    return f"(CASE WHEN abs({a}) < abs({b}) THEN {a} WHEN {exact} THEN {a} - trunc({quotient}) * {b} END)"


def _rounded(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    (a,) = args
    if apply.args[0].type.is_float:
        return dialect.round_to_even(a)
    digits = _digits(apply)
    if not digits:
        return _away(a, 0, dialect)
    back = f"/ 1e{digits}" if digits > 0 else f"* 1e{-digits}"
    return f"({_away(a, digits, dialect)} {back})"


def _away(text: str, digits: int, dialect: Dialect) -> str:
    """Return a number times 10^digits, rounded half away from zero."""
    half, scale = dialect.double(Fraction(1, 2)), dialect.double(Fraction(10 ** abs(digits)))
    scaled = f"{text} * {scale}" if digits > 0 else f"{dialect.flush_tiny(text)} / {scale}" if digits else text
    return f"trunc({scaled} + sign({text}) * {half})"


def _to_integer(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    # Both engines round to even when they cast.
    return f"CAST({args[0] if apply.args[0].type.is_float else _away(args[0], 0, dialect)} AS BIGINT)"


def _sign(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return f"CAST(sign({args[0]}) AS {'BIGINT' if apply.type.is_integer else dialect.double_type})"


def _bucket(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    x, count = args[0], _count(apply)
    low, high = (Fraction(end.value or 0) for end in apply.args[1:] if isinstance(end, Const))
    start, near, end = (dialect.double(e) for e in (low, low + (high - low) / (16 * count), high))
    step = dialect.double(count / (high - low))
    x = dialect.cast(x, SqlType.DOUBLE)
    inside = f"least(CAST(floor(({x} - {start}) * {step}) AS BIGINT), {count - 1}) + 1"
    outside = f"WHEN {x} < {start} THEN 0 WHEN {x} >= {end} THEN {count + 1} WHEN {x} <= {near} THEN 1"
    return f"(CASE {outside} WHEN {x} IS NOT NULL THEN {inside} END)"


def _guarded(condition: str, call: str) -> EmitRule:
    """Return NULL where the function is not defined, instead of an error."""
    return lambda args, _, __: f"(CASE WHEN {condition.format(*args)} THEN {call.format(*args)} END)"


NUMBERS: tuple[Function, ...] = (
    Function("add", "a + b", template("({0} + {1})"), _corners(lambda a, b: a + b)),
    Function("sub", "a - b", template("({0} - {1})"), _corners(lambda a, b: a - b)),
    Function("mul", "a * b", _product, _corners(lambda a, b: a * b)),
    Function("div", "a / b", _quotient, _divide, makes_null=True, note="NULL where b is 0"),
    Function(
        "mod", "a % b, mod(a, b)", _modulus, _modulo, makes_null=True, note="NULL where b is 0, or too small beside a"
    ),
    Function("neg", "-a", template("(- {0})"), lambda i, _: Interval(-i[0].high, -i[0].low) if i[0] else None),
    Function("abs", "abs(a)", template("abs({0})"), _absolute),
    Function("sign", "sign(a)", _sign, lambda _, __: Interval.of(-1, 1), note="−1, 0 or 1 are all group keys"),
    Function("floor", "floor(a)", template("floor({0})"), _monotone(lambda x: Fraction(math.floor(x)))),
    Function("ceil", "ceil(a), ceiling(a)", template("ceil({0})"), _monotone(lambda x: Fraction(math.ceil(x)))),
    Function("trunc", "trunc(a)", template("trunc({0})"), _monotone(lambda x: Fraction(math.trunc(x)))),
    Function("round", "round(a), round(a, n)", _rounded, _rounding),
    Function(
        "sqrt",
        "sqrt(a)",
        _guarded("{0} >= 0", "sqrt({0})"),
        _analytic(math.sqrt, lambda low: low >= 0),
        makes_null=True,
        note="NULL where a is negative",
    ),
    Function(
        "ln",
        "ln(a)",
        _guarded("{0} > 0", "ln({0})"),
        _analytic(math.log, lambda low: low > 0),
        makes_null=True,
        note="NULL where a is not positive",
    ),
    Function(
        "log10",
        "log(a), log10(a)",
        lambda args, _, dialect: f"(CASE WHEN {args[0]} > 0 THEN {dialect.log10(args[0])} END)",
        _analytic(math.log10, lambda low: low > 0),
        makes_null=True,
        note="NULL where a is not positive",
    ),
    Function(
        "exp",
        "exp(a)",
        _guarded("{0} BETWEEN -300 AND 300", "exp({0})"),
        _analytic(math.exp, lambda low: low >= -300),
        makes_null=True,
        note="NULL outside [-300, 300]",
    ),
    Function(
        "power",
        "power(a, n), a ^ n",
        template(f"(CASE WHEN abs({{0}}) < {_BASE} AND {{1}} > 0 THEN 0 * {{0}} ELSE power({{0}}, {{1}}) END)"),
        _power,
        note="n a whole number from 0 to 16",
    ),
    Function("greatest", "greatest(a, …)", lambda a, _, __: f"greatest({', '.join(a)})", _any_of),
    Function("least", "least(a, …)", lambda a, _, __: f"least({', '.join(a)})", _any_of),
    Function("width_bucket", "width_bucket(a, low, high, n)", _bucket, _buckets),
    Function("to_integer", "a::integer, a::bigint", _to_integer, _rounding),
    Function(
        "to_double",
        "a::double precision, a::numeric",
        cast_to(SqlType.DOUBLE),
        lambda i, _: i[0],
    ),
)
