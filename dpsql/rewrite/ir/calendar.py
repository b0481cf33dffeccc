"""The calendar of timestamps without time zone, in microseconds since 1970: truncation, steps, and moving by an interval."""

import datetime as dt
from collections.abc import Mapping
from fractions import Fraction

from dpsql.rewrite.ir.expr import IntervalValue

DAY = 86_400_000_000
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # timestamps without time zone
ERAS: Mapping[str, int] = {"decade": 10, "century": 100, "millennium": 1000}
DATES = (-719_162, 2_932_896)
"""The years 1 to 9999, in days since 1970."""
MOMENTS = (DATES[0] * DAY, (DATES[1] + 1) * DAY - 1)
"""The same in microseconds."""
UNITS = (
    "microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade",
    "century", "millennium",
)  # fmt: skip
SIZES: Mapping[str, int] = {
    "microseconds": 1, "milliseconds": 1000, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6,
}  # fmt: skip
"""Units of which a day has a whole number, in microseconds."""


def to_datetime(micros: int | Fraction) -> dt.datetime:
    """Return microseconds since 1970 as a datetime without time zone."""
    return EPOCH + dt.timedelta(microseconds=int(micros))


def from_datetime(moment: dt.datetime) -> int:
    """Return a datetime without time zone as microseconds since 1970."""
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


def truncate(unit: str, micros: int) -> int:
    """Return DATE_TRUNC(unit, …) of a timestamp, in microseconds; weeks start on Monday."""
    if unit in SIZES:
        return micros // SIZES[unit] * SIZES[unit]
    day = to_datetime(micros).replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "day":
            return from_datetime(day)
        case "week":
            return from_datetime(day - dt.timedelta(days=day.weekday()))
        case "month":
            return from_datetime(day.replace(day=1))
        case "quarter":
            return from_datetime(day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1))
        case "year":
            return from_datetime(day.replace(day=1, month=1))
        # The years 1 to 9 are of a decade that begins with the year 0, which Python lacks: a ValueError.
        case "decade":
            return from_datetime(day.replace(day=1, month=1, year=day.year // 10 * 10))
        case "century" | "millennium":
            # There is no year 0: 2001 begins the 21st century, and the third millennium.
            size = ERAS[unit]
            return from_datetime(day.replace(day=1, month=1, year=(day.year - 1) // size * size + 1))
    raise ValueError(unit)


def step(unit: str, micros: int) -> int:
    """Return where the next unit begins after one that begins at `micros`."""
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12_000}
    if unit in months:
        return shift(micros, IntervalValue(months[unit], 0, 0))
    return micros + {**SIZES, "day": DAY, "week": 7 * DAY}[unit]


def shift(micros: int, span: IntervalValue) -> int:
    """Return timestamp + interval as PostgreSQL adds them: months first (clipped to the month's end), then days."""
    if not span.months and MOMENTS[0] <= micros <= MOMENTS[1]:
        return micros + span.days * DAY + span.micros
    moment = to_datetime(micros)
    months = moment.year * 12 + moment.month - 1 + span.months
    year, month = divmod(months, 12)
    # The day before the first of the next month: 2024-01-31 + 1 month  →  2024-02-29
    last = (dt.date(year + month // 11, (month + 1) % 12 + 1, 1) - dt.timedelta(days=1)).day
    moved = moment.replace(year=year, month=month + 1, day=min(moment.day, last))
    return from_datetime(moved) + span.days * DAY + span.micros
