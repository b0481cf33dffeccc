"""Arithmetic over numbers, dates, timestamps and intervals.

day + 1 - interval '1 month'  →  shift(date_to_timestamp(date_add(day, 1)), interval '-1 month')
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.functions.function import Call, Function, arithmetic_type
from dpsql.rewrite.functions.table import NUMBERS, integral, without_double
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.expr import AllWhole, Apply, Const, Expr, IntervalValue
from dpsql.rewrite.ir.literal import is_endless
from dpsql.rewrite.translate.public.constants import coerce
from dpsql.rewrite.translate.values.context import (
    Age,
    ElapsedTime,
    Handler,
    IntervalTimes,
    Operand,
    Translator,
    unknown_construct,
)

_OPERATORS = {f.call.operator: f for f in NUMBERS if f.call is not None and f.call.operator}
"""Operators by the parser's name of their class of nodes."""


def arithmetic(t: Translator, node: exp.Expr) -> Operand:
    """Translate `+ - * / %`, and what else the table has as an operator."""
    function = _OPERATORS[type(node).__name__]
    if function.call is not None and function.call.arity == 1:
        return apply_function(function, (t.expression(node.this),), node)
    a, b = t.operand(node.this), t.operand(node.expression)
    if isinstance(a, (ElapsedTime, Age)) or isinstance(b, (ElapsedTime, Age)):
        raise unknown_construct(node, because="interval-arithmetic")
    if any(isinstance(operand, Expr) and operand.type.is_span for operand in (a, b)):
        raise unknown_construct(node, because="interval-arithmetic")
    if isinstance(node, exp.Mul) and (isinstance(a, IntervalValue) or isinstance(b, IntervalValue)):
        return _times(a, b, node)
    if isinstance(a, (IntervalValue, IntervalTimes)) or isinstance(b, (IntervalValue, IntervalTimes)):
        return _with_time(t, a, b, node)
    if a.type.is_temporal or b.type.is_temporal:
        return _with_time(t, a, b, node)
    return apply_function(function, (_as_number(t, a, b), _as_number(t, b, a)), node)


def apply_function(function: Function, args: tuple[Expr, ...], node: exp.Expr) -> Expr:
    """Return a function of numbers with its arguments, typed as PostgreSQL types it.

    mod(seats, 2)  →  mod(seats, 2)::bigint        floor(seats)  →  seats        sqrt(seats)  →  sqrt(seats::double precision)
    """
    call = function.call or Call()
    if len(args) != call.arity or not all(arg.type.is_number for arg in args):
        raise unknown_construct(node, because="function-of-numbers")
    if call.whole and not all(arg.type.is_integer for arg in args):
        raise unknown_construct(node, because="function-of-whole-numbers")
    if call.keeps_whole and args[0].type.is_integer:
        return args[0]
    if call.double:
        return Apply(function.op, tuple(map(to_double, args)), SqlType.DOUBLE)
    type_ = args[0].type if len(args) == 1 else arithmetic_type(*(arg.type for arg in args))
    return Apply(function.op, args, type_, AllWhole() if call.marks_whole and all(map(integral, args)) else None)


def pow_(t: Translator, node: exp.Expr) -> Expr:
    """Translate `a ^ n`."""
    a, b = t.expression(node.this), t.expression(node.expression)
    return power(_as_number(t, a, b), _as_number(t, b, a), node)


def power(a: Expr, b: Expr, node: exp.Expr) -> Expr:
    """Return a to the power of a small whole number."""
    if not a.type.is_number:
        raise unknown_construct(node, because="function-of-numbers")
    if not (isinstance(b, Const) and isinstance(b.value, int) and 0 <= b.value <= 16):
        raise Unsupported(
            "power() takes a whole number from 0 to 16 here",
            because="power-small",
            hint="Write sqrt(x) for the power of a half, and exp(b * ln(x)) for any other.",
        )
    return Apply("power", (to_double(a), b), SqlType.DOUBLE)


def to_double(a: Expr) -> Expr:
    """Return a number in double precision."""
    return a if a.type.is_float else Apply("to_double", (a,), SqlType.DOUBLE)


def as_timestamp(expr: Expr) -> Expr:
    """Return a date as the timestamp of its midnight."""
    if expr.type is not SqlType.DATE:
        return expr
    if isinstance(expr, Const):
        # `ENDLESS` stands for infinity, and times the length of a day it would not.
        if expr.value is None or is_endless(expr.value):
            return Const(expr.value, SqlType.TIMESTAMP)
        return Const(int(expr.value) * DAY, SqlType.TIMESTAMP)
    return Apply("date_to_timestamp", (expr,), SqlType.TIMESTAMP)


def as_moment(t: Translator, expr: Expr) -> Expr:
    """Return a literal as the timestamp that it is where only a time can stand."""
    return coerce(expr, SqlType.TIMESTAMP, t.constants) if isinstance(expr, Const) else expr


def negate(t: Translator, node: exp.Expr) -> Expr:
    """Translate `-x`."""
    arg = t.expression(node.this)
    if not arg.type.is_number:
        raise unknown_construct(node, because="function-of-numbers")
    return Apply("neg", (arg,), arg.type)


def _as_number(t: Translator, expr: Expr, other: Expr) -> Expr:
    return coerce(expr, other.type, t.constants) if isinstance(expr, Const) else expr


def _times(a: Operand, b: Operand, node: exp.Expr) -> IntervalTimes:
    span, number = (a, b) if isinstance(a, IntervalValue) else (b, a)
    if isinstance(number, Expr):  # PostgreSQL multiplies by numbers of double precision
        number = without_double(number)
    if not isinstance(span, IntervalValue) or not isinstance(number, Expr) or not integral(number) or span.months:
        raise unknown_construct(node, because="interval-times-number")
    return IntervalTimes(number, span)


def _with_time(t: Translator, a: Operand, b: Operand, node: exp.Expr) -> Operand:
    """Return a time moved by an interval, or what lies between two times.

    t - interval '1 day' * n  →  shift_by(t, n, interval '-1 day')
    """
    if isinstance(node, exp.Add) and isinstance(a, (IntervalValue, IntervalTimes)):
        # interval + t is t + interval; interval - t is nothing at all.
        a, b = b, a
    if not isinstance(a, Expr) or not isinstance(node, (exp.Add, exp.Sub)):
        raise unknown_construct(node, because="time-plus-interval")
    sign = 1 if isinstance(node, exp.Add) else -1
    match b:
        case IntervalValue():
            return Apply("shift", (as_timestamp(a),), SqlType.TIMESTAMP, b if sign > 0 else b.times(-1))
        case IntervalTimes(number=number, span=span):
            return Apply("shift_by", (as_timestamp(a), number), SqlType.TIMESTAMP, span if sign > 0 else span.times(-1))
        case ElapsedTime() | Age():
            raise unknown_construct(node, because="interval-arithmetic")
        case _:
            return _with_date(t, a, b, node)


def _with_date(t: Translator, a: Expr, b: Expr, node: exp.Expr) -> Operand:
    # Between two dates PostgreSQL counts days; with a timestamp on either side the result is an interval.
    if a.type is SqlType.DATE and b.type is SqlType.DATE and isinstance(node, exp.Sub):
        return Apply("date_diff", (a, b), SqlType.INTEGER)
    if isinstance(node, exp.Sub) and SqlType.TIMESTAMP in (a.type, b.type):
        return _between(t, a, b, node)
    if a.type is SqlType.DATE and b.type.is_integer:
        return Apply("date_add", (a, b if isinstance(node, exp.Add) else Apply("neg", (b,), b.type)), SqlType.DATE)
    raise unknown_construct(node, because="time-plus-interval")


def _between(t: Translator, a: Expr, b: Expr, node: exp.Expr) -> ElapsedTime:
    """Return the interval between two times; a literal is a timestamp there."""
    times = tuple(as_timestamp(as_moment(t, e)) for e in (a, b))
    if any(time.type is not SqlType.TIMESTAMP for time in times):
        raise unknown_construct(node, because="time-minus-time")
    return ElapsedTime(*times)


ARITHMETIC_HANDLERS: Mapping[type[exp.Expr], Handler] = {
    **{getattr(exp, name): arithmetic for name in _OPERATORS}, exp.Pow: pow_, exp.Neg: negate,
}  # fmt: skip
