"""How a column of PostgreSQL's comes into the copy: as the text that PostgreSQL writes, in the type that DuckDB reads.

Promise: no row can make a copy fail, since whether one was made is seen by everybody; so every expression here is total on
both sides, and what can't be copied is refused by its type. And no statement can tell the copy from the records: what it
holds is what statements read (`rewrite.emit.columns`), value by value.

day date               →  '2019-03-01', '4714-11-24 (BC)', 'infinity'   DATE
fare numeric           →  '12.5', 'NaN'                                 DOUBLE
account numeric(20,0)  →  '12345678901234567890'                        DECIMAL(20,0), of a unit or a public table
"""

import re
from dataclasses import dataclass

from dpsql.errors import ConfigError
from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.dialects.postgres import POSTGRES
from dpsql.rewrite.emit.columns import quoted, representable

_DECIMAL = re.compile(r"numeric\((\d+),(\d+)\)")
_MOST_DIGITS, _SAFE_DIGITS = 38, 15
"""Digits of DuckDB's decimals, and of those that double precision tells apart."""
_LAST_MOMENT = "294247-01-10 04:00:54.775806"
"""DuckDB's last one. PostgreSQL has 29 years more, which here and there are beyond every bound."""
_WHOLE = frozenset({"smallint", "integer", "bigint"})
_MOMENT = r"^(\d+-\d\d-\d\d)(.*) BC$"


@dataclass(frozen=True, slots=True)
class CopiedColumn:
    """One column on its way."""

    name: str
    read: str
    """PostgreSQL's expression of a text, or NULL."""
    type: str
    """DuckDB's type, to which every such text can be cast."""
    distinct: bool = True
    """Whether different values stay different."""


def copied_column(column: Column, stored: str, *, exact: bool) -> CopiedColumn:
    """Return how a column of PostgreSQL's type `stored` is copied; `exact` where double precision does not suffice.

    Raises:
        ConfigError: there is no type for it.
    """
    name, text = column.name, quoted(column.name)
    match column.type:
        case SqlType.SMALLINT | SqlType.INTEGER | SqlType.BIGINT:
            return CopiedColumn(name, text, column.type.value.upper())
        case SqlType.NUMERIC | SqlType.REAL | SqlType.DOUBLE:
            return _number(column, stored, exact=exact)
        case SqlType.BOOLEAN:
            # Numbers that are no boolean's can't be cast to one; statements read them as none, in the copy as in the records.
            return CopiedColumn(name, text, "BIGINT" if column.in_numbers else "BOOLEAN")
        case SqlType.TEXT | SqlType.CHARACTER | SqlType.ENUM | SqlType.JSON:
            return CopiedColumn(name, f"CAST({text} AS VARCHAR)", "VARCHAR")
        case SqlType.UUID:
            return CopiedColumn(name, text, "UUID")
        case SqlType.DATE:
            return CopiedColumn(name, _era(text, "0001-01-01"), "DATE")
        case SqlType.TIMESTAMP | SqlType.TIMESTAMPTZ:
            return CopiedColumn(name, _moment(f"CAST({text} AS TIMESTAMP)"), "TIMESTAMP", distinct=False)
        case SqlType.TIME:
            return CopiedColumn(name, text, "TIME")
        case SqlType.INTERVAL:
            return CopiedColumn(name, _span(text), "INTERVAL", distinct=False)


def _number(column: Column, stored: str, *, exact: bool) -> CopiedColumn:
    name, text = column.name, quoted(column.name)
    if stored in _WHOLE:
        return CopiedColumn(name, text, "BIGINT")
    decimal = _DECIMAL.fullmatch(stored)
    digits, scale = (0, 0) if decimal is None else (int(decimal[1]), int(decimal[2]))
    if exact and stored.startswith("numeric"):
        if not 0 < digits <= _MOST_DIGITS or scale > digits:
            raise ConfigError(
                f'column "{name}": a snapshot has no type for {stored}, which has to be kept exactly',
                hint=f"Give it a length of at most {_MOST_DIGITS} digits in PostgreSQL: numeric(20,0).",
            )
        return CopiedColumn(name, f"NULLIF({text}, 'NaN'::numeric)", f"DECIMAL({digits},{scale})")
    is_numeric = column.type is SqlType.NUMERIC and not representable(column.declared)
    read = POSTGRES.stored_number(text, representable=not is_numeric)
    return CopiedColumn(name, read, "DOUBLE", distinct=0 < digits <= _SAFE_DIGITS)


def _era(text: str, first: str) -> str:
    """Return a date or a timestamp as a text, with the era where DuckDB reads it."""
    before = f"regexp_replace({text}::text, '{_MOMENT}', '\\1 (BC)\\2')"
    return f"CASE WHEN {text} >= '{first}' THEN {text}::text ELSE {before} END"


def _moment(text: str) -> str:
    return f"CASE WHEN {text} > '{_LAST_MOMENT}' THEN 'infinity' ELSE {_era(text, '0001-01-01 00:00:00')} END"


def _span(text: str) -> str:
    """Return an interval's days and microseconds; where statements read none, one that they read as none, a month."""
    whole = f"extract(year FROM {text}) = 0 AND extract(month FROM {text}) = 0"
    short = (
        f"extract(day FROM {text}) BETWEEN -99999 AND 99999 AND extract(hour FROM {text}) BETWEEN -999999 AND 999999"
    )
    parts = (("hour", 3_600_000_000), ("minute", 60_000_000), ("microseconds", 1))
    micros = " + ".join(f"extract({name} FROM {text})::bigint * {size}" for name, size in parts)
    span = f"extract(day FROM {text})::int || ' days ' || ({micros}) || ' microseconds'"
    return f"CASE WHEN {whole} AND {short} THEN {span} WHEN {text} IS NOT NULL THEN '1 month' END"
