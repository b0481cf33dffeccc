"""What lies between two times: exactly, in microseconds, and as AGE counts it, in years, months and days; and bins."""

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.ir.calendar import DAY, MOMENTS, to_datetime
from dpsql.rewrite.ir.expr import Apply

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


def bin_start(micros: int, size: int, origin: int) -> int:
    """Return where the bin of `size` microseconds begins that holds a time, if one begins at `origin`."""
    return (micros - origin) // size * size + origin


def _elapsed(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    a, b = intervals
    return Interval(a.low - b.high, a.high - b.low) if a and b else None


def _emit_elapsed(args: Sequence[str], _: Apply, dialect: Dialect) -> str:
    return dialect.elapsed_micros(*args)


def _age(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    a, b = intervals
    if a is None or b is None:
        return None
    least, most = whole_months(int(a.low), int(b.high)), whole_months(int(a.high), int(b.low))
    if apply.option == "year":
        return Interval.of(int(least / 12), int(most / 12))
    size = _MOST[str(apply.option)]
    return Interval.of(-size if a.low < b.high else 0, size if a.high > b.low else 0)


def _emit_age(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return f"CAST(extract({apply.option} FROM age({args[0]}, {args[1]})) AS {dialect.double_type})"


def binning(apply: Apply) -> tuple[int, int]:
    """Return the size and the origin of DATE_BIN's bins."""
    size, origin = str(apply.option).split()
    return int(size), int(origin)


def _binned(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    (x,), (size, origin) = intervals, binning(apply)
    return Interval(*(Fraction(bin_start(int(end), size, origin)) for end in (x.low, x.high))) if x else None


def _emit_bin(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    """Count from a bin in the year 1, since engines do not agree about times before the origin."""
    size, origin = binning(apply)
    first = bin_start(MOMENTS[0], size, origin) + size
    return dialect.bin_start(args[0], size, first)


SPANS: tuple[Function, ...] = (
    Function("elapsed", "t - u", _emit_elapsed, _elapsed, note="inside extract, or compared with an interval"),
    Function(
        "age",
        "age(t, u), age(t)",
        _emit_age,
        _age,
        note="inside extract of year, month, day, hour, minute, second",
    ),
    Function("date_bin", "date_bin('…', t, origin)", _emit_bin, _binned, note="a constant stride without months"),
)
