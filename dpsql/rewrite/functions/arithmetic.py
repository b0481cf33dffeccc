"""Arithmetic. `numeric` is computed in double precision on every engine."""

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.exact import greatest_of, least_of, of_numbers, of_some, ratio, rest, sign_of
from dpsql.rewrite.functions.function import (
    LARGEST,
    Call,
    FloatRange,
    Function,
    Inverse,
    PresentRule,
    cast_to,
    first_argument,
    infix,
    template,
)
from dpsql.rewrite.functions.ranges import all_given, corners, hull, monotone, same
from dpsql.rewrite.functions.steps import of_all, of_first, of_product, of_quotient
from dpsql.rewrite.functions.written import all_digits, most_digits, no_digits
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Whole
from dpsql.rewrite.ir.literal import simplest

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
    if apply.type.is_integer or isinstance(apply.option, Whole):
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
        computed=rest,
        digits=most_digits,
        makes_null=True,
        whole=all_whole,
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
    ),
    _extreme("greatest", greatest_of, max),
    _extreme("least", least_of, min),
    Function(
        "to_double",
        "a::double precision, a::numeric",
        cast_to(SqlType.DOUBLE),
        same,
        inverse=Inverse(lambda apply: apply.args[0], lambda _, value: simplest(Fraction(value)), of_whole=True),
        step=of_first,
        computed=of_numbers(lambda x: x),
        digits=most_digits,
        describe=first_argument,
    ),
)
