"""Values between their text, as PostgreSQL writes them, and Python's exact values."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.ir.calendar import DAY, from_datetime, to_datetime
from dpsql.rewrite.ir.expr import IntervalValue

ENDLESS = 2**1025
"""Stands for infinity and for NaN, which PostgreSQL takes for larger still: no column with bounds has such values."""
_ENDLESS = {"infinity": ENDLESS, "-infinity": -ENDLESS, "nan": ENDLESS}
_DAY_ZERO = dt.date(1970, 1, 1)
_TRUE, _FALSE = frozenset({"t", "true", "y", "yes", "on", "1"}), frozenset({"f", "false", "n", "no", "off", "0"})
_ZONE = re.compile(r"[+-]\d\d(:?\d\d)?(:?\d\d)?$|Z$")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?\d+)$")
_FARTHEST = 400
"""Double precision ends near 10^308."""
_MOST_PLACES = 20
"""Digits behind the point that are shown of what may be a number in double precision: those have up to 1,074."""
_FEW_DIGITS = 300
"""Whole numbers of so many digits have their place in double precision."""
_ISO_SPAN = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?)?$"
)


def parse_value(text: str, type_: SqlType) -> Value:
    """Return the value that `text` is for `type_`.

    Raises:
        ValueError: it is none, is not finite, or is written in a form that only PostgreSQL knows.
    """
    return _READ[type_](text)


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


def _date(text: str) -> int:
    return (dt.date.fromisoformat(text.strip()) - _DAY_ZERO).days


def _moment(text: str) -> int:
    """Return what a clock shows; a zone that is written says nothing."""
    return from_datetime(dt.datetime.fromisoformat(_ZONE.sub("", text.strip()) if ":" in text else text.strip()))


def _time(text: str) -> int:
    """Return the microseconds since midnight."""
    hours, minutes, *seconds = text.strip().split(":")
    return int(((int(hours) * 60 + int(minutes)) * 60 + Fraction(seconds[0] if seconds else 0)) * 10**6)


def _span(text: str) -> int:
    """Return how long an interval without months is, in microseconds."""
    span = parse_interval(text)
    if span.months:
        raise ValueError(text)
    return span.days * DAY + span.micros


def _uuid(text: str) -> str:
    if _UUID.fullmatch(text.lower()) is None:
        raise ValueError(text)
    return text.lower()


def _instant(text: str) -> int:
    """Return when it is that a clock shows, whose zone has to be written."""
    at = dt.datetime.fromisoformat(text.strip())
    if at.tzinfo is None:
        raise ValueError(text)
    return from_datetime(at.astimezone(dt.UTC).replace(tzinfo=None))


_READ: Mapping[SqlType, Callable[[str], Value]] = {
    SqlType.BOOLEAN: _boolean,
    **dict.fromkeys((SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT), int),
    **dict.fromkeys((SqlType.NUMERIC, SqlType.REAL, SqlType.DOUBLE), lambda text: exact_number(text.strip())),
    SqlType.TEXT: str,
    SqlType.CHARACTER: lambda text: text.rstrip(" "),
    SqlType.UUID: _uuid,
    SqlType.ENUM: str,
    SqlType.DATE: _date,
    SqlType.TIMESTAMP: _moment,
    SqlType.TIMESTAMPTZ: _instant,
    SqlType.TIME: _time,
    SqlType.INTERVAL: _span,
}
"""How each type's values are read."""


def parse_any(text: str, type_: SqlType) -> Value:
    """Return the value that `text` is for `type_`, ±`ENDLESS` for what is not finite.

    Raises:
        ValueError: it is none, or is written in a form that only PostgreSQL knows.
    """
    if type_.is_temporal or (type_.is_number and not type_.is_integer):
        endless = _ENDLESS.get(text.lower())
        if endless is not None:
            return endless
    return parse_value(text, type_)


def is_endless(value: Value | None) -> bool:
    """Return whether a value stands for infinity or NaN."""
    return isinstance(value, int) and abs(value) == ENDLESS


def exact_number(text: str) -> Fraction | int:
    """Return a decimal number exactly.

    Raises:
        ValueError: it is none, has no place in double precision, or is so small that writing it out would take long.
    """
    if text.isascii() and text.isdecimal() and len(text) <= _FEW_DIGITS:
        return int(text)
    exponent = _EXPONENT.search(text)
    if exponent and abs(int(exponent[1])) > _FARTHEST:
        raise ValueError(text)
    number = Fraction(text)
    if abs(number) >= 2**1023:
        raise ValueError(text)
    return simplest(number)


def simplest(number: Fraction) -> Fraction | int:
    """Return whole numbers as int, so that equal values have one form."""
    return int(number) if number.denominator == 1 else number


def format_value(value: Value, type_: SqlType) -> str:
    """Return the value as PostgreSQL reads it."""
    match type_:
        case SqlType.BOOLEAN:
            return "t" if value else "f"
        case SqlType.DATE:
            return (_DAY_ZERO + dt.timedelta(days=int(value))).isoformat()
        case SqlType.TIMESTAMP:
            return to_datetime(int(value)).isoformat(" ")
        case SqlType.TIME:
            return _clock(int(value))
        case SqlType.INTERVAL:
            days, rest = divmod(abs(int(value)), DAY)
            sign = "-" if int(value) < 0 else ""
            return f"{sign}{days} days {sign}{_clock(rest)}"
        case SqlType.TIMESTAMPTZ:
            return f"{to_datetime(int(value)).isoformat(' ')}+00"
        case SqlType.NUMERIC:
            return _decimal(Fraction(value)) if isinstance(value, Fraction) else str(value)
        case _:
            return repr(float(value)) if isinstance(value, Fraction) else str(value)


def _decimal(number: Fraction) -> str:
    """Return a number with all its digits; what was computed in double precision has those that tell it from others."""
    places = _places(number)
    if places is None or (places > _MOST_PLACES and Fraction(float(number)) == number):
        return repr(float(number))
    digits = abs(number.numerator) * (10**places // number.denominator)
    whole, part = divmod(digits, 10**places)
    return f"{'-' if number < 0 else ''}{whole}.{part:0{places}}"


def _places(number: Fraction) -> int | None:
    """Return how many digits behind the point a number has; None where they don't end."""
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def _clock(micros: int) -> str:
    """Return microseconds since midnight as a clock shows them."""
    seconds, rest = divmod(micros, 10**6)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:06}"


def parse_interval(text: str) -> IntervalValue:
    """Return an interval written in ISO 8601, as `intervalstyle = iso_8601` prints it.

    Raises:
        ValueError: it is not written so.
    """
    match = _ISO_SPAN.match(text)
    if match is None:
        raise ValueError(text)
    years, months, weeks, days, hours, minutes, seconds = (Fraction(part or 0) for part in match.groups())
    micros = ((hours * 60 + minutes) * 60 + seconds) * 10**6
    return IntervalValue(int(years * 12 + months), int(weeks * 7 + days), int(micros))
