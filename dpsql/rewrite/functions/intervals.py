"""The time between two times: exactly, in microseconds, and as AGE counts it, in years, months and days; and bins."""

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.arithmetic import whole_always
from dpsql.rewrite.functions.domains import Cell, Domains, too_many
from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.functions.steps import of_all, of_bins
from dpsql.rewrite.ir.calendar import DAY, MOMENTS, to_datetime
from dpsql.rewrite.ir.expr import Apply, Bins, Expr, TimeField, Unit, option, walk

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
    return months - (_in_month(later) < _in_month(earlier))


def _in_month(moment: dt.datetime) -> tuple[int, dt.time]:
    return moment.day, moment.time()


def bin_start(micros: int, bins: Bins) -> int:
    """Return where the bin begins that holds a time."""
    return (micros - bins.origin) // bins.size * bins.size + bins.origin


def _elapsed(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    a, b = intervals
    moment, start = apply.args
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
