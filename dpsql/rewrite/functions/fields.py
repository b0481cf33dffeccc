"""The fields of a time: EXTRACT, and within which units each is the same."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.function import FloatRange, Function, Inverse
from dpsql.rewrite.functions.steps import of_field
from dpsql.rewrite.functions.written import field_digits
from dpsql.rewrite.ir.calendar import DAY, ERAS, UNITS, to_datetime
from dpsql.rewrite.ir.expr import Apply, Expr, TimeField, option
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
