"""The time of the day of private times: a value of its own, whose number counts the microseconds since midnight.

picked::time >= '08:00'  →  micros(time_of_day(picked)) >= 28800000000
"""

from sqlglot import exp

from dpsql.errors import DpsqlError
from dpsql.policy.model import SqlType
from dpsql.rewrite.functions.day_times import moment_of
from dpsql.rewrite.functions.fields import FIELDS
from dpsql.rewrite.ir.expr import Apply, Const, Expr, TimeField
from dpsql.rewrite.translate.values.context import Translator, refused
from dpsql.rewrite.translate.values.zones import on_session_clock

TIME_TYPES = frozenset({"time", "time without time zone"})
_MICROS = 10**6


def time_of_day(t: Translator, node: exp.Cast) -> Expr:
    """Translate `t::time` of a timestamp, with a zone as the session's clock shows it."""
    arg = on_session_clock(t, t.expression(node.this), node)
    if arg.type is SqlType.TIME:
        return arg
    if arg.type is not SqlType.TIMESTAMP:
        raise refused(node, because="cast-to-time")
    return Apply("time_of_day", (arg,), SqlType.TIME)


def is_time(node: exp.Expr) -> bool:
    """Return whether a node is the time of the day of something in the rows."""
    node = node.unnest()
    named = isinstance(node, exp.Cast) and str(node.to.sql("postgres")).lower() in TIME_TYPES
    return named and node.find(exp.Column) is not None


def is_time_column(t: Translator, node: exp.Expr) -> bool:
    """Return whether a node is a column of times of the day."""
    node = node.unnest()
    if not isinstance(node, exp.Column):
        return False
    try:
        return t.names.find(node).type is SqlType.TIME
    except DpsqlError:
        return False


def since_midnight(t: Translator, node: exp.Expr) -> Expr:
    """Return a time of the day, or a constant that is one, in microseconds since midnight."""
    if is_time_column(t, node) or is_time(node):
        return Apply("micros", (t.expression(node),), SqlType.BIGINT)
    if node.find(exp.Column) is not None:
        raise refused(node, because="compared-with-time")
    time = exp.cast(exp.Paren(this=node.copy()), "time", dialect="postgres")
    seconds = t.constants.of(exp.Extract(this=exp.Var(this="epoch"), expression=time))
    if not isinstance(seconds, Const) or isinstance(seconds.value, str):
        raise refused(node, because="compared-with-time")
    return Const(None if seconds.value is None else int(seconds.value * _MICROS), SqlType.BIGINT)


def part_of_day(time: Expr, field: str) -> Expr | None:
    """Return EXTRACT(field FROM t::time), which is that of t but for the epoch; None of other times.

    PostgreSQL refuses the fields that a time of the day has not.
    """
    moment = moment_of(time)
    if moment is None or field == "epoch" or field not in FIELDS:
        return None
    return Apply("extract", (moment,), SqlType.NUMERIC, TimeField(field))
