"""Intervals that depend on rows: they exist only inside EXTRACT, or to be compared with a constant interval.

extract(hour FROM dropped - picked)      →  elapsed(dropped, picked) / 3600000000 % 24
dropped - picked > interval '1 hour'     →  elapsed(dropped, picked) > 3600000000
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.functions.temporal import AGE_FIELDS, LONGEST_BIN, interval_micros
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.expr import Apply, Bins, Const, Expr, IntervalValue, TimeField
from dpsql.rewrite.translate.values.arithmetic import as_moment, as_timestamp
from dpsql.rewrite.translate.values.context import (
    MICROS,
    Age,
    Duration,
    ElapsedTime,
    IntervalTimes,
    Operand,
    Translator,
    unknown_construct,
)
from dpsql.rewrite.translate.values.zones import instant, on_session_clock

_HOUR, _MINUTE, _SECOND = 3600 * 10**6, 60 * 10**6, 10**6
_PARTS: Mapping[str, tuple[int, int]] = {
    "day": (DAY, 0), "hour": (_HOUR, 24), "minute": (_MINUTE, 60), "second": (1, _MINUTE), "epoch": (1, 0),
}  # fmt: skip
"""Fields of the time between two others: the divisor in microseconds, and the part that is left off above."""


def age(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Age:
    """Translate AGE(a, b), and AGE(b), which is counted from today."""
    nodes = args if len(args) == 2 else [exp.CurrentDate(), *args]
    times = tuple(as_timestamp(as_moment(t, on_session_clock(t, t.expression(arg), node))) for arg in nodes)
    if len(times) != 2 or any(time.type is not SqlType.TIMESTAMP for time in times):
        raise unknown_construct(node, because="age-of-times")
    return Age(*times)


def part(duration: Duration, field: str) -> Expr:
    """Return EXTRACT(field FROM duration)."""
    if isinstance(duration, Age):
        return _part_of_age(duration, field)
    if field not in _PARTS:
        raise Unsupported(
            f"extract takes one of {', '.join(_PARTS)} of the time between two others",
            because="field-of-elapsed",
            hint="Of years and months it is extract(year FROM age(t, u)).",
        )
    return _part_of_number(micros_of(duration), field)


def _part_of_number(number: Expr, field: str) -> Expr:
    size, above = _PARTS[field]
    # The hour of 25 hours: 90,000,000,000 µs / 3,600,000,000 = 25, % 24 = 1. Both are cut off towards 0, as PostgreSQL does
    # it: the hour of −25 hours is −1.
    if size > 1:
        number = Apply("div", (number, Const(size, SqlType.BIGINT)), SqlType.BIGINT)
    if above:
        number = Apply("mod", (number, Const(above, SqlType.BIGINT)), SqlType.BIGINT)
    number = Apply("to_double", (number,), SqlType.NUMERIC)
    if size > 1:
        return number
    return Apply("div", (number, Const(_SECOND, SqlType.NUMERIC)), SqlType.NUMERIC)


def _part_of_age(duration: Age, field: str) -> Expr:
    times = (duration.later, duration.earlier)
    if field == "second":
        micros = Apply("age", times, SqlType.NUMERIC, TimeField("microseconds"))
        return Apply("div", (micros, Const(_SECOND, SqlType.NUMERIC)), SqlType.NUMERIC)
    if field not in AGE_FIELDS:
        raise Unsupported(
            "extract takes year, month, day, hour, minute or second of an age",
            because="field-of-age",
            hint="extract(epoch FROM t - u) is the time between two others in seconds.",
        )
    return Apply("age", times, SqlType.NUMERIC, TimeField(field))


def micros_of(duration: ElapsedTime | IntervalTimes) -> Expr:
    """Return how long an interval without months is, in microseconds."""
    if isinstance(duration, ElapsedTime):
        return duration.micros
    size = Const(interval_micros(duration.span), SqlType.BIGINT)
    number = (
        duration.number if duration.number.type.is_integer else Apply("to_integer", (duration.number,), SqlType.BIGINT)
    )
    return Apply("mul", (number, size), SqlType.BIGINT)


def is_interval(value: Operand) -> bool:
    """Return whether a value of the rows is an interval."""
    return isinstance(value, Expr) and value.type is SqlType.INTERVAL


def in_micros(expr: Expr) -> Expr:
    """Return a time of the day, or an interval, as a whole number."""
    return Apply(MICROS, (expr,), SqlType.BIGINT) if expr.type.is_span else expr


def span_of(micros: Expr) -> SqlType | None:
    """Return the type of what a whole number was made of by `in_micros`, and nothing else makes one of spans."""
    if not isinstance(micros, Apply) or micros.type is not SqlType.BIGINT:
        return None
    return next((arg.type for arg in micros.args if arg.type.is_span), None)


def in_span(micros: Expr, type_: SqlType = SqlType.INTERVAL) -> Expr:
    """Return a whole number of microseconds as an interval, or as a time of the day."""
    return Apply(MICROS, (micros,), type_)


def part_of_span(expr: Expr, field: str) -> Expr:
    """Return EXTRACT(field FROM x) of a time of the day, or of an interval: of one that is stored, its epoch."""
    parts = {"epoch"} if expr.type is SqlType.INTERVAL and not _is_elapsed(expr) else _PARTS.keys()
    parts -= {"day"} if expr.type is SqlType.TIME else set()
    if field not in parts:
        raise Unsupported(
            f"extract takes one of {', '.join(sorted(parts))} of {'a time' if expr.type is SqlType.TIME else 'an interval'}",
            because="field-of-span",
            hint="Its days are extract(epoch FROM x) / 86400; a part of it depends on how it was written, 1 day or 24 hours."
            if expr.type is SqlType.INTERVAL
            else None,
        )
    return _part_of_number(in_micros(expr), field)


def _is_elapsed(expr: Expr) -> bool:
    """Return whether an interval is the time between two others, which PostgreSQL divides into days and hours."""
    match expr:
        case Apply(args=(Apply(args=(later, earlier)),)):
            return expr == ElapsedTime(later, earlier).span
        case _:
            return False


def lengths(a: Operand, b: Operand, node: exp.Expr) -> tuple[Expr, Expr]:
    """Return two intervals as numbers that compare as they do; PostgreSQL takes a month for 30 days.

    Raises:
        Unsupported: one is an age, whose months have no length.
    """
    return _length(a, node), _length(b, node)


def _length(value: Operand, node: exp.Expr) -> Expr:
    if isinstance(value, IntervalValue):
        return Const((value.months * 30 + value.days) * DAY + value.micros, SqlType.BIGINT)
    if isinstance(value, (ElapsedTime, IntervalTimes)):
        return micros_of(value)
    if isinstance(value, Expr) and is_interval(value):
        return in_micros(value)
    if isinstance(value, Age):
        raise Unsupported(
            "an age can't be compared over private rows",
            because="age-compared",
            hint="Write extract(year FROM age(…)) >= 18.",
        )
    raise unknown_construct(node, because="interval-compared")


def date_bin(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    """Translate DATE_BIN with a constant stride and origin."""
    if len(args) != 3:
        raise unknown_construct(node, because="date-bin-arguments")
    stride = t.operand(exp.Cast(this=args[0].copy(), to=exp.DataType.build("interval", dialect="postgres")))
    x, origin = (as_timestamp(as_moment(t, t.expression(arg))) for arg in args[1:])
    # Bins are so many microseconds from their origin, by no clock: with a zone on one side, both are taken as moments.
    if SqlType.TIMESTAMPTZ in (x.type, origin.type):
        x, origin = instant(t, x, node), instant(t, origin, node)
    if not x.type.is_moment or not isinstance(origin, Const) or not isinstance(origin.value, int):
        raise unknown_construct(node, because="date-bin-arguments")
    if not isinstance(stride, IntervalValue) or stride.months or not 0 < interval_micros(stride) <= LONGEST_BIN:
        raise Unsupported(
            "date_bin takes a constant stride of at most 366 days here",
            because="date-bin-arguments",
        )
    return Apply("date_bin", (x,), x.type, Bins(interval_micros(stride), origin.value))
