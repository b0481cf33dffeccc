"""Rounding to whole numbers, to digits and into buckets."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.arithmetic import whole_always
from dpsql.rewrite.functions.exact import of_numbers
from dpsql.rewrite.functions.function import LARGEST, Call, EmitRule, FloatRange, Function, Inverse, first_argument
from dpsql.rewrite.functions.ranges import all_given, monotone
from dpsql.rewrite.functions.steps import of_digits
from dpsql.rewrite.functions.written import no_digits, rounded_digits
from dpsql.rewrite.ir.expr import Apply, Buckets, Const, Digits, Expr, option
from dpsql.rewrite.ir.literal import simplest

_BESIDE, _MOST_BESIDE = Fraction(1, 2**50), Fraction(1, 100)
"""The parts, of one plus the number and at most, by which a number counts as a half though it is less."""


def _round_to(x: Fraction, apply: Apply) -> Fraction:
    """Round as the function does: to even in floating point, half away from zero as `numeric`."""
    if apply.args[0].type.is_float:
        return Fraction(round(x))
    scale = Fraction(10) ** _digits(apply)
    away = math.floor(abs(x) * scale + Fraction(1, 2))
    return (away if x >= 0 else -away) / scale


def _rounded_value(args: Sequence[Value | None], apply: Apply) -> Value | None:
    (x,) = args
    return None if x is None else simplest(_round_to(Fraction(x), apply))


def _digits(apply: Apply) -> int:
    return apply.option.number if isinstance(apply.option, Digits) else 0


def _rounding(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    given = all_given(intervals)
    return Interval(_round_to(given[0].low, apply), _round_to(given[0].high, apply)) if given else None


def _buckets(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    x, low, high = intervals
    if low is None or high is None or max(low.magnitude, high.magnitude, 1 / (high.low - low.low)) > LARGEST:
        raise OverflowError
    if x is None:
        return Interval(Fraction(0), Fraction(option(apply, Buckets).number + 1))
    start, end = (Fraction(arg.value or 0) for arg in apply.args[1:] if isinstance(arg, Const))
    ends = sorted(_bucket_of(x_end, start, end, option(apply, Buckets).number) for x_end in (x.low, x.high))
    return Interval(Fraction(ends[0]), Fraction(ends[1]))


def _bucket_of(x: Fraction, low: Fraction, high: Fraction, count: int) -> int:
    """Return the bucket that an engine computes, in double precision as `_bucket` has it."""
    number, start, end = float(x), float(low), float(high)
    if number < start:
        return 0
    if number >= end:
        return count + 1
    if number <= float(low + (high - low) / (16 * count)):
        return 1
    return min(math.floor((number - start) * float(count / (high - low))), count - 1) + 1


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
    """Return a number times 10^digits, rounded half away from zero.

    PostgreSQL rounds the decimal digits of a number, of which 2.675 has a half, and its double is a little less.
    """
    half, scale = dialect.double(Fraction(1, 2)), dialect.double(Fraction(10 ** abs(digits)))
    scaled = f"{text} * {scale}" if digits > 0 else f"{dialect.flush_tiny(text)} / {scale}" if digits else text
    beside = f"least((abs({scaled}) + 1) * {dialect.double(_BESIDE)}, {dialect.double(_MOST_BESIDE)})"
    return dialect.trunc(f"{scaled} + sign({text}) * ({half} + {beside})")


def _to_integer(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    if apply.args[0].type.is_float:
        return dialect.nearest(args[0], SqlType.BIGINT, most=2**63)
    return f"CAST({_away(args[0], 0, dialect)} AS BIGINT)"


def _bucket(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    x, count = args[0], option(apply, Buckets).number
    low, high = (Fraction(end.value or 0) for end in apply.args[1:] if isinstance(end, Const))
    start, near, end = (dialect.double(e) for e in (low, low + (high - low) / (16 * count), high))
    step = dialect.double(count / (high - low))
    x = dialect.cast(x, SqlType.DOUBLE)
    inside = f"least(CAST(floor(({x} - {start}) * {step}) AS BIGINT), {count - 1}) + 1"
    outside = f"WHEN {x} < {start} THEN 0 WHEN {x} >= {end} THEN {count + 1} WHEN {x} <= {near} THEN 1"
    return f"(CASE {outside} WHEN {x} IS NOT NULL THEN {inside} END)"


def _scaled(apply: Apply) -> Expr | None:
    """Return the whole number that decides ROUND(x, n): x times 10^n, rounded."""
    digits = _digits(apply)
    if not isinstance(apply.option, Digits):
        return None
    scale = Const(10 ** abs(digits), apply.type)
    scaled = Apply("mul" if digits > 0 else "div", (apply.args[0], scale), apply.type)
    return Apply("to_integer", (scaled,), SqlType.BIGINT)


def _scaled_back(apply: Apply, value: Value) -> Value:
    return simplest(Fraction(value) / Fraction(10) ** _digits(apply))


def _to_whole(names: tuple[str, ...], rounded: Callable[[Fraction], int], emit: EmitRule) -> Function:
    """Return the function of these names that takes a number to a whole one near it."""
    return Function(
        names[0],
        ", ".join(f"{name}(a)" for name in names),
        emit,
        monotone(lambda x: Fraction(rounded(x))),
        computed=of_numbers(rounded),
        whole=whole_always,
        digits=no_digits,
        call=Call(names, keeps_whole=True),
    )


ROUNDING: tuple[Function, ...] = (
    _to_whole(("floor",), math.floor, lambda args, _, dialect: dialect.floor(*args)),
    _to_whole(("ceil", "ceiling"), math.ceil, lambda args, _, dialect: dialect.ceil(*args)),
    _to_whole(("trunc",), math.trunc, lambda args, _, dialect: dialect.trunc(*args)),
    Function(
        "round",
        "round(a), round(a, n)",
        _rounded,
        _rounding,
        inverse=Inverse(_scaled, _scaled_back),
        computed=_rounded_value,
        whole=lambda apply, _: _digits(apply) <= 0,
        step=of_digits,
        digits=rounded_digits,
        float_range=FloatRange(jumps=True, several=True),
    ),
    Function(
        "to_integer",
        "a::integer, a::bigint",
        _to_integer,
        _rounding,
        computed=_rounded_value,
        inverse=Inverse(lambda apply: apply.args[0], lambda _, value: simplest(Fraction(value)), of_whole=True),
        float_range=FloatRange(jumps=True),
        describe=first_argument,
    ),
    Function("width_bucket", "width_bucket(a, low, high, n)", _bucket, _buckets, whole=whole_always),
)
