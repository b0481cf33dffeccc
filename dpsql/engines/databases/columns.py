"""How rows of any database come into the copy: as columns of texts, total and exact, which DuckDB reads as declared.

Promise: no row can make a copy fail, since whether one was made is seen by everybody. Every expression here is total: what
it can't read is NULL, and is counted. What a column holds, or may hold, is told by its type; text may be of anything.

fare decimal(10,2), declared numeric(10,2)    →  TRY_CAST($c AS DOUBLE); where it is a key or of a public table, DECIMAL(10,2)
paid char(1), declared boolean                →  Y, n, true, F, 1, 0 … in any case
born text, declared date                      →  2024-02-29, and nothing that has to be guessed at
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import numpy as np

from dpsql.engines.databases.catalogue import Family, SourceColumn
from dpsql.engines.duckdb.files import duckdb_literal
from dpsql.errors import ConfigError
from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.emit.emitter import quote_name

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
class ColumnReading:
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


def column_reading(column: Column, source: SourceColumn, *, exact: bool, padded: bool = False) -> ColumnReading | None:
    """Return how a column is read as it is declared; None if it can't be.

    `exact` where double precision does not suffice, and then `padded` where the database takes no blanks at the end for any.

    Raises:
        ConfigError: there is no type for it.
    """
    if not _is_readable(column.type, source):
        return None
    # Every expression is total: what can't be read is NULL, since an error would tell that there is such a row.
    free = source.free
    match column.type:
        case SqlType.SMALLINT | SqlType.INTEGER | SqlType.BIGINT as whole:
            return ColumnReading(
                source, _SIZE[whole], _whole(_SIZE[whole], source), distinct=source.family is Family.WHOLE and not free
            )
        case SqlType.NUMERIC | SqlType.REAL | SqlType.DOUBLE:
            return _number(column, source, exact=exact)
        case SqlType.BOOLEAN:
            words = "lower(trim($c))"
            yes, no = ("1", "0") if column.in_numbers else ("TRUE", "FALSE")
            read = f"CASE WHEN {words} IN {_listed(_TRUE)} THEN {yes} WHEN {words} IN {_listed(_FALSE)} THEN {no} END"
            return ColumnReading(source, "BIGINT" if column.in_numbers else "BOOLEAN", read, distinct=False)
        case SqlType.TEXT | SqlType.CHARACTER | SqlType.ENUM | SqlType.JSON:
            # PostgreSQL's texts have no NUL: with one a value could be grouped by, and not be shown.
            text = "rtrim($c, ' ')" if padded else "$c"
            labels = f"ENUM({', '.join(map(duckdb_literal, source.labels))})" if source.labels else ""
            return ColumnReading(
                source, "VARCHAR", f"CASE WHEN NOT contains($c, chr(0)) THEN {text} END", labels=labels
            )
        case SqlType.UUID:
            return ColumnReading(source, "UUID", "TRY_CAST($c AS UUID)", distinct=source.family is Family.UUID)
        case SqlType.DATE:
            fits = f"regexp_full_match($c, '{_DAY}([ T]00:00(:00(\\.0+)?)?)?')"
            return ColumnReading(source, "DATE", _if(free, fits, f"TRY_CAST({_era('$c')} AS DATE)"), distinct=not free)
        case SqlType.TIMESTAMP | SqlType.TIMESTAMPTZ:
            fits = f"regexp_full_match($c, '{_DAY}([ T]{_CLOCK}(Z|[+-]\\d\\d(:?\\d\\d)?)?)?')"
            return ColumnReading(source, "TIMESTAMP", _if(free, fits, _moment(source)), distinct=False)
        case SqlType.TIME:
            return ColumnReading(
                source,
                "TIME",
                _if(True, f"regexp_full_match($c, '{_CLOCK}')", "TRY_CAST($c AS TIME)"),
                distinct=not free,
            )
        case SqlType.INTERVAL:
            fits = f"regexp_full_match($c, '{_SPAN}')"
            return ColumnReading(
                source, "INTERVAL", _if(source.family is not Family.SPAN, fits, _span()), distinct=False
            )


def _is_readable(declared: SqlType, source: SourceColumn) -> bool:
    in_bytes = declared is SqlType.UUID and source.family is Family.BYTES and source.length == _IN_BYTES
    return source.free or in_bytes or source.family in _READ_AS[declared]


def _if(needed: bool, fits: str, then: str) -> str:
    return f"CASE WHEN {fits} THEN {then} END" if needed else then


def _whole(type_: str, source: SourceColumn) -> str:
    # The cast alone would round, and read more than digits.
    checked = source.free or source.family is not Family.WHOLE
    return _if(checked, f"regexp_full_match($c, '{_INTEGER}')", f"TRY_CAST($c AS {type_})")


def _number(column: Column, source: SourceColumn, *, exact: bool) -> ColumnReading:
    digits, scale = _digits(column.declared)
    fits = f"regexp_full_match($c, '{_NUMBER}')"
    if column.type is SqlType.NUMERIC and not source.free and source.drafted in _READ_EXACTLY:
        return ColumnReading(source, "BIGINT", "TRY_CAST($c AS BIGINT)")
    if exact and column.type is SqlType.NUMERIC and (source.free or source.family is not Family.FLOAT):
        if not 0 < digits <= _MOST_DIGITS or scale > digits:
            raise ConfigError(
                f'column "{column.name}": a snapshot has no type for {column.declared}, which has to be kept exactly',
                hint=f"Declare it with a length of at most {_MOST_DIGITS} digits: numeric(20,0).",
            )
        type_ = f"DECIMAL({digits},{scale})"
        distinct = not source.free and _digits(source.drafted)[1] <= scale
        return ColumnReading(source, type_, _if(source.free, fits, f"TRY_CAST($c AS {type_})"), distinct=distinct)
    return ColumnReading(source, "DOUBLE", _if(source.free, fits, "TRY_CAST($c AS DOUBLE)"), distinct=False)


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


# Values as drivers give them, as texts: total, and exact to the last digit.
#
# What has no text, such as bytes that are no UTF-8, is None; it is counted with what can't be read as the declared type.

_MICROSECOND = timedelta(microseconds=1)
_ONE_DAY, _MIDNIGHT = timedelta(days=1), datetime(1, 1, 1, tzinfo=UTC)


def as_texts(values: Sequence[object], family: Family) -> list[str | None]:
    """Return a column's values as texts."""
    if family is Family.BITS:
        return [_number_of_bits(value) if isinstance(value, bytes) else _text_of(value, family) for value in values]
    if family is Family.BYTES:
        return [_uuid_text(value) for value in values]
    kinds = set(map(type, values))
    # Most columns are of one type: then all values are made texts in one go. A single one that is no UTF-8 leads back
    # to one by one, where that one is None, and the others stay.
    if kinds <= {bytes, type(None)}:
        try:
            return [None if value is None else value.decode() for value in values]  # type: ignore[attr-defined]
        except UnicodeDecodeError:
            pass
    elif kinds <= {int, type(None)}:
        return [None if value is None else str(value) for value in values]
    elif kinds <= {str, type(None)} and all(map(str.isascii, filter(None, values))):  # type: ignore[arg-type]
        return list(values)  # type: ignore[arg-type]
    return [_text_of(value, family) for value in values]


def _text_of(value: object, family: Family) -> str | None:
    match value:
        case None:
            return None
        case str():
            return value if _is_text(value) else None
        # In this order: True is an int to Python, too, and a datetime a date.
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
        case Decimal():
            # Without an exponent, which whole numbers are not read with: 1E+2 is 100.
            return format(value, "f") if value.is_finite() else str(value)
        case bytes() | bytearray() | memoryview():
            return _decoded(bytes(value))
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat(sep=" ")
        case date():
            return value.isoformat()
        case time():
            return value.isoformat() if value.tzinfo is None else None
        case timedelta():
            return _span_text(value, family)
        case UUID():
            return str(value)
        case dict() | list() if family is Family.JSON:
            return _json_text(value)
        case _:
            return None


def _is_text(value: str) -> bool:
    """Return whether a text has nothing but characters: drivers let stand-ins be for what they can't decode."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _number_of_bits(value: bytes) -> str:
    return str(int.from_bytes(value, "big"))


def _uuid_text(value: object) -> str | None:
    """Return a UUID's text; 16 bytes are one, too."""
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        return str(UUID(bytes=raw)) if len(raw) == 16 else _decoded(raw)
    return _text_of(value, Family.UUID)


def _span_text(value: timedelta, family: Family) -> str | None:
    if family is Family.TIME and timedelta() <= value < _ONE_DAY:
        return (_MIDNIGHT + value).time().isoformat()
    return f"{value // _MICROSECOND} microseconds"


def _json_text(value: object) -> str | None:
    try:
        text = json.dumps(value, ensure_ascii=False, default=_json_number)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if _is_text(text) else None


def _json_number(value: object) -> object:
    if isinstance(value, Decimal) and math.isfinite(value):
        return float(value)
    raise TypeError


# Rows on their way into a table of DuckDB's, some thousand at a time: as columns of texts, which DuckDB reads.

_PIECE = "dpsql_piece"
_ROWS, _BYTES = 50_000, 32 * 2**20
"""How many rows are handed over at a time, and how many characters of texts without a limit, if these are fewer rows."""
STEP = 256
"""How many rows are taken from a driver at a time: so many more there may be."""
_LONG = frozenset({Family.TEXT, Family.JSON, Family.BYTES})


def make_table(
    connection: duckdb.DuckDBPyConnection, into: str, readings: Sequence[ColumnReading], names: Sequence[str]
) -> None:
    """Make an empty table for what is read."""
    types = ", ".join(f"{quote_name(name)} {each.type}" for name, each in zip(names, readings, strict=True))
    connection.execute(f"CREATE TABLE {into} ({types})")


def load_rows(
    connection: duckdb.DuckDBPyConnection,
    into: str,
    readings: Sequence[ColumnReading],
    rows: Any,
    came: Callable[[int], None],
) -> list[int]:
    """Append all rows of a driver's result; return how many values there were in each column, read or not.

    `came` is told of each piece how many letters it has. It should end the transaction, which holds what was registered.
    """
    given = [0] * len(readings)
    reads = ", ".join(each.read.replace("$c", f"CAST(c{place} AS VARCHAR)") for place, each in enumerate(readings))
    for piece in _pieces(rows, readings):
        texts, letters = {}, 0
        for place, (values, each) in enumerate(zip(zip(*piece, strict=True), readings, strict=True)):
            given[place] += len(values) - values.count(None)
            column = as_texts(values, each.brought)
            letters += sum(map(len, filter(None, column)))
            # As objects: numpy's own texts would all be as long as the longest.
            texts[f"c{place}"] = np.array(column, dtype=object)
        connection.register(_PIECE, texts)
        connection.execute(f"INSERT INTO {into} SELECT {reads} FROM {_PIECE}")  # noqa: S608
        connection.unregister(_PIECE)
        came(letters)
    return given


def count_unread(
    connection: duckdb.DuckDBPyConnection, into: str, names: Sequence[str], given: Sequence[int]
) -> dict[str, int]:
    """Return how many values of each column could not be read, where there are some: for the operator alone."""
    counts = ", ".join(f"count({quote_name(name)})" for name in names)
    read = connection.execute(f"SELECT {counts} FROM {into}").fetchone() or ()  # noqa: S608
    return {name: had - has for name, had, has in zip(names, given, read, strict=True) if had != has}


def _pieces(rows: Any, readings: Sequence[ColumnReading]) -> Iterator[list[Sequence[object]]]:
    """Yield rows in pieces that are bounded in their number and, but for one step, in what they hold."""
    long = [place for place, each in enumerate(readings) if each.source.family in _LONG]
    piece: list[Sequence[object]] = []
    held = 0
    while step := rows.fetchmany(STEP):
        piece += step
        held += sum(len(row[place] or b"") for place in long for row in step if hasattr(row[place], "__len__"))
        if len(piece) >= _ROWS or held >= _BYTES:
            yield piece
            piece, held = [], 0
    if piece:
        yield piece
