"""Arithmetic over numbers, dates, timestamps and intervals."""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.functions.function import integral, wide
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Span
from dpsql.rewrite.syntax.identifiers import position
from dpsql.rewrite.translate.constants import coerce
from dpsql.rewrite.translate.context import DURATIONS, ELAPSED, SPAN_TIMES, Handler, Translator, refused

_OPS: Mapping[type[exp.Expr], str] = {
    exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div", exp.Mod: "mod", exp.Pow: "power",
}  # fmt: skip


def arithmetic(t: Translator, node: exp.Expr) -> Expr:
    """Translate `+ - * / % ^`."""
    op, a, b = _OPS[type(node)], t.operand(node.this), t.operand(node.expression)
    if any(isinstance(e, Apply) and e.op in DURATIONS for e in (a, b)):
        raise refused(node, because="interval-arithmetic")
    if op == "mul" and (isinstance(a, Span) or isinstance(b, Span)):
        return _times(a, b, node)
    if isinstance(a, Span) or isinstance(b, Span) or a.type.is_temporal or b.type.is_temporal or _is_times(b):
        return _with_time(t, op, a, b, node)
    a, b = _as_number(t, a, b), _as_number(t, b, a)
    if not (a.type.is_number and b.type.is_number):
        raise refused(node, because="arithmetic-of-numbers")
    return power(a, b, node) if op == "power" else Apply(op, (a, b), wide(a.type, b.type))


def power(a: Expr, b: Expr, node: exp.Expr) -> Expr:
    """Return a to the power of a small whole number."""
    if not (isinstance(b, Const) and isinstance(b.value, int) and 0 <= b.value <= 16):
        raise Unsupported(
            "power() takes a whole number from 0 to 16 here",
            because="power-small",
            hint="sqrt(x) is a half, and exp(b * ln(x)) any other.",
            position=position(node),
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
        return Const(None if expr.value is None else int(expr.value) * DAY, SqlType.TIMESTAMP)
    return Apply("date_to_timestamp", (expr,), SqlType.TIMESTAMP)


def as_moment(t: Translator, expr: Expr) -> Expr:
    """Return a literal as the timestamp that it is where only a time can stand."""
    return coerce(expr, SqlType.TIMESTAMP, t.constants) if isinstance(expr, Const) else expr


def negate(t: Translator, node: exp.Expr) -> Expr:
    """Translate `-x`."""
    arg = t.expression(node.this)
    if not arg.type.is_number:
        raise refused(node, because="arithmetic-of-numbers")
    return Apply("neg", (arg,), arg.type)


def _as_number(t: Translator, expr: Expr, other: Expr) -> Expr:
    return coerce(expr, other.type, t.constants) if isinstance(expr, Const) else expr


def _is_times(expr: Expr) -> bool:
    return isinstance(expr, Apply) and expr.op == SPAN_TIMES


def _times(a: Expr | Span, b: Expr | Span, node: exp.Expr) -> Expr:
    span, number = (a, b) if isinstance(a, Span) else (b, a)
    if not isinstance(span, Span) or isinstance(number, Span) or not integral(number) or span.months:
        raise refused(node, because="interval-times-number")
    return Apply(SPAN_TIMES, (number,), SqlType.BIGINT, span)


def _with_time(t: Translator, op: str, a: Expr | Span, b: Expr | Span, node: exp.Expr) -> Expr:
    if op == "add" and (isinstance(a, Span) or (isinstance(a, Apply) and _is_times(a))):
        a, b = b, a
    if isinstance(a, Span) or op not in {"add", "sub"}:
        raise refused(node, because="time-plus-interval")
    if isinstance(b, Span):
        return Apply("shift", (as_timestamp(a),), SqlType.TIMESTAMP, b if op == "add" else b.times(-1))
    if isinstance(b, Apply) and _is_times(b) and isinstance(b.option, Span):
        return Apply(
            "shift_by", (as_timestamp(a), b.args[0]), SqlType.TIMESTAMP, b.option if op == "add" else b.option.times(-1)
        )
    return _with_date(t, op, a, b, node)


def _with_date(t: Translator, op: str, a: Expr, b: Expr, node: exp.Expr) -> Expr:
    if a.type is SqlType.DATE and b.type is SqlType.DATE and op == "sub":
        return Apply("date_diff", (a, b), SqlType.INTEGER)
    if op == "sub" and SqlType.TIMESTAMP in (a.type, b.type):
        return _between(t, a, b, node)
    if a.type is SqlType.DATE and b.type.is_integer:
        return Apply("date_add", (a, b if op == "add" else Apply("neg", (b,), b.type)), SqlType.DATE)
    raise refused(node, because="time-plus-interval")


def _between(t: Translator, a: Expr, b: Expr, node: exp.Expr) -> Expr:
    """Return the interval between two times; a literal is a timestamp there."""
    times = tuple(as_timestamp(as_moment(t, e)) for e in (a, b))
    if any(time.type is not SqlType.TIMESTAMP for time in times):
        raise refused(node, because="time-minus-time")
    return Apply(ELAPSED, times, SqlType.BIGINT)


ARITHMETIC: Mapping[type[exp.Expr], Handler] = {**dict.fromkeys(_OPS, arithmetic), exp.Neg: negate}
