"""Dates and timestamps (without time zone): truncation, fields, and moving by an interval."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.domains import Cell, Domains, too_many, too_many_units
from dpsql.rewrite.functions.function import FloatRange, Function, Inverse, cast_to, first_argument, unchanged
from dpsql.rewrite.functions.ranges import corners
from dpsql.rewrite.functions.written import field_digits
from dpsql.rewrite.ir.calendar import DAY, ERAS, UNITS, shift, step, to_datetime, truncate
from dpsql.rewrite.ir.expr import Apply, Expr, IntervalValue, TimeField, Unit, option
from dpsql.rewrite.ir.literal import simplest

_RANGES = {
    "month": (1, 12), "quarter": (1, 4), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "dow": (0, 6),
    "isodow": (1, 7), "doy": (1, 366), "week": (1, 53), "microseconds": (0, 59_999_999),
}  # fmt: skip
_SHARES: Mapping[str, tuple[int, str]] = {"second": (10**6, "microseconds"), "milliseconds": (1000, "microseconds")}
"""Fields that are a part of another: by what it is divided."""
FIELDS = frozenset({*_RANGES, *_SHARES, *ERAS, "year", "isoyear", "epoch", "julian"})
_FRACTIONAL = frozenset({"epoch", "second", "milliseconds", "julian"})
_JULIAN_ZERO = 2_440_588
"""The Julian day of 1970-01-01, as PostgreSQL counts them: from midnight."""


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


def _field(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    field, x = option(apply, TimeField).name, intervals[0]
    if field in _SHARES:
        size, whole = _SHARES[field]
        return Interval(Fraction(_RANGES[whole][0], size), Fraction(_RANGES[whole][1], size))
    if field in _RANGES:
        return _narrow_field(field, x)
    return None if x is None else _growing_field(field, x)


def _growing_field(field: str, x: Interval) -> Interval:
    """Return the interval of a field that never falls as time goes on."""
    if field == "epoch":
        return Interval(x.low / 10**6, x.high / 10**6)
    if field == "julian":
        return Interval(x.low / DAY + _JULIAN_ZERO, x.high / DAY + _JULIAN_ZERO)
    low, high = to_datetime(int(x.low)), to_datetime(int(x.high))
    if field == "isoyear":
        return Interval.of(low.isocalendar().year, high.isocalendar().year)
    if field == "year":
        return Interval.of(low.year, high.year)
    size = ERAS[field]
    first = 0 if field == "decade" else size - 1
    return Interval.of((low.year + first) // size, (high.year + first) // size)


def _narrow_field(field: str, x: Interval | None) -> Interval:
    """Return a field's range; smaller where the whole interval lies within one year, month, week's year or day."""
    full = Interval.of(*_RANGES[field])
    if x is None:
        return full
    low, high = to_datetime(int(x.low)), to_datetime(int(x.high))
    same_year, same_month = low.year == high.year, (low.year, low.month) == (high.year, high.month)
    match field:
        case "month" if same_year:
            return Interval.of(low.month, high.month)
        case "quarter" if same_year:
            return Interval.of((low.month + 2) // 3, (high.month + 2) // 3)
        case "doy" if same_year:
            return Interval.of(low.timetuple().tm_yday, high.timetuple().tm_yday)
        case "day" if same_month:
            return Interval.of(low.day, high.day)
        case "week" if low.isocalendar().year == high.isocalendar().year:
            return Interval.of(low.isocalendar().week, high.isocalendar().week)
        case "hour" if low.date() == high.date():
            return Interval.of(low.hour, high.hour)
        case _:
            return full


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


def _emit_field(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    # In double precision, as the type says: products of whole numbers could overflow.
    double, field = dialect.double_type, option(apply, TimeField).name
    if field in _SHARES:
        size, whole = _SHARES[field]
        return f"(CAST({dialect.field(whole, args[0])} AS {double}) / {size})"
    if field == "julian":
        return f"(CAST({dialect.field('epoch', args[0])} AS {double}) / 86400 + {_JULIAN_ZERO})"
    return f"CAST({dialect.field(field, args[0])} AS {double})"


def _emit_shift(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return dialect.shifted(args[0], option(apply, IntervalValue))


def _emit_shift_by(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return dialect.add_micros(args[0], args[1], interval_micros(option(apply, IntervalValue)))


def _moved_by(args: Sequence[str], _: Apply) -> str:
    return f"{args[0]} + interval …"


def _of_epoch(apply: Apply) -> Expr | None:
    """Return the time whose seconds since 1970 they are, which decide it."""
    return apply.args[0] if option(apply, TimeField).name == "epoch" else None


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
        domain=_units,
        describe=lambda args, apply: f"date_trunc('{option(apply, Unit).name}', {args[0]})",
        note=f"units {', '.join(UNITS)}",
    ),
    Function(
        "extract",
        "extract(field FROM t), date_part('field', t)",
        _emit_field,
        _field,
        whole=lambda apply, _: option(apply, TimeField).name not in _FRACTIONAL,
        inverse=Inverse(_of_epoch, lambda _, value: simplest(Fraction(value) / 10**6)),
        digits=field_digits,
        float_range=FloatRange(several=True),
        describe=lambda args, apply: f"extract({option(apply, TimeField).name} FROM {args[0]})",
        note=f"fields {', '.join(sorted(FIELDS))}",
    ),
    Function(
        "shift",
        "t + interval '…', t - interval '…'",
        _emit_shift,
        _shifted,
        domain=_moved_starts,
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
        describe=first_argument,
    ),
    Function(
        "timestamp_to_date",
        "t::date",
        cast_to(SqlType.DATE),
        lambda i, _: Interval(Fraction(i[0].low // DAY), Fraction(i[0].high // DAY)) if i[0] else None,
        inverse=Inverse(
            lambda apply: apply.args[0] if is_midnight(apply.args[0]) else None, lambda _, value: int(value) // DAY
        ),
        describe=first_argument,
    ),
    Function("date_add", "d + n", lambda args, _, dialect: dialect.add_days(*args), corners(lambda d, n: d + n)),
    Function("date_diff", "d - e", lambda args, _, dialect: dialect.days_between(*args), corners(lambda d, e: d - e)),
)
