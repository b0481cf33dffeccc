"""Dates and timestamps (without time zone): truncation, and moving by an interval."""

import datetime as dt
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.arithmetic import corners, whole_always
from dpsql.rewrite.functions.function import (
    Cell,
    Domains,
    FloatRange,
    Function,
    Inverse,
    cast_to,
    field_digits,
    first_argument,
    too_many,
    too_many_units,
    type_change,
)
from dpsql.rewrite.functions.steps import of_all, of_bins, of_field, of_moved, of_time, of_unit
from dpsql.rewrite.ir.calendar import DAY, ERAS, MOMENTS, SIZES, UNITS, shift, step, to_datetime, truncate
from dpsql.rewrite.ir.expr import Apply, Bins, Const, Expr, IntervalValue, Ref, TimeField, Unit, option, walk
from dpsql.rewrite.ir.literal import simplest

# The fields of a time: EXTRACT, and within which units each is the same.

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
    # Decades are counted from the year 0 on, 2019 // 10; centuries from the year 1: 2000 is of the 20th, (2000 + 99) // 100.
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


def day_or(unit: str) -> str:
    """Return the day of what is made of whole days: weeks and months have no common units but them."""
    return unit if unit in UNITS[: UNITS.index("day")] else "day"


def _granule(apply: Apply) -> str | None:
    """Return the unit of time that a field is a number of."""
    field = option(apply, TimeField).name
    if field in {"microseconds", "epoch", "julian", *_SHARES}:
        return None
    return day_or(field)


def _value_of_field(args: Sequence[Value | None], apply: Apply) -> Value | None:
    """Return a field of a time; `simplest` of those with digits after the point."""
    (moment,) = args
    if moment is None or isinstance(moment, str):
        return None
    field, at = option(apply, TimeField).name, to_datetime(int(moment))
    _, week, day = at.isocalendar()
    microseconds = at.second * 10**6 + at.microsecond
    match field:
        case "week":
            return week
        case "dow" | "isodow":
            return day % 7 if field == "dow" else day
        case "doy":
            return at.timetuple().tm_yday
        case "quarter":
            return (at.month + 2) // 3
        case "month" | "day" | "hour" | "minute":
            return int(getattr(at, field))
        case "microseconds" | "second" | "milliseconds":
            return simplest(Fraction(microseconds, _SHARES.get(field, (1, ""))[0]))
        case _:  # those that never fall
            point = Fraction(int(moment))
            return simplest(_growing_field(field, Interval(point, point)).low)


def _emit_field(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    # In double precision, as the type says: products of whole numbers could overflow.
    double, field = dialect.double_type, option(apply, TimeField).name
    if field in _SHARES:
        size, whole = _SHARES[field]
        return f"(CAST({dialect.field(whole, args[0])} AS {double}) / {size})"
    if field == "julian":
        return f"(CAST({dialect.field('epoch', args[0])} AS {double}) / 86400 + {_JULIAN_ZERO})"
    return f"CAST({dialect.field(field, args[0])} AS {double})"


def _of_epoch(apply: Apply) -> Expr | None:
    """Return the time whose seconds since 1970 they are, which decide it."""
    return apply.args[0] if option(apply, TimeField).name == "epoch" else None


EXTRACT = Function(
    "extract",
    "extract(field FROM t), date_part('field', t)",
    _emit_field,
    _field,
    evaluate=_value_of_field,
    granule=_granule,
    whole=lambda apply, _: option(apply, TimeField).name not in _FRACTIONAL,
    inverse=Inverse(_of_epoch, lambda _, value: simplest(Fraction(value) / 10**6)),
    digits=field_digits,
    step=of_field,
    float_range=FloatRange(several=True),
    describe=lambda args, apply: f"extract({option(apply, TimeField).name} FROM {args[0]})",
    note=f"fields {', '.join(sorted(FIELDS))}",
)


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


def before_relabel(expr: Expr) -> Expr | None:
    """Return the time that was taken for one of the other type, with or without a zone; None of any other expression."""
    return expr.args[0] if isinstance(expr, Apply) and expr.op == "in_utc" else None


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


def _midnights(apply: Apply, domains: Domains) -> Sequence[Cell]:
    """Return the beginning of every day; of the day of what is itself the beginning of one, that."""
    (day,) = apply.args
    if isinstance(day, Apply) and day.op == "timestamp_to_date" and is_midnight(day.args[0]):
        return domains.of(day.args[0])
    return [int(value) * DAY for value in domains.of(day) if value is not None]


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
    type_change(
        "in_utc",
        "t AT TIME ZONE 'UTC'",
        note="other zones need bounds of at most 24 years; those of a column are its declared values",
    ),
    type_change(
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
        domain=_midnights,
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


# The time of the day of a moment: how many microseconds have gone since midnight.
#
# picked::time                      →  between 0 and 86399999999
# date_trunc('hour', picked)::time  →  one of 24


def moment_of(time: Expr) -> Expr | None:
    """Return the moment whose time of the day an expression is; None of other times."""
    return time.args[0] if isinstance(time, Apply) and time.op == "time_of_day" else None


def _emit(args: Sequence[str], _: Apply, dialect: Dialect) -> str:
    return dialect.elapsed_micros(args[0], dialect.truncated("day", args[0]))


def _within_day(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    """Return between which times of the day an interval is: those of its ends only if it is within one day."""
    x = intervals[0]
    if x is None:
        return None
    if x.low // DAY == x.high // DAY:
        return Interval(Fraction(x.low % DAY), Fraction(x.high % DAY))
    return Interval.of(0, DAY - 1)


def _times(apply: Apply, domains: Domains) -> Sequence[Cell] | None:
    """Return the times of the day of all moments, if those are few; of beginnings of hours, say, those in a day."""
    (moment,) = apply.args
    while isinstance(moment, Apply) and moment.op == "in_utc":
        (moment,) = moment.args
    interval = domains.interval(moment)
    if interval is None or not isinstance(moment, Apply):
        return None
    size = SIZES.get(option(moment, Unit).name) if moment.op == "date_trunc" else None
    if size is None or interval.width < DAY:
        return sorted({int(value) % DAY for value in domains.of(moment) if value is not None})
    if DAY // size > domains.limit:
        raise too_many(DAY // size, domains.limit)
    return range(0, DAY, size)


DAY_TIMES: tuple[Function, ...] = (
    Function(
        "time_of_day",
        "t::time",
        _emit,
        _within_day,
        domain=_times,
        step=of_time,
        describe=lambda args, _: f"{args[0]}::time",
    ),
)


# The time between two times: exactly, in microseconds, and as AGE counts it, in years, months and days; and bins.

_SECONDS = 60_000_000
_MOST = {"month": 11, "day": 30, "hour": 23, "minute": 59, "microseconds": _SECONDS - 1}
LONGEST_BIN = 366 * DAY
AGE_FIELDS = frozenset({*_MOST, "year"})


def whole_months(a: int, b: int) -> int:
    """Return the whole months of AGE(a, b), both in microseconds; it never falls as a grows or b falls."""
    if a < b:
        return -whole_months(b, a)
    later, earlier = to_datetime(a), to_datetime(b)
    months = (later.year - earlier.year) * 12 + later.month - earlier.month
    # From 31 January to 1 March there are two months by name, and one that is whole, since the 1st comes before the 31st.
    return months - (_in_month(later) < _in_month(earlier))


def _in_month(moment: dt.datetime) -> tuple[int, dt.time]:
    return moment.day, moment.time()


def bin_start(micros: int, bins: Bins) -> int:
    """Return where the bin begins that holds a time."""
    return (micros - bins.origin) // bins.size * bins.size + bins.origin


def _elapsed(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    a, b = intervals
    moment, start = apply.args
    # t - date_trunc('day', t) is within a day. By the ends of t alone it might be years.
    if a is not None and start == Apply("date_trunc", (moment,), SqlType.TIMESTAMP, Unit("day")):
        return Interval.of(0, DAY - 1)
    return Interval(a.low - b.high, a.high - b.low) if a and b else None


def _emit_elapsed(args: Sequence[str], _: Apply, dialect: Dialect) -> str:
    return dialect.elapsed_micros(args[0], args[1])


def _age(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    a, b = intervals
    if a is None or b is None:
        return None
    least, most = whole_months(int(a.low), int(b.high)), whole_months(int(a.high), int(b.low))
    field = option(apply, TimeField).name
    if field == "year":
        return Interval.of(int(least / 12), int(most / 12))
    size = _MOST[field]
    return Interval.of(-size if a.low < b.high else 0, size if a.high > b.low else 0)


def _emit_age(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return f"CAST({dialect.age_field(option(apply, TimeField).name, *args)} AS {dialect.double_type})"


def _binned(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    (x,), bins = intervals, option(apply, Bins)
    return Interval(*(Fraction(bin_start(int(end), bins)) for end in (x.low, x.high))) if x else None


def _bins(apply: Apply, domains: Domains) -> Sequence[Cell] | None:
    """Return the beginning of every bin in the interval."""
    bins, interval = option(apply, Bins), domains.interval(apply.args[0])
    if interval is None:
        return None
    first, last = (bin_start(int(end), bins) for end in (interval.low, interval.high))
    if (last - first) // bins.size >= domains.limit:
        raise too_many((last - first) // bins.size + 1, domains.limit)
    return range(first, last + 1, bins.size)


def _emit_bin(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    """Count from a bin in the year 1, since engines do not agree about times before the origin."""
    bins = option(apply, Bins)
    return dialect.bin_start(args[0], bins.size, bin_start(MOMENTS[0], bins) + bins.size)


def is_elapsed(expr: Expr) -> bool:
    """Return whether a number is the time between two others, also in seconds or as what a column of intervals has."""
    return any(
        part.type is SqlType.INTERVAL or (isinstance(part, Apply) and part.op == "elapsed") for part in walk(expr)
    )


SPANS: tuple[Function, ...] = (
    Function(
        "elapsed",
        "t - u",
        _emit_elapsed,
        _elapsed,
        step=of_all,
        note="a value, of which extract takes day, hour, minute, second, epoch",
    ),
    Function(
        "age",
        "age(t, u), age(t)",
        _emit_age,
        _age,
        whole=whole_always,
        describe=lambda _, apply: f"extract({option(apply, TimeField).name} FROM age(…))",
        note="inside extract of year, month, day, hour, minute, second",
    ),
    Function(
        "date_bin",
        "date_bin('…', t, origin)",
        _emit_bin,
        _binned,
        domain=_bins,
        step=of_bins,
        note="a constant stride without months",
    ),
)


# What comparisons and keys say of a time: from which value on it is, up to which, and to the beginning of what it is cut.
#
# admitted_at >= '2026-03-01'        →  from 2026-03-01 on
# date_trunc('day', admitted_at)     →  day

_SWAPPED = {"ge": "le", "gt": "lt", "le": "ge", "lt": "gt", "eq": "eq"}
"""The operator between the sides of a comparison when they change places."""


def truncated_time(expr: Expr, time: Ref) -> str | None:
    """Return to the beginning of what an expression cuts a time: of a day, a month; None where it does something else."""
    if expr == time:
        return "day" if time.type is SqlType.DATE else None
    if not isinstance(expr, Apply) or len(expr.args) != 1:
        return None
    (inner,) = expr.args
    match expr.op:
        case "timestamp_to_date":
            return "day" if inner == time else truncated_time(inner, time)
        case "date_to_timestamp":
            return truncated_time(inner, time)
        case "date_trunc":
            whole = time.type is SqlType.TIMESTAMP and inner == time
            return option(expr, Unit).name if whole or truncated_time(inner, time) == "day" else None
        case _:
            return None


def compared_times(condition: Expr, time: Ref) -> tuple[int | None, int | None] | None:
    """Return from which value on, and up to which, a comparison lets a time be, as it is counted: in days or microseconds.

    None of anything but a comparison with one constant of its type.
    """
    if not isinstance(condition, Apply) or condition.op not in _SWAPPED or len(condition.args) != 2:
        return None
    left, right = condition.args
    how, constant = (condition.op, right) if left == time else (_SWAPPED[condition.op], left)
    if time not in (left, right) or not isinstance(constant, Const) or constant.type is not time.type:
        return None
    value = constant.value
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    # In days or microseconds, the second end left out: t > v begins at v + 1, and t <= v ends before v + 1.
    match how:
        case "ge":
            return value, None
        case "gt":
            return value + 1, None
        case "lt":
            return None, value
        case "le":
            return None, value + 1
        case _:
            return value, value + 1
