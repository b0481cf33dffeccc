"""Values between their text, as PostgreSQL writes them, and Python's exact values."""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from dpsql.policy.model import TYPE_NAMES, SqlType, Value, in_single_precision
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
    **dict.fromkeys((SqlType.NUMERIC, SqlType.DOUBLE), lambda text: exact_number(text.strip())),
    SqlType.REAL: lambda text: simplest(in_single_precision(exact_number(text.strip()))),
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
    # 1e999999999 is short, and has a thousand million digits once it is written out.
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


# The questions of planning to the shadow: the value of constants, and of functions over public values.
#
# PostgreSQL itself decides what `now()`, `'3 days'::interval` or `lower(x)` mean, on every engine. Only public values ever
# go into such a question: literals of the statement, declared domains, rows of public tables.

# Pieces of SQL for the shadow that planning asks, each in a form that no text of a client's can leave.


@dataclass(frozen=True, slots=True)
class SpelledSql:
    """One expression or query for the shadow; only `dpsql.rewrite.translate.public.speller` makes them."""

    text: str
    volatile: bool = False
    """Whether its value changes by itself, as that of `now()` does: then a plan made of it serves once."""

    def within(self, form: str) -> "SpelledSql":
        """Return `form` with this for `{}`."""
        return SpelledSql(form.replace("{}", self.text, 1), self.volatile)


class UnspeakableError(Exception):
    """Something in a tree is not allowed in a constant."""


PLAIN_FUNCTIONS = frozenset(
    """abs age ascii bit_length btrim ceil ceiling char_length character_length chr concat concat_ws date_bin
    date_part date_trunc div exp floor initcap justify_days justify_hours justify_interval left length
    like_escape ln log log10 lower lpad ltrim make_date make_interval make_timestamp md5 mod now octet_length
    overlay position pow power regexp_count regexp_instr regexp_like regexp_replace regexp_substr replace
    reverse right round rpad rtrim sign similar_to_escape split_part sqrt starts_with statement_timestamp string_to_array
    strpos substr substring timezone to_char to_date to_hex to_number to_timestamp transaction_timestamp
    translate trunc upper width_bucket""".split()
)
SYNTAX_FUNCTIONS = frozenset({"coalesce", "greatest", "least", "nullif"})
"""Functions that are grammar, and have no schema."""
AGGREGATES = frozenset({"count", "sum", "avg", "min", "max"})
SERIES_FUNCTIONS = frozenset({"generate_series", "regexp_split_to_table", "string_to_table", "unnest"})
"""Functions that give a row for each of their values, in a query."""
CLOCKS = frozenset({"now", "statement_timestamp", "transaction_timestamp"})
FUNCTIONS = PLAIN_FUNCTIONS | SYNTAX_FUNCTIONS | {"trim"}
"""The functions that a constant may call."""
_WORD = re.compile(r"[A-Za-z_]{1,30}", re.ASCII)
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,6})?", re.ASCII)
_TYPE = re.compile(
    r"(?P<name>[a-z0-9_ ]+?)(?P<size> ?\(\d{1,6}(?:, ?\d{1,6})?\))?(?P<zone> with(?:out)? time zone)?(?P<array>(?:\[\])*)"
)
_FIELDS = re.compile(r"interval (?:year|month|day|hour|minute|second)(?: to (?:month|hour|minute|second))?")
"""An interval of which a literal has only these fields: PostgreSQL has cut it already."""
TEMPORAL = frozenset({"date", "time", "timetz", "timestamp", "timestamptz"})
_TYPES = TEMPORAL | frozenset(
    ("bool,boolean,smallint,int2,int,integer,int4,bigint,int8,numeric,decimal,real,float,float4,double precision,float8,text,"
     "varchar,character varying,char,character,bpchar,name,unknown,interval,bytea,uuid").split(",")
)  # fmt: skip


def literal(text: str) -> str:
    """Return a string literal; the shadow's sessions for planning have `standard_conforming_strings`."""
    if "\0" in text:
        raise UnspeakableError
    quoted = text.replace("'", "''")
    return f"'{quoted}'" if "\\" not in text else "E'" + quoted.replace("\\", "\\\\") + "'"


def number(text: str) -> str:
    """Return a number as it was written."""
    if _NUMBER.fullmatch(text) is None:
        raise UnspeakableError
    return text


def word(node: exp.Expr) -> str:
    """Return a word of SQL in lower case."""
    if _WORD.fullmatch(node.name) is None:
        raise UnspeakableError
    return str(node.name).lower()


def quoted_name(name: str) -> str:
    """Return a name in double quotes."""
    if not name or "\0" in name:
        raise UnspeakableError
    return '"' + name.replace('"', '""') + '"'


def type_name(text: str) -> tuple[str, str]:
    """Return a type as PostgreSQL reads it, and its bare name.

    Raises:
        UnspeakableError: it is none that constants may have.
    """
    match = _TYPE.fullmatch(_FIELDS.sub("interval", " ".join(text.lower().split())))
    if match is None or match["name"] not in _TYPES or (match["zone"] and match["name"] not in TEMPORAL):
        raise UnspeakableError
    return "".join(match[part] or "" for part in ("name", "size", "zone", "array")), match["name"]


def only(node: exp.Expr, *names: str) -> None:
    """Refuse a node with anything else in it.

    Raises:
        UnspeakableError: there is more.
    """
    if any(value for name, value in node.args.items() if name not in names):
        raise UnspeakableError


@dataclass(frozen=True, slots=True)
class PublicAnswer:
    """The shadow's answer to a query: the columns' names and types, and the rows as text."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


class ConstantEvaluator(Protocol):
    """A session in the shadow that evaluates expressions of allowed functions."""

    volatile: bool
    """Whether anything that was asked changes by itself, as `now()` does: then the plan serves once."""

    @property
    def time_zone(self) -> str:
        """Return the session's TimeZone."""

    @property
    def dates_in_iso(self) -> bool:
        """Return whether the session writes dates as 2019-03-01."""

    def constant(self, expression: SpelledSql) -> tuple[str | None, str]:
        """Return the value (as text) and the type's name of an expression without columns."""

    def column(self, query: SpelledSql) -> tuple[tuple[str | None, ...], str]:
        """Return the distinct values of the one column of a query over public tables, and its type's name."""

    def rows(self, query: SpelledSql) -> "PublicAnswer":
        """Return the rows of a query over public tables and constants.

        Raises:
            DpsqlError: there are too many, or PostgreSQL can't compute them.
        """

    def over(
        self, expression: SpelledSql, values: Sequence[Value | None], type_: SqlType
    ) -> tuple[tuple[str | None, ...], str]:
        """Return the text values of an expression in the column `x` for every value of `x`, and its type's name."""


_NO_VALUES = frozenset({SqlType.ENUM, SqlType.JSON})
TYPES: Mapping[str, SqlType] = {
    **{name: type_ for name, type_ in TYPE_NAMES.items() if not (type_ in _NO_VALUES or type_.is_span)},
    **dict.fromkeys(("name", "unknown"), SqlType.TEXT),
}
"""The names of the types that row-level expressions may have; a time with a zone is what UTC's clock shows."""
