"""Dates and timestamps (without time zone): truncation, and moving by an interval."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.domains import Cell, Domains, too_many, too_many_units
from dpsql.rewrite.functions.fields import EXTRACT, day_or
from dpsql.rewrite.functions.function import Function, Inverse, cast_to, first_argument, unchanged
from dpsql.rewrite.functions.ranges import corners
from dpsql.rewrite.functions.steps import of_moved, of_unit
from dpsql.rewrite.ir.calendar import DAY, UNITS, shift, step, truncate
from dpsql.rewrite.ir.expr import Apply, Expr, IntervalValue, Unit, option


def _ends(f: Callable[[int], int]) -> Callable[[Sequence[Interval | None], Apply], Interval | None]:
    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        x = intervals[0]
        try:
            return Interval(Fraction(f(int(x.low))), Fraction(f(int(x.high)))) if x else None
        except (OverflowError, ValueError):
            return None

    return rule


def _truncated(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    return _ends(lambda micros: truncate(option(apply, Unit).name, micros))(intervals, apply)


def _shifted(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    span = option(apply, IntervalValue)
    return _ends(lambda micros: shift(micros, span))(intervals, apply)


def _shifted_by(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    x, n = intervals
    if x is None or n is None:
        return None
    size = interval_micros(option(apply, IntervalValue))
    ends = [n.low * size, n.high * size]
    return Interval(x.low + min(ends), x.high + max(ends))


def interval_micros(span: IntervalValue) -> int:
    """Return the length of a span without months."""
    assert not span.months
    return span.days * DAY + span.micros


def _emit_trunc(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return dialect.truncated(option(apply, Unit).name, args[0])


def _emit_shift(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return dialect.shifted(args[0], option(apply, IntervalValue))


def _emit_shift_by(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return dialect.add_micros(args[0], args[1], interval_micros(option(apply, IntervalValue)))


def _moved_by(args: Sequence[str], _: Apply) -> str:
    return f"{args[0]} + interval …"


def is_midnight(expr: Expr) -> bool:
    """Return whether a timestamp is always the beginning of a day, so that the day says all of it."""
    match expr:
        case Apply(op="date_to_timestamp"):
            return True
        case Apply(op="date_trunc", option=Unit(name=unit)):
            return unit in UNITS[UNITS.index("day") :]
        case Apply(op="shift", option=IntervalValue(micros=micros)):
            return micros % DAY == 0 and is_midnight(expr.args[0])
        case _:
            return False


def _units(apply: Apply, domains: Domains) -> Sequence[Cell] | None:
    """Return every beginning of a unit of time in the interval, step by step."""
    unit, interval = option(apply, Unit).name, domains.interval(apply.args[0])
    if interval is None:
        return None
    values, at, last = [], truncate(unit, int(interval.low)), math.floor(interval.high)
    while at <= last:
        values.append(at)
        if len(values) > domains.limit:
            raise too_many_units(unit, domains.limit)
        try:
            at = step(unit, at)
        except (OverflowError, ValueError):
            break  # the calendar ends there
    return values


def _moved_starts(apply: Apply, domains: Domains) -> Sequence[Cell] | None:
    """Return every start moved, where they are the beginnings of units of time."""
    if not isinstance(apply.args[0], Apply):
        return None
    span = option(apply, IntervalValue)
    return sorted({shift(int(value), span) for value in domains.of(apply.args[0]) if value is not None})


def _moved(apply: Apply, domains: Domains) -> Sequence[Cell]:
    """Return every start moved by every number of steps."""
    starts, steps = (domains.of(arg) for arg in apply.args)
    size = interval_micros(option(apply, IntervalValue))
    if len(starts) * len(steps) > domains.limit:
        raise too_many(len(starts) * len(steps), domains.limit)
    pairs = itertools.product((s for s in starts if s is not None), (n for n in steps if n is not None))
    return sorted({int(s) + int(n) * size for s, n in pairs})


TIMES: tuple[Function, ...] = (
    Function(
        "date_trunc",
        "date_trunc('unit', t)",
        _emit_trunc,
        _truncated,
        evaluate=lambda args, apply: args[0] and truncate(option(apply, Unit).name, int(args[0])),
        domain=_units,
        step=of_unit,
        granule=lambda apply: day_or(option(apply, Unit).name),
        describe=lambda args, apply: f"date_trunc('{option(apply, Unit).name}', {args[0]})",
        note=f"units {', '.join(UNITS)}",
    ),
    EXTRACT,
    Function(
        "shift",
        "t + interval '…', t - interval '…'",
        _emit_shift,
        _shifted,
        domain=_moved_starts,
        step=of_moved,
        inverse=Inverse(
            lambda apply: apply.args[0], lambda apply, value: shift(int(value), option(apply, IntervalValue))
        ),
        describe=_moved_by,
    ),
    Function(
        "shift_by",
        "t + interval '…' * n",
        _emit_shift_by,
        _shifted_by,
        domain=_moved,
        step=of_moved,
        describe=_moved_by,
        note="n a whole number; no months",
    ),
    unchanged("in_utc", "t AT TIME ZONE 'UTC'", note="other constant zones need bounds of at most 24 years"),
    unchanged(
        "micros",
        "a time of the day, an interval",
        note="compared, counted, summed, averaged; an interval with months is NULL",
    ),
    Function(
        "date_to_timestamp",
        "d::timestamp",
        cast_to(SqlType.TIMESTAMP),
        lambda i, _: Interval(i[0].low * DAY, i[0].high * DAY) if i[0] else None,
        evaluate=lambda args, _: args[0] and int(args[0]) * DAY,
        step=lambda _, __: Fraction(DAY),
        describe=first_argument,
    ),
    Function(
        "timestamp_to_date",
        "t::date",
        cast_to(SqlType.DATE),
        lambda i, _: Interval(Fraction(i[0].low // DAY), Fraction(i[0].high // DAY)) if i[0] else None,
        evaluate=lambda args, _: args[0] and int(args[0]) // DAY,
        granule=lambda _: "day",
        inverse=Inverse(
            lambda apply: apply.args[0] if is_midnight(apply.args[0]) else None, lambda _, value: int(value) // DAY
        ),
        describe=first_argument,
    ),
    Function("date_add", "d + n", lambda args, _, dialect: dialect.add_days(*args), corners(lambda d, n: d + n)),
    Function("date_diff", "d - e", lambda args, _, dialect: dialect.days_between(*args), corners(lambda d, e: d - e)),
)
