"""The meaning of text in YAML: exact numbers, flags, names, types, dates.

Each function raises a `ValueError` that says what is allowed.
"""

import base64
import binascii
import difflib
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import LONGEST_STAY, TYPE_NAMES, Period, SqlType, TableName, Value, in_single_precision

# Four digits of an exponent: a `Fraction` has all its digits in memory, and 1e999999999 would fill it.
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_TYPE = re.compile(r"([a-z][a-z0-9 ]*?) ?(?:\( ?(\d{1,4}) ?(?:, ?(\d{1,4}) ?)?\))?", re.ASCII)
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
_SPAN = re.compile(
    r"(?:(?P<days>-?\d{1,5}) days?)?(?: ?(?P<sign>-)?(?P<hours>\d{1,6}):(?P<minutes>[0-5]\d)"
    r"(?::(?P<seconds>[0-5]\d(?:\.\d{1,6})?))?)?",
    re.ASCII,
)
MICROS_OF_DAY = 86_400_000_000
"""Microseconds."""
_VERIFIER = re.compile(r"SCRAM-SHA-256\$(\d{1,8}):([^$:]+)\$([^$:]+):([^$:]+)", re.ASCII)

_RESERVED = ("dpsql", "information_schema", "pg_")
"""The beginnings of the names of schemas that are the shadow's own, and of its roles, which PostgreSQL searches first."""

REFRESHES = {"daily": Period.DAY, "weekly": Period.WEEK, "monthly": Period.MONTH, "never": Period.NEVER}
"""How often the epoch may advance."""

_LARGEST = {
    SqlType.SMALLINT: Fraction(2**15 - 1),
    SqlType.INTEGER: Fraction(2**31 - 1),
    SqlType.BIGINT: Fraction(2**63 - 1),
    SqlType.REAL: Fraction(3) * 10**38,
    SqlType.DOUBLE: Fraction(10) ** 308,
    SqlType.NUMERIC: Fraction(10) ** 1000,
}
_NAMED = [kind for kind in SqlType if kind is not SqlType.CHARACTER]
_LONGEST_LABEL = 64
_KEY = re.compile(r"(?:[^\W\d]|[@$#])[\w\-:@$# ]*")
"""Of digits alone it would be the place of an array's element, which engines count in ways of their own."""
_LONGEST_KEY = 63
_LONGEST_NUMBER = 1100
"""Characters of a number; the largest numeric has 1,001."""
_LONGEST_AMOUNT, _LEAST_AMOUNT = 100, Fraction(1, 10**99)
"""Characters of an ε, a δ or a probability, and the least that is above 0: noise for less could not be drawn."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# Exact: "0.1" is 1/10. A float would be a little more than that, and ten charges of it a little more than 1.
def fraction_of(text: str) -> Fraction:
    """Read a decimal number exactly."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise ValueError("must be a number such as 0.5 or 1e-6")
    return Fraction(text.replace("_", ""))


def _amount(text: str) -> Fraction | None:
    """Read what is calculated with; None for what is no number, or one that no float comes near."""
    number = fraction_of(text) if _NUMBER.fullmatch(text) and len(text) <= _LONGEST_AMOUNT else None
    return None if number is None or (number and not _LEAST_AMOUNT <= abs(number) <= 1 / _LEAST_AMOUNT) else number


def positive(text: str) -> Fraction:
    """Read a number above 0."""
    number = _amount(text)
    if number is None or number <= 0:
        raise ValueError("must be a number above 0, such as 0.5")
    return number


def probability(text: str) -> Fraction:
    """Read a number between 0 and 1, neither included."""
    number = _amount(text)
    if number is None or not 0 < number < 1:
        raise ValueError("must be a number above 0 and below 1")
    return number


def delta(text: str) -> Fraction:
    """Read a δ: 0 or above, and below 1."""
    number = _amount(text)
    if number is None or not 0 <= number < 1:
        raise ValueError("must be a number from 0 to below 1, such as 1e-6")
    return number


def whole_count(text: str) -> int:
    """Read a whole number from 1 to 10^15."""
    if not re.fullmatch(r"\d[\d_]{0,20}", text, re.ASCII) or not 1 <= int(text.replace("_", "")) <= 10**15:
        raise ValueError("must be a whole number above 0, such as 20 or 1_000_000")
    return int(text.replace("_", ""))


def days(text: str) -> int:
    """Read a length of time in whole days."""
    match = re.fullmatch(r"(\d{1,5}) days?", text, re.ASCII)
    if not match or not 1 <= int(match[1]) <= LONGEST_STAY:
        raise ValueError(f"must be a number of days such as 30 days, at most {LONGEST_STAY}")
    return int(match[1])


def threads(text: str) -> int:
    """Read a number of threads."""
    if not re.fullmatch(r"\d{1,4}", text, re.ASCII) or not 1 <= int(text) <= 1024:
        raise ValueError("must be a whole number from 1 to 1024")
    return int(text)


def processes(text: str) -> int:
    """Read a number of processes."""
    if not re.fullmatch(r"\d{1,2}", text, re.ASCII) or not 1 <= int(text) <= 64:
        raise ValueError("must be a whole number from 1 to 64")
    return int(text)


def memory(text: str) -> str:
    """Read an amount of memory with its unit."""
    if not re.fullmatch(r"\d{1,6}(\.\d{1,3})? ?([KMGT]i?B)", text, re.ASCII):
        raise ValueError("must be a size with its unit, such as 4GB")
    return text


def port(text: str) -> int:
    """Read a TCP port; 0 means any that is free."""
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or int(text) > 65535:
        raise ValueError("must be a port from 0 to 65535")
    return int(text)


def flag(text: str) -> bool:
    """Read true or false (YAML 1.2: yes and no are words)."""
    match text:
        case "true":
            return True
        case "false":
            return False
        case _:
            raise ValueError("must be true or false")


def refresh_period(text: str) -> Period:
    """Read how often the epoch advances."""
    if text not in REFRESHES:
        raise ValueError(f"must be one of {', '.join(REFRESHES)}{_meant(text, REFRESHES)}")
    return REFRESHES[text]


def _meant(text: str, words: Iterable[str]) -> str:
    close = difflib.get_close_matches(text.lower(), words, n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def host(text: str) -> str:
    """Read what a server listens at: an address or a name, without a port."""
    # One colon with digits behind it is a port; an address of IPv6 has two colons at least.
    address, _, behind = text.rpartition(":")
    if address and ":" not in address and behind.isdigit():
        raise ValueError(f"must be a host alone, as in host: {address}, port: {behind}")
    if not re.fullmatch(r"[A-Za-z0-9_.:%-]{1,253}", text, re.ASCII):
        raise ValueError("must be an address or a name, such as 127.0.0.1, ::1 or db.example.org")
    return text


def identifier(text: str) -> str:
    """Read the name of a table, a column, a role or a user."""
    # PostgreSQL cuts names after 63 bytes: two longer ones could become one.
    if not text.isprintable() or not text.strip() or len(text.encode()) > 63:
        raise ValueError("must be a name of 1 to 63 bytes without control characters")
    return text


def table_name(text: str) -> str:
    """Read the name of a table or a view, perhaps with its schema; return the text by which it is kept."""
    schema, dot, name = text.partition(".")
    if "." in name:
        raise ValueError(
            "must be a name, or schema.name; neither part may have a dot in it, since others write it so, too"
        )
    for part in (schema, name) if dot else (text,):
        identifier(part)
    if dot and schema.lower().startswith(_RESERVED):
        owner = "dpsql's" if schema.lower().startswith("dpsql") else "PostgreSQL's"
        raise ValueError(f"must be of another schema: {schema} is {owner} own")
    return TableName.of(text).text


def table_pattern(text: str) -> str:
    """Read the name of a table or a view, or `clinical.*` for all of a schema."""
    schema, dot, name = text.rpartition(".")
    if not dot or name != "*":
        return table_name(text)
    table_name(f"{schema}.x")
    return text


def dataset(text: str) -> str:
    """Read the data set's name, which is also a database name and a part of connection strings."""
    reserved = ("postgres", "template0", "template1")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,62}", text, re.ASCII) or text in reserved:
        raise ValueError(f"must be letters, digits, _ or -, at most 63, and not {', '.join(reserved)}")
    return text


def verifier(text: str) -> str:
    """Read a SCRAM verifier as PostgreSQL stores it; the message never repeats what may be a password."""
    match = _VERIFIER.fullmatch(text)
    try:
        salt, stored, server = (
            (base64.b64decode(part, validate=True) for part in match.groups()[1:]) if match else (b"",) * 3
        )
    except binascii.Error:
        salt = stored = server = b""
    # SHA-256 has 32 bytes, and RFC 7677 wants 4,096 iterations at least.
    if not match or int(match[1]) < 4096 or not salt or len(stored) != 32 or len(server) != 32:
        raise ValueError("must be a SCRAM-SHA-256 verifier, not a password; `dpsql user` makes one")
    return text


_ELSEWHERE = {
    "datetime": "timestamp",
    "string": "text",
    "str": "text",
    "object": "text",
    "category": "text",
    "float": "double precision",
    "double": "double precision",
    "float32": "real",
    "float64": "double precision",
    "number": "numeric",
    "money": "numeric",
    "int16": "smallint",
    "int32": "integer",
    "int64": "bigint",
    "tinyint": "smallint",
}
"""What other systems call types that go by another name here."""


def column_type(text: str) -> tuple[SqlType, str]:
    """Read a type: what it is to the analysis, and as the shadow's DDL writes it."""
    match = _TYPE.fullmatch(" ".join(text.lower().split()))
    name = match[1] if match else ""
    kind = TYPE_NAMES.get(name)
    if match is None or kind is None:
        told = f"must be one of {', '.join(_NAMED)}, varchar(n), char(n), numeric(p, s)"
        raise ValueError(f"{told}{_meant(_ELSEWHERE.get(name or text.lower(), name or text), TYPE_NAMES)}")
    precision, scale = match[2], match[3]
    if kind is SqlType.CHARACTER:
        return kind, _of_characters(name, precision, scale)
    if kind is SqlType.JSON and precision is None:
        return kind, name
    if precision is None:
        return kind, "character varying" if kind is SqlType.TEXT and name != "text" else str(kind)
    if kind is SqlType.NUMERIC and 1 <= int(precision) <= 1000 and int(scale or 0) <= int(precision):
        return kind, f"numeric({int(precision)},{int(scale or 0)})"
    if kind is SqlType.TEXT and name != "text" and scale is None and int(precision) > 0:
        return kind, f"character varying({int(precision)})"
    raise ValueError(f'"{name}" takes no such length; lengths are for numeric(p, s), varchar(n) and char(n)')


def json_keys(text: str) -> tuple[str, ...]:
    """Read the keys on the way to a value inside JSON: plan, or address.city."""
    keys = tuple(text.split("."))
    if not all(_KEY.fullmatch(key) and len(key.encode()) <= _LONGEST_KEY for key in keys):
        raise ValueError(
            "must be keys with points between them, such as plan or address.city: letters, digits, blanks and _ - : @ $ #, "
            "and a letter or _ @ $ # first"
        )
    return keys


def _of_characters(name: str, length: str | None, scale: str | None) -> str:
    """Return the type of texts that are padded to one length: PostgreSQL takes 1 for it where none is written."""
    if scale is not None or (length is not None and int(length) == 0) or (length is None and name == "bpchar"):
        raise ValueError("must be char(n) with a length from 1")
    return f"character({1 if length is None else int(length)})"


def bound_value(kind: SqlType, text: str) -> Fraction:
    """Read one bound of a column of this type; dates as days, timestamps as microseconds since 1970-01-01."""
    if kind.is_temporal:
        return Fraction(moment(kind, text))
    if kind.is_span:
        return Fraction(span(kind, text))
    value = fraction_of(text)
    least = -_LARGEST[kind] - (1 if kind.is_integer else 0)  # two's complement has one number more below 0
    if not least <= value <= _LARGEST[kind]:
        raise ValueError(f"is out of the range of {kind}")
    if kind.is_integer and value.denominator != 1:
        raise ValueError(f"must be a whole number, since the column's type is {kind}")
    return value


def moment(kind: SqlType, text: str) -> int:
    """Read a date as days, a timestamp as microseconds since 1970-01-01; with a time zone, UTC's unless it says else."""
    pattern = "2019-03-31" if kind is SqlType.DATE else "2019-03-31 or 2019-03-31 12:00:00"
    refusal = f"must be a {kind} such as {pattern}"
    match = _MOMENT.fullmatch(text)
    if match is None or (match["zone"] is not None and kind is not SqlType.TIMESTAMPTZ):
        raise ValueError(refusal)
    # Whole microseconds, by integers alone: a float of seconds could lose the last digits.
    try:
        if kind is SqlType.DATE:
            return (date.fromisoformat(text) - _EPOCH.date()).days
        at = datetime.fromisoformat(text)
        return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)
    except ValueError:
        raise ValueError(refusal) from None


def span(kind: SqlType, text: str) -> int:
    """Read a time of the day, or an interval without months, in microseconds."""
    match = _SPAN.fullmatch(text)
    of_day = kind is SqlType.TIME
    if match is None or text == "" or (of_day and (match["days"] or match["sign"] or not match["hours"])):
        pattern = "08:30 or 08:30:00" if of_day else "90 days, 12:30:00 or 2 days 12:30:00"
        raise ValueError(f"must be {'a time' if of_day else 'an interval'} such as {pattern}")
    hours, minutes, seconds = int(match["hours"] or 0), int(match["minutes"] or 0), Fraction(match["seconds"] or 0)
    clock = int(((hours * 60 + minutes) * 60 + seconds) * 10**6)
    if of_day and clock > MICROS_OF_DAY:
        raise ValueError("must be a time from 00:00 to 24:00")
    return int(match["days"] or 0) * MICROS_OF_DAY + (-clock if match["sign"] else clock)


def interval(kind: SqlType, low: Fraction, high: Fraction) -> Interval:
    """Make the closed interval of a declaration, which for dates and timestamps leaves the upper end out."""
    if kind.is_temporal or kind is SqlType.TIME:
        if low >= high:
            raise ValueError("the first must be before the second, which is itself left out")
        # The day or the microsecond before the upper end is the last value.
        return Interval(low, high - 1)
    if low > high:
        raise ValueError("the first must not be above the second")
    return Interval(low, high)


def domain_value(kind: SqlType, declared: str, text: str) -> Value:
    """Read one value of a domain of this type."""
    if kind is SqlType.UUID:
        return _uuid(text)
    if kind is SqlType.CHARACTER:
        return _characters(declared, text)
    if kind is SqlType.ENUM and not 0 < len(text.encode()) < _LONGEST_LABEL:
        raise ValueError("must be a label of 1 to 63 bytes")
    if kind.is_text:
        return text
    if kind is SqlType.BOOLEAN:
        return flag(text)
    value = bound_value(kind, text)
    value = in_single_precision(value) if kind is SqlType.REAL else value
    return int(value) if kind.is_integer or kind.is_temporal or kind.is_span else value


def _uuid(text: str) -> str:
    """Read a UUID as PostgreSQL writes it."""
    if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text.lower(), re.ASCII):
        raise ValueError("must be a uuid such as 123e4567-e89b-12d3-a456-426614174000")
    return text.lower()


def _characters(declared: str, text: str) -> str:
    """Read a text of a fixed length without the blanks at its end, which mean nothing."""
    length = int(declared.removeprefix("character(").removesuffix(")"))
    if len(text.rstrip(" ")) > length:
        raise ValueError(f"must have at most {length} characters, since the column's type is {declared}")
    return text.rstrip(" ")


def names(value: object) -> tuple[str, ...]:
    """Read one name, or a list of several.

    Raises:
        ValueError: it is neither.
    """
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) for item in listed):
        raise ValueError("must be a name, or a list of names")
    identifiers = tuple(identifier(item) for item in listed if isinstance(item, str))
    if len(set(identifiers)) < len(identifiers) or not identifiers:
        raise ValueError("must be a name, or a list of different names")
    return identifiers
