"""Arithmetic. `numeric` is computed in double precision on every engine."""

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value, in_single_precision
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.function import (
    LARGEST,
    Call,
    Cell,
    EmitRule,
    EvaluateRule,
    FloatRange,
    Function,
    IntervalRule,
    Inverse,
    PresentRule,
    all_digits,
    cast_to,
    first_argument,
    infix,
    most_digits,
    no_digits,
    rounded_digits,
    template,
)
from dpsql.rewrite.functions.steps import of_all, of_digits, of_first, of_product, of_quotient
from dpsql.rewrite.ir.expr import AllWhole, Apply, Buckets, Const, Digits, Expr, option
from dpsql.rewrite.ir.literal import simplest

# Rules that intervals of many functions follow.

_SLACK = Fraction(1, 2**40)
"""More than several operations in double precision are off, relative to their result."""


def widen(interval: Interval) -> Interval:
    """Return the interval a little wider, by what rounding in double precision can be off."""
    return Interval(interval.low - abs(interval.low) * _SLACK, interval.high + abs(interval.high) * _SLACK)


def all_given(intervals: Sequence[Interval | None]) -> tuple[Interval, ...] | None:
    """Return the intervals if there is one for every argument."""
    present = tuple(i for i in intervals if i is not None)
    return present if len(present) == len(intervals) else None


def corners(combine: Callable[[Fraction, Fraction], Fraction]) -> IntervalRule:
    """Apply to two intervals a function that is monotone in each argument separately."""

    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        given = all_given(intervals)
        if given is None:
            return None
        a, b = given
        ends = [combine(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return Interval(min(ends), max(ends))

    return rule


def monotone(f: Callable[[Fraction], Fraction]) -> IntervalRule:
    """Apply to an interval a function that never falls."""

    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        given = all_given(intervals)
        return Interval(f(given[0].low), f(given[0].high)) if given else None

    return rule


def interval_of_first(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    """Keep the first argument's interval."""
    return intervals[0]


def hull(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    """Enclose all arguments: one of them is the result."""
    result = intervals[0]
    for other in intervals[1:]:
        result = result.hull(other) if result and other else None
    return result


# Exact results of arithmetic, before an engine rounds them: for group keys and for intervals.


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


def remainder(args: Sequence[Value | None], _: Apply) -> Value | None:
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


_LEAST_SINGLE, _LARGEST_SINGLE = Fraction(1, 10**37), Fraction(3 * 10**38)
_LEAST_EXACT = 2**52
"""From here on numbers in double precision have no digits after the point."""


def all_whole(apply: Apply, whole: Callable[[Expr], bool]) -> bool:
    """Return whether all arguments are whole numbers."""
    return apply.type.is_integer or all(map(whole, apply.args))


def whole_always(_: Apply, __: Callable[[Expr], bool]) -> bool:
    """Return that the values are whole numbers."""
    return True


def _additive(name: str, sign: str, operate: Callable[[Fraction, Fraction], Fraction], inverse: Inverse) -> Function:
    """Return a sum or a difference."""
    return Function(
        name,
        f"a {sign} b",
        template(f"({{0}} {sign} {{1}})"),
        corners(operate),
        inverse=inverse,
        step=of_all,
        whole=all_whole,
        computed=of_numbers(operate),
        digits=most_digits,
        in_64_bits=True,
        describe=infix(sign),
        call=Call(operator=name.capitalize(), arity=2),
    )


def _extreme(name: str, interval: PresentRule, choose: Callable[[Sequence[Fraction]], Fraction]) -> Function:
    """Return GREATEST or LEAST, which leave out arguments that are NULL."""
    return Function(
        name,
        f"{name}(a, …)",
        lambda a, _, __: f"{name}({', '.join(a)})",
        hull,
        interval_of_present=interval,
        null=all,
        step=of_all,
        computed=of_some(choose),
        whole=all_whole,
    )


def _divide(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    given = all_given(intervals)
    if given is None or 0 in given[1]:
        return None
    ends = [x / y for x in (given[0].low, given[0].high) for y in (given[1].low, given[1].high)]
    if apply.type.is_integer:
        ends = [Fraction(math.trunc(end)) for end in ends]
    return Interval(min(ends), max(ends))


def _modulo(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    given = all_given(intervals)
    if given is None:
        return None
    dividend, most = given[0], given[1].magnitude
    if apply.type.is_integer or isinstance(apply.option, AllWhole):
        # What is left of whole numbers is below the divisor: x % 7 is at most 6.
        most = max(most - 1, Fraction(0))
    low = Fraction(0) if dividend.low >= 0 else max(dividend.low, -most)
    high = Fraction(0) if dividend.high <= 0 else min(dividend.high, most)
    return Interval(low, high)


def _divides(intervals: Sequence[Interval | None], apply: Apply) -> bool:
    """Return whether a quotient has a value: its total form is NULL where the divisor is 0, or is flushed to it."""
    dividend, divisor = intervals
    if dividend is None or divisor is None or 0 in divisor:
        return False
    return apply.type.is_integer or min(abs(divisor.low), abs(divisor.high)) * LARGEST >= 10**20


def _leaves_a_rest(intervals: Sequence[Interval | None], apply: Apply) -> bool:
    """Return the same of `%`, whose total form is also NULL where the quotient has no digits after the point."""
    dividend, divisor = intervals
    if not _divides(intervals, apply) or dividend is None or divisor is None:
        return False
    least = min(abs(divisor.low), abs(divisor.high))
    return apply.type.is_integer or dividend.magnitude < least * _LEAST_EXACT


def _absolute(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    given = all_given(intervals)
    if given is None:
        return None
    (x,) = given
    low = Fraction(0) if 0 in x else min(abs(x.low), abs(x.high))
    return Interval(low, x.magnitude)


def _product(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    a, b = args
    return f"({a} * {b})" if apply.type.is_integer else dialect.product(a, b)


def _quotient(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    a, b = args
    # PostgreSQL fails where it divides by 0, and an error would tell that some row has a 0 there: NULLIF makes it NULL.
    if apply.type.is_integer:
        return dialect.integer_quotient(a, f"NULLIF({b}, 0)")
    return f"({dialect.flush_tiny(a)} / NULLIF({dialect.flush_tiny(b)}, 0))"


def _modulus(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    a, b = args
    if apply.type.is_integer:
        return f"({a} % NULLIF({b}, 0))"
    quotient = _quotient(args, apply, dialect)
    # Where |a| < |b| the quotient may be too small to be multiplied; past 2^52 it has no whole part to speak of.
    exact = f"abs({quotient}) < {_LEAST_EXACT}"
    rest = f"{a} - {dialect.trunc(quotient)} * {b}"
    return f"(CASE WHEN abs({a}) < abs({b}) THEN {a} WHEN {exact} THEN {rest} END)"


def _to_single(args: Sequence[str], _: Apply, dialect: Dialect) -> str:
    # PostgreSQL fails where a number is too small for single precision, and engines where it is too large.
    a = dialect.cast(args[0], SqlType.DOUBLE)
    single = dialect.cast(dialect.cast(a, SqlType.REAL), SqlType.DOUBLE)
    room = f"abs({a}) BETWEEN {dialect.double(_LEAST_SINGLE)} AND {dialect.double(_LARGEST_SINGLE)}"
    return f"(CASE WHEN {room} THEN {single} ELSE {a} END)"


def _single_interval(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    given = all_given(intervals)
    if given is None:
        return None
    if given[0].magnitude > _LARGEST_SINGLE:
        raise OverflowError
    return Interval(in_single_precision(given[0].low), in_single_precision(given[0].high))


def significant(x: Fraction, apply: Apply) -> Fraction:
    """Return a number as the decimal of so many digits that PostgreSQL makes of it: halves become even."""
    return Fraction(f"{float(x):.{option(apply, Digits).number - 1}e}")


def _decimal_interval(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    given = all_given(intervals)
    return Interval(significant(given[0].low, apply), significant(given[0].high, apply)) if given else None


def _decimal_value(args: Sequence[Value | None], apply: Apply) -> Value | None:
    (x,) = args
    return None if x is None else simplest(significant(Fraction(x), apply))


def _sign(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return f"CAST(sign({args[0]}) AS {'BIGINT' if apply.type.is_integer else dialect.double_type})"


def _beside_rest(interval: Interval, args: Sequence[Interval | None]) -> Interval:
    most = args[1].magnitude if args[1] is not None else Fraction(0)
    return Interval(interval.low - most, interval.high + most)


def _addend(apply: Apply) -> Expr | None:
    """Return x of x + 2 or 2 + x, which it decides; tools also add 0."""
    a, b = apply.args
    if isinstance(b, Const) and b.value is not None:
        return a
    return b if isinstance(a, Const) and a.value is not None else None


def _variable(apply: Apply) -> Expr | None:
    """Return x of x * 2 or 2 * x, which it decides."""
    a, b = apply.args
    # Times 0 all numbers become one, of which nothing can be read back.
    if isinstance(b, Const) and b.value:
        return a
    return b if isinstance(a, Const) and a.value else None


def _minuend(apply: Apply) -> Expr | None:
    """Return x of x - 2, which the difference decides; 2 - x is grouped by itself."""
    a, b = apply.args
    return a if isinstance(b, Const) and b.value is not None else None


def _constant(apply: Apply) -> Fraction:
    return Fraction(next(arg.value for arg in apply.args if isinstance(arg, Const)) or 0)


def _added(apply: Apply, value: Value) -> Value:
    return simplest(Fraction(value) + _constant(apply))


def _taken(apply: Apply, value: Value) -> Value:
    return simplest(Fraction(value) - _constant(apply))


def _times(apply: Apply, value: Value) -> Value:
    return simplest(Fraction(value) * _constant(apply))


ARITHMETIC: tuple[Function, ...] = (
    _additive("add", "+", operator.add, Inverse(_addend, _added)),
    _additive("sub", "-", operator.sub, Inverse(_minuend, _taken)),
    Function(
        "mul",
        "a * b",
        _product,
        corners(lambda a, b: a * b),
        inverse=Inverse(_variable, _times),
        step=of_product,
        whole=all_whole,
        computed=of_numbers(operator.mul),
        digits=all_digits,
        in_64_bits=True,
        float_range=FloatRange(flushes_tiny=True, folds_constants=True),
        describe=infix("*"),
        call=Call(operator="Mul", arity=2),
    ),
    Function(
        "div",
        "a / b",
        _quotient,
        _divide,
        makes_null=True,
        defined=_divides,
        step=of_quotient,
        computed=ratio,
        in_64_bits=True,
        float_range=FloatRange(flushes_tiny=True),
        describe=infix("/"),
        call=Call(operator="Div", arity=2),
        note="NULL where b is 0",
    ),
    Function(
        "mod",
        "a % b, mod(a, b)",
        _modulus,
        _modulo,
        step=of_all,
        computed=remainder,
        digits=most_digits,
        makes_null=True,
        whole=all_whole,
        by_multiples=True,
        defined=_leaves_a_rest,
        in_64_bits=True,
        float_range=FloatRange(flushes_tiny=True, beside=_beside_rest),
        describe=infix("%"),
        call=Call(("mod",), "Mod", arity=2, marks_whole=True),
        note="NULL where b is 0, or too small beside a",
    ),
    Function(
        "neg",
        "-a",
        template("(- {0})"),
        lambda i, _: Interval(-i[0].high, -i[0].low) if i[0] else None,
        inverse=Inverse(lambda apply: apply.args[0], lambda _, value: simplest(-Fraction(value)), of_whole=True),
        preimage=lambda value: Interval(-value.high, -value.low),
        step=of_first,
        whole=all_whole,
        computed=of_numbers(operator.neg),
        digits=most_digits,
        in_64_bits=True,
        describe=lambda args, _: f"-{args[0]}",
    ),
    Function(
        "abs",
        "abs(a)",
        template("abs({0})"),
        _absolute,
        preimage=lambda value: None if value.high < 0 else Interval(-value.high, value.high),
        step=of_first,
        computed=of_numbers(abs),
        digits=most_digits,
        whole=all_whole,
        in_64_bits=True,
        call=Call(("abs",)),
    ),
    Function(
        "sign",
        "sign(a)",
        _sign,
        monotone(sign_of),
        computed=of_numbers(sign_of),
        whole=whole_always,
        digits=no_digits,
        call=Call(("sign",)),
        settles=True,
    ),
    _extreme("greatest", greatest_of, max),
    _extreme("least", least_of, min),
    Function(
        "to_double",
        "a::double precision, a::numeric",
        cast_to(SqlType.DOUBLE),
        interval_of_first,
        inverse=Inverse(lambda apply: apply.args[0], lambda _, value: simplest(Fraction(value)), of_whole=True),
        step=of_first,
        computed=of_numbers(lambda x: x),
        digits=most_digits,
        describe=first_argument,
        settles=True,
    ),
    Function(
        "to_single",
        "a::real",
        _to_single,
        _single_interval,
        computed=of_numbers(in_single_precision),
        float_range=FloatRange(jumps=True),
        describe=first_argument,
    ),
    # Claim: no unit can move a sum further by it. It makes one number of one number, of the same row, and what is summed is
    # clamped to its interval after it. Rounding never falls, so that the ends of the argument's interval, rounded, hold it.
    Function(
        "to_decimal",
        "r::numeric",
        lambda args, apply, dialect: dialect.significant(args[0], option(apply, Digits).number),
        _decimal_interval,
        computed=_decimal_value,
        float_range=FloatRange(jumps=True),
        describe=first_argument,
        settles=True,
        note="of a `real`: the decimal of 6 digits",
    ),
)


# Rounding to whole numbers, to digits and into buckets.

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


def _rounded_in_double(args: Sequence[Value | None], apply: Apply) -> Value | None:
    """Return what engines round a decimal to in double precision, of which a little less than a half counts as one."""
    (x,), digits = args, _digits(apply)
    if x is None or apply.args[0].type is not SqlType.NUMERIC:
        return _rounded_value(args, apply)
    number, scale = float(Fraction(x)), float(10 ** abs(digits))
    scaled = number * scale if digits > 0 else number / scale
    half = 0.5 + min((abs(scaled) + 1) * float(_BESIDE), float(_MOST_BESIDE))
    whole = math.trunc(scaled + math.copysign(half, number))
    return simplest(Fraction(whole / scale if digits > 0 else whole * scale))


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
    number, rules = option(apply, Buckets).number, [_bucket_of]
    if apply.args[0].type is SqlType.NUMERIC:  # computed exactly, where it is known how many digits there are
        rules.append(_exact_bucket_of)
    ends = [rule(x_end, start, end, number) for x_end in (x.low, x.high) for rule in rules]
    return Interval(Fraction(min(ends)), Fraction(max(ends)))


def _bucket_of(x: Fraction, low: Fraction, high: Fraction, count: int) -> int:
    """Return the bucket that an engine computes, in double precision as `_bucket` has it."""
    number, start, end = float(x), float(low), float(high)
    if number < start:
        return 0
    if number >= end:
        return count + 1
    # As in the SQL of `_bucket`: the two have to agree on every number.
    if number <= float(low + (high - low) / (16 * count)):
        return 1
    return min(math.floor((number - start) * float(count / (high - low))), count - 1) + 1


def _exact_bucket_of(x: Fraction, low: Fraction, high: Fraction, count: int) -> int:
    """Return the bucket of a decimal."""
    return min(max(math.floor((x - low) * count / (high - low)) + 1, 0), count + 1)


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
    # 1.005 * 1e2 is 100.49999999999999 in double precision. A little more than a half makes 101 of it, and `_rounded` divides
    # by 1e2 again.
    half, scale = dialect.double(Fraction(1, 2)), dialect.double(Fraction(10 ** abs(digits)))
    scaled = f"{text} * {scale}" if digits > 0 else f"{dialect.flush_tiny(text)} / {scale}" if digits else text
    beside = f"least((abs({scaled}) + 1) * {dialect.double(_BESIDE)}, {dialect.double(_MOST_BESIDE)})"
    return dialect.trunc(f"{scaled} + sign({text}) * ({half} + {beside})")


def _to_integer(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    # 2.5::float8::int is 2 in PostgreSQL, the even one, and 2.5::numeric::int is 3.
    if apply.args[0].type.is_float:
        return dialect.nearest(args[0], SqlType.BIGINT, most=2**63)
    return f"CAST({_away(args[0], 0, dialect)} AS BIGINT)"


def _bucket(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    # width_bucket(x, 0, 100, 10)  →  (CASE WHEN x < 0 THEN 0 WHEN x >= 100 THEN 11 WHEN x <= 0.625 THEN 1 WHEN x IS NOT NULL
    # THEN least(CAST(floor((x - 0) * 0.1) AS BIGINT), 9) + 1 END). By 0.625, a sixteenth of the first bucket, x − 0 is never
    # so small that the product underflows.
    x, count = args[0], option(apply, Buckets).number
    low, high = (Fraction(end.value or 0) for end in apply.args[1:] if isinstance(end, Const))
    start, near, end = (dialect.double(e) for e in (low, low + (high - low) / (16 * count), high))
    step = dialect.double(count / (high - low))
    x = dialect.cast(x, SqlType.DOUBLE)
    place = f"({x} - {start}) * {step}"
    if apply.args[0].type is SqlType.NUMERIC:  # of whole numbers the product is one, and its quotient rounded once
        place = f"({x} - {start}) * {dialect.double(Fraction(count))} / {dialect.double(high - low)}"
    inside = f"least(CAST(floor({place}) AS BIGINT), {count - 1}) + 1"
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


def _to_whole(names: tuple[str, ...], rounded: Callable[[Fraction], int], emit: EmitRule, *forms: str) -> Function:
    """Return the function of these names that takes a number to a whole one near it; of its other `forms` it is a part."""
    return Function(
        names[0],
        ", ".join((*(f"{name}(a)" for name in names), *forms)),
        emit,
        monotone(lambda x: Fraction(rounded(x))),
        computed=of_numbers(rounded),
        whole=whole_always,
        digits=no_digits,
        settles=True,
        call=Call(names, keeps_whole=True),
    )


ROUNDING: tuple[Function, ...] = (
    _to_whole(("floor",), math.floor, lambda args, _, dialect: dialect.floor(*args)),
    _to_whole(("ceil", "ceiling"), math.ceil, lambda args, _, dialect: dialect.ceil(*args)),
    _to_whole(("trunc",), math.trunc, lambda args, _, dialect: dialect.trunc(*args), "trunc(a, n)"),
    Function(
        "round",
        "round(a), round(a, n)",
        _rounded,
        _rounding,
        inverse=Inverse(_scaled, _scaled_back),
        computed=_rounded_value,
        rounded_in_double=_rounded_in_double,
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
        rounded_in_double=_rounded_in_double,
        inverse=Inverse(lambda apply: apply.args[0], lambda _, value: simplest(Fraction(value)), of_whole=True),
        float_range=FloatRange(jumps=True),
        describe=first_argument,
    ),
    Function(
        "width_bucket",
        "width_bucket(a, low, high, n)",
        _bucket,
        _buckets,
        whole=whole_always,
        settles=True,
        by_multiples=True,
    ),
)


# Roots, logarithms and powers: in double precision, NULL where they are not defined.

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
        return widen(Interval(low, high))

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
