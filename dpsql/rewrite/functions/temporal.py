"""Dates and timestamps (without time zone): truncation, fields, and moving by an interval."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.function import Function, cast_to, template
from dpsql.rewrite.ir.calendar import DAY, ERAS, UNITS, shift, to_datetime, truncate
from dpsql.rewrite.ir.expr import Apply, Span

_RANGES = {
    "month": (1, 12), "quarter": (1, 4), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "dow": (0, 6),
    "isodow": (1, 7), "doy": (1, 366), "week": (1, 53), "microseconds": (0, 59_999_999),
}  # fmt: skip
_SHARES: Mapping[str, tuple[int, str]] = {"second": (10**6, "microseconds"), "milliseconds": (1000, "microseconds")}
"""Fields that are a part of another: by what it is divided."""
FIELDS = frozenset({*_RANGES, *_SHARES, *ERAS, "year", "isoyear", "epoch", "julian"})
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
    return _ends(lambda micros: truncate(str(apply.option), micros))(intervals, apply)


def _field(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    field, x = str(apply.option), intervals[0]
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
    span = apply.option
    assert isinstance(span, Span)
    return _ends(lambda micros: shift(micros, span))(intervals, apply)


def _shifted_by(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    x, n = intervals
    if x is None or n is None:
        return None
    size = span_micros(apply.option)
    ends = [n.low * size, n.high * size]
    return Interval(x.low + min(ends), x.high + max(ends))


def span_micros(span: object) -> int:
    """Return the length of a span without months."""
    assert isinstance(span, Span)
    assert not span.months
    return span.days * DAY + span.micros


def _emit_trunc(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return dialect.truncated(str(apply.option), args[0])


def _emit_field(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    # In double precision, as the type says: products of whole numbers could overflow.
    double, field = dialect.double_type, str(apply.option)
    if field in _SHARES:
        size, whole = _SHARES[field]
        return f"(CAST(extract({whole} FROM {args[0]}) AS {double}) / {size})"
    if field == "julian":
        return f"(CAST(extract(epoch FROM {args[0]}) AS {double}) / 86400 + {_JULIAN_ZERO})"
    return f"CAST(extract({field} FROM {args[0]}) AS {double})"


def _emit_shift(args: Sequence[str], apply: Apply, _: Dialect) -> str:
    span = apply.option
    assert isinstance(span, Span)
    seconds, micros = divmod(span.micros, 10**6)
    text = f"{span.months} months {span.days} days {seconds} seconds {micros} microseconds"
    return f"({args[0]} + INTERVAL '{text}')"


def _emit_shift_by(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    return dialect.add_micros(args[0], args[1], span_micros(apply.option))


TIMES: tuple[Function, ...] = (
    Function("date_trunc", "date_trunc('unit', t)", _emit_trunc, _truncated, note=f"units {', '.join(UNITS)}"),
    Function(
        "extract",
        "extract(field FROM t), date_part('field', t)",
        _emit_field,
        _field,
        note=f"fields {', '.join(sorted(FIELDS))}",
    ),
    Function("shift", "t + interval '…', t - interval '…'", _emit_shift, _shifted),
    Function("shift_by", "t + interval '…' * n", _emit_shift_by, _shifted_by, note="n a whole number; no months"),
    Function(
        "date_to_timestamp",
        "d::timestamp",
        cast_to(SqlType.TIMESTAMP),
        lambda i, _: Interval(i[0].low * DAY, i[0].high * DAY) if i[0] else None,
    ),
    Function(
        "timestamp_to_date",
        "t::date",
        cast_to(SqlType.DATE),
        lambda i, _: Interval(Fraction(i[0].low // DAY), Fraction(i[0].high // DAY)) if i[0] else None,
    ),
    Function(
        "date_add",
        "d + n",
        lambda args, _, dialect: dialect.add_days(*args),
        lambda i, _: Interval(i[0].low + i[1].low, i[0].high + i[1].high) if i[0] and i[1] else None,
    ),
    Function(
        "date_diff",
        "d - e",
        template("({0} - {1})"),
        lambda i, _: Interval(i[0].low - i[1].high, i[0].high - i[1].low) if i[0] and i[1] else None,
    ),
)
