"""The questions of planning to the shadow: the value of constants, and of functions over public values.

PostgreSQL itself decides what `now()`, `'3 days'::interval` or `lower(x)` mean, on every engine. Only public values ever
go into such a question: literals of the statement, declared domains, rows of public tables.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from dpsql.policy.model import TYPE_NAMES, SqlType, Value

# Pieces of SQL for the shadow that planning asks, each in a form that no text of a client's can leave.


@dataclass(frozen=True, slots=True)
class Spelled:
    """One expression or query for the shadow; only `dpsql.rewrite.translate.public.speller` makes them."""

    text: str
    volatile: bool = False
    """Whether its value changes by itself, as that of `now()` does: then a plan made of it serves once."""

    def within(self, form: str) -> "Spelled":
        """Return `form` with this for `{}`."""
        return Spelled(form.replace("{}", self.text, 1), self.volatile)


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

    def constant(self, expression: Spelled) -> tuple[str | None, str]:
        """Return the value (as text) and the type's name of an expression without columns."""

    def column(self, query: Spelled) -> tuple[tuple[str | None, ...], str]:
        """Return the distinct values of the one column of a query over public tables, and its type's name."""

    def rows(self, query: Spelled) -> "PublicAnswer":
        """Return the rows of a query over public tables and constants.

        Raises:
            DpsqlError: there are too many, or PostgreSQL can't compute them.
        """

    def over(
        self, expression: Spelled, values: Sequence[Value | None], type_: SqlType
    ) -> tuple[tuple[str | None, ...], str]:
        """Return the text values of an expression in the column `x` for every value of `x`, and its type's name."""


_NO_VALUES = frozenset({SqlType.ENUM, SqlType.JSON})
TYPES: Mapping[str, SqlType] = {
    **{name: type_ for name, type_ in TYPE_NAMES.items() if not (type_ in _NO_VALUES or type_.is_span)},
    **dict.fromkeys(("name", "unknown"), SqlType.TEXT),
}
"""The names of the types that row-level expressions may have; a time with a zone is what UTC's clock shows."""
