"""How a column of any database comes into the copy: as a text, which DuckDB reads as the declared type.

Promise: no row can make a copy fail, since whether one was made is seen by everybody. Every expression here is total: what
it can't read is NULL, and is counted. What a column holds, or may hold, is told by its type; text may be of anything.

fare decimal(10,2), declared numeric(10,2)    →  TRY_CAST($c AS DOUBLE); where it is a key or of a public table, DECIMAL(10,2)
paid char(1), declared boolean                →  Y, n, true, F, 1, 0 … in any case
born text, declared date                      →  2024-02-29, and nothing that has to be guessed at
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dpsql.engines.databases.kinds import Family, SourceColumn
from dpsql.engines.duckdb.files import duckdb_literal
from dpsql.errors import ConfigError
from dpsql.policy.model import Column, SqlType

_DECIMAL = re.compile(r"(?:numeric|decimal)\((\d+)(?:,(\d+))?\)")
_MOST_DIGITS = 38
"""Digits of DuckDB's decimals."""
_TRUE, _FALSE = ("1", "t", "true", "y", "yes", "on"), ("0", "f", "false", "n", "no", "off")
_INTEGER = r"\s*[+-]?\d{1,30}(\.0{0,30})?\s*"
_NUMBER = r"(?i)\s*[+-]?((\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,4})?|nan|inf|infinity)\s*"
_DAY = r"\d{4}-\d\d-\d\d"
_CLOCK = r"([01]\d|2[0-4]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?"
_SPAN = r"-?\d{1,6}:[0-5]\d:[0-5]\d(\.\d{1,6})?|-?\d{1,18} microseconds"
_SIZE = {SqlType.SMALLINT: "SMALLINT", SqlType.INTEGER: "INTEGER", SqlType.BIGINT: "BIGINT"}
_READ_AS: Mapping[SqlType, frozenset[Family]] = {
    SqlType.BOOLEAN: frozenset({Family.BOOLEAN, Family.BITS, Family.WHOLE, Family.NUMBER, Family.LABELS}),
    **dict.fromkeys(_SIZE, frozenset({Family.WHOLE, Family.NUMBER, Family.BITS})),
    **dict.fromkeys(
        (SqlType.NUMERIC, SqlType.REAL, SqlType.DOUBLE),
        frozenset({Family.WHOLE, Family.NUMBER, Family.FLOAT, Family.BITS}),
    ),
    SqlType.TEXT: frozenset({Family.LABELS, Family.UUID}),
    SqlType.CHARACTER: frozenset({Family.LABELS}),
    SqlType.ENUM: frozenset({Family.LABELS}),
    SqlType.UUID: frozenset({Family.UUID}),
    SqlType.JSON: frozenset({Family.JSON}),
    SqlType.DATE: frozenset({Family.DATE}),
    SqlType.TIMESTAMP: frozenset({Family.MOMENT, Family.ZONED}),
    SqlType.TIMESTAMPTZ: frozenset({Family.MOMENT, Family.ZONED}),
    SqlType.TIME: frozenset({Family.TIME}),
    SqlType.INTERVAL: frozenset({Family.SPAN, Family.TIME}),
}
"""What a declared type is read from, beside texts and what may hold anything."""
_IN_BYTES = 16
"""Bytes of a UUID."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One column on its way."""

    source: SourceColumn
    type: str
    """DuckDB's type in the copy."""
    read: str
    """DuckDB's expression of a text, which is $c there."""
    distinct: bool = True
    """Whether different values stay different, but for those that can't be read."""
    labels: str = ""
    """The enumeration that it is in the database, of whose labels declared values may be some."""

    @property
    def described(self) -> str:
        """Return the type as checks of declarations see it."""
        return self.labels or self.type

    @property
    def brought(self) -> Family:
        """Return what the driver's values are taken for: bytes are texts, unless they are to be UUIDs."""
        is_text = self.source.family is Family.BYTES and self.type != "UUID"
        return Family.TEXT if is_text else self.source.family


def reading(column: Column, source: SourceColumn, *, exact: bool, padded: bool = False) -> Reading | None:
    """Return how a column is read as it is declared; None if it can't be.

    `exact` where double precision does not suffice, and then `padded` where the database takes no blanks at the end for any.

    Raises:
        ConfigError: there is no type for it.
    """
    if not _is_readable(column.type, source):
        return None
    free = source.free
    match column.type:
        case SqlType.SMALLINT | SqlType.INTEGER | SqlType.BIGINT as whole:
            return Reading(
                source, _SIZE[whole], _whole(_SIZE[whole], source), distinct=source.family is Family.WHOLE and not free
            )
        case SqlType.NUMERIC | SqlType.REAL | SqlType.DOUBLE:
            return _number(column, source, exact=exact)
        case SqlType.BOOLEAN:
            words = "lower(trim($c))"
            yes, no = ("1", "0") if column.in_numbers else ("TRUE", "FALSE")
            read = f"CASE WHEN {words} IN {_listed(_TRUE)} THEN {yes} WHEN {words} IN {_listed(_FALSE)} THEN {no} END"
            return Reading(source, "BIGINT" if column.in_numbers else "BOOLEAN", read, distinct=False)
        case SqlType.TEXT | SqlType.CHARACTER | SqlType.ENUM | SqlType.JSON:
            text = "rtrim($c, ' ')" if padded else "$c"
            labels = f"ENUM({', '.join(map(duckdb_literal, source.labels))})" if source.labels else ""
            return Reading(source, "VARCHAR", f"CASE WHEN NOT contains($c, chr(0)) THEN {text} END", labels=labels)
        case SqlType.UUID:
            return Reading(source, "UUID", "TRY_CAST($c AS UUID)", distinct=source.family is Family.UUID)
        case SqlType.DATE:
            fits = f"regexp_full_match($c, '{_DAY}([ T]00:00(:00(\\.0+)?)?)?')"
            return Reading(source, "DATE", _if(free, fits, f"TRY_CAST({_era('$c')} AS DATE)"), distinct=not free)
        case SqlType.TIMESTAMP | SqlType.TIMESTAMPTZ:
            fits = f"regexp_full_match($c, '{_DAY}([ T]{_CLOCK}(Z|[+-]\\d\\d(:?\\d\\d)?)?)?')"
            return Reading(source, "TIMESTAMP", _if(free, fits, _moment(source)), distinct=False)
        case SqlType.TIME:
            return Reading(
                source,
                "TIME",
                _if(True, f"regexp_full_match($c, '{_CLOCK}')", "TRY_CAST($c AS TIME)"),
                distinct=not free,
            )
        case SqlType.INTERVAL:
            fits = f"regexp_full_match($c, '{_SPAN}')"
            return Reading(source, "INTERVAL", _if(source.family is not Family.SPAN, fits, _span()), distinct=False)


def _is_readable(declared: SqlType, source: SourceColumn) -> bool:
    in_bytes = declared is SqlType.UUID and source.family is Family.BYTES and source.length == _IN_BYTES
    return source.free or in_bytes or source.family in _READ_AS[declared]


def _if(needed: bool, fits: str, then: str) -> str:
    return f"CASE WHEN {fits} THEN {then} END" if needed else then


def _whole(type_: str, source: SourceColumn) -> str:
    # The cast alone would round, and read more than digits.
    checked = source.free or source.family is not Family.WHOLE
    return _if(checked, f"regexp_full_match($c, '{_INTEGER}')", f"TRY_CAST($c AS {type_})")


def _number(column: Column, source: SourceColumn, *, exact: bool) -> Reading:
    digits, scale = _digits(column.declared)
    fits = f"regexp_full_match($c, '{_NUMBER}')"
    if column.type is SqlType.NUMERIC and not source.free and source.drafted in _READ_EXACTLY:
        return Reading(source, "BIGINT", "TRY_CAST($c AS BIGINT)")
    if exact and column.type is SqlType.NUMERIC and (source.free or source.family is not Family.FLOAT):
        if not 0 < digits <= _MOST_DIGITS or scale > digits:
            raise ConfigError(
                f'column "{column.name}": a snapshot has no type for {column.declared}, which has to be kept exactly',
                hint=f"Declare it with a length of at most {_MOST_DIGITS} digits: numeric(20,0).",
            )
        type_ = f"DECIMAL({digits},{scale})"
        distinct = not source.free and _digits(source.drafted)[1] <= scale
        return Reading(source, type_, _if(source.free, fits, f"TRY_CAST($c AS {type_})"), distinct=distinct)
    return Reading(source, "DOUBLE", _if(source.free, fits, "TRY_CAST($c AS DOUBLE)"), distinct=False)


def _digits(declared: str) -> tuple[int, int]:
    """Return how many digits a decimal has, and how many of them behind the point; none where that is not said."""
    decimal = _DECIMAL.fullmatch(declared.replace(" ", ""))
    return (0, 0) if decimal is None else (int(decimal[1]), int(decimal[2] or 0))


_READ_EXACTLY = frozenset({"boolean", "smallint", "integer", "bigint"})
"""Drafted types whose values 64 bits hold."""


def _listed(words: tuple[str, ...]) -> str:
    return f"({', '.join(map(duckdb_literal, words))})"


def _era(text: str) -> str:
    """Return a day or a moment before the year 1 as DuckDB writes it, and not as PostgreSQL does."""
    return f"regexp_replace({text}, '^(\\d+-\\d\\d-\\d\\d)(.*) BC$', '\\1 (BC)\\2')"


def _moment(source: SourceColumn) -> str:
    """Return UTC's clock; of a moment without a zone, its own."""
    if source.family is Family.MOMENT and not source.free:
        return f"TRY_CAST({_era('$c')} AS TIMESTAMP)"
    return f"CAST(TRY_CAST({_era('$c')} AS TIMESTAMPTZ) AT TIME ZONE 'UTC' AS TIMESTAMP)"


def _span() -> str:
    """Return a span as PostgreSQL writes it."""
    return "TRY_CAST(regexp_replace(replace($c, '+', ''), '\\bmons?\\b', 'months') AS INTERVAL)"
