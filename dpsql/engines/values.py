"""Public values as engines return them, made exact: dates are days, timestamps microseconds since 1970."""

import math
from decimal import Decimal
from fractions import Fraction

from dpsql.policy.model import Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.columns import micros_of_interval, micros_of_time, quoted
from dpsql.rewrite.ir.literal import simplest


def public_column(name: str, engine_type: str, dialect: Dialect) -> str:
    """Return the SQL that reads a column of a public table as a boolean, a number or a text.

    Dates and timestamps become numbers in the engine, because Python has no infinite ones, and none outside the years
    1 to 9999; those are NULL, here as in measurements (`Emitter.as_number`).
    """
    text = quoted(name)
    kind = engine_type.lower()
    if kind.startswith("timestamp"):
        return dialect.micros(f"CAST({text} AS TIMESTAMP)")
    if kind.startswith("time"):
        return micros_of_time(text)
    if kind == "interval":
        return micros_of_interval(text)
    if kind == "date":
        return dialect.days(text)
    if kind.startswith(_PLAIN):
        return text
    return dialect.stored_text(text)


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
