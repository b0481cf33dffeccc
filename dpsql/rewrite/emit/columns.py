"""How a stored column is read: by a cast to its declared type that can neither fail nor make two values one.

A stored column may be wider, narrower or compared otherwise than the declaration says; `engines.tables` admits only
types for which the casts here are total.

day   →  CAST(s0."day" AS DATE)
paid  →  (CAST(s0."paid" AS VARCHAR) COLLATE "C")
"""

import re
from collections.abc import Sequence

from dpsql.errors import InternalError
from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.ir.expr import Ref

_NUMERIC = re.compile(r"(?:numeric|decimal)\((\d+),(-?\d+)\)")
_SAFE_DIGITS = 300


def quoted(name: str) -> str:
    """Return a name as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def stored(ref: Ref, dialect: Dialect) -> str:
    """Return the text that reads a column as its declared type, decimals in double precision.

    Raises:
        Unsupported: it is in JSON, which is not read on this engine.
    """
    column = f"s{ref.source}.{quoted(ref.column.stored_name if ref.column.path else ref.name)}"
    if ref.column.path is not None:
        return _in_json(column, ref.column.path.keys, ref.type, dialect)
    match ref.type:
        case SqlType.NUMERIC:
            return dialect.stored_number(column, representable=representable(ref.column.declared))
        case SqlType.REAL | SqlType.DOUBLE:
            return dialect.stored_number(column, representable=True)
        case SqlType.TEXT | SqlType.CHARACTER | SqlType.UUID | SqlType.ENUM:
            return _text(column, ref.column, dialect)
        case SqlType.TIME | SqlType.INTERVAL if ref.column.declared == SqlType.BIGINT:
            return column  # a subquery's, which has read it already
        case SqlType.TIME:
            return micros_of_time(column)
        case SqlType.INTERVAL:
            return micros_of_interval(column)
        case SqlType.BOOLEAN if ref.column.in_numbers:
            return f"(CASE {column} WHEN 0 THEN FALSE WHEN 1 THEN TRUE END)"
        case SqlType.JSON:
            raise InternalError  # none is read as a whole
        case SqlType.DATE:
            return f"CAST({column} AS DATE)"
        case SqlType.TIMESTAMP | SqlType.TIMESTAMPTZ:
            return f"CAST({column} AS TIMESTAMP)"  # UTC's clock, which is the session's
        case _:
            return column


def identity(ref: Ref, dialect: Dialect) -> str:
    """Return the text that reads a privacy unit: exactly, for two units taken for one would not be kept apart."""
    column = f"s{ref.source}.{quoted(ref.name)}"
    return _text(column, ref.column, dialect) if ref.type.is_text else column


def salt(ref: Ref, unit: str, dialect: Dialect) -> str:
    """Return what a unit, read as `identity` into `unit`, brings to the order of its rows: the same however it is written.

    Numerics of any scale that are equal are one unit, with as many texts as there are scales.
    """
    return dialect.unit_salt(unit, ref.type)


def representable(numeric: str) -> bool:
    """Return whether a numeric(p, s) is in the range of double precision for all its values."""
    match = _NUMERIC.fullmatch(numeric.lower().replace(" ", ""))
    return match is not None and int(match[1]) - int(match[2]) <= _SAFE_DIGITS and int(match[2]) <= _SAFE_DIGITS


def micros_of_time(column: str) -> str:
    """Return the microseconds since midnight."""
    parts = (("hour", 3_600_000_000), ("minute", 60_000_000), ("microseconds", 1))
    return f"({' + '.join(f'CAST(extract({name} FROM {column}) AS BIGINT) * {size}' for name, size in parts)})"


def micros_of_interval(column: str) -> str:
    """Return how long an interval is, in microseconds; NULL for months, which have no length, and beyond 270 years.

    The sum of its parts then is far below what 64 bits hold, with any signs.
    """
    short = f"extract(day FROM {column}) BETWEEN -99999 AND 99999 AND extract(hour FROM {column}) BETWEEN -999999 AND 999999"
    whole = f"extract(year FROM {column}) = 0 AND extract(month FROM {column}) = 0"
    days = f"CAST(extract(day FROM {column}) AS BIGINT) * 86400000000"
    return f"(CASE WHEN {whole} AND {short} THEN {days} + {micros_of_time(column)} END)"


def text_of(column: str, declared: Column, dialect: Dialect) -> str:
    """Return a column as a text: one of a fixed length as such, without the blanks at its end, which mean nothing."""
    text = dialect.stored_text(column)
    if declared.type is not SqlType.CHARACTER:
        return text
    length = declared.characters
    return dialect.unpadded(text if length is None else f"left({text}, {length})")


def _in_json(column: str, keys: Sequence[str], type_: SqlType, dialect: Dialect) -> str:
    """Return a value inside of JSON, NULL where there is none of the type; without keys, whether there is any JSON."""
    if not keys:
        return f"(CASE WHEN {column} IS NOT NULL THEN TRUE END)"
    text = dialect.in_json(column, keys, type_)
    return dialect.by_bytes(text) if type_.is_text else text


def _text(column: str, declared: Column, dialect: Dialect) -> str:
    return dialect.by_bytes(text_of(column, declared, dialect))
