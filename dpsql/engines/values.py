"""Public values as engines return them, made exact: dates are days, timestamps microseconds since 1970."""

import math
from decimal import Decimal
from fractions import Fraction

from dpsql.policy.model import Value
from dpsql.rewrite.emit.columns import quoted
from dpsql.rewrite.emit.emitter import FIRST, LAST
from dpsql.rewrite.functions.function import Dialect
from dpsql.rewrite.ir.literal import simplest


def public_column(name: str, engine_type: str, dialect: Dialect) -> str:
    """Return the SQL that reads a column of a public table as a boolean, a number or a text.

    Dates and timestamps become numbers in the engine, because Python has no infinite ones, and none outside the years 1 to
    9999; those are NULL, here as in what is measured (`Emitter.as_number`).
    """
    text = quoted(name)
    duck = dialect is Dialect.DUCKDB
    kind = engine_type.lower()
    if kind.startswith("timestamp"):
        moment = f"CAST({text} AS TIMESTAMP)"
        number = f"epoch_us({moment})" if duck else f"CAST(extract(epoch FROM {moment}) * 1000000 AS BIGINT)"
        inside = f"BETWEEN TIMESTAMP '{FIRST} 00:00:00' AND TIMESTAMP '{LAST} 23:59:59.999999'"
        return f"CASE WHEN {moment} {inside} THEN {number} END"
    if kind == "date":
        number = f"CAST({text} - DATE '1970-01-01' AS BIGINT)"
        return f"CASE WHEN {text} BETWEEN DATE '{FIRST}' AND DATE '{LAST}' THEN {number} END"
    if kind.startswith(_PLAIN):
        return text
    return f"CAST({text} AS VARCHAR)"


_PLAIN = (
    "boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint",
    "numeric", "decimal", "real", "float", "double",
)  # fmt: skip


def exact_value(cell: object) -> Value | None:
    """Return a public value without floats; NaN and infinities are NULL."""
    match cell:
        case None | bool() | int() | str():
            return cell
        case float() | Decimal():
            return simplest(Fraction(cell)) if math.isfinite(cell) else None
        case _:
            return str(cell)
