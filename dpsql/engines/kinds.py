"""The types of an engine that may stand behind a declared one, and public values as engines return them, made exact.

Statements read a column through a cast to its declared type (`rewrite.stored`), so a type fits if that cast can never
fail and changes no value: else an error, or two units that look the same, would be a fact about somebody's row.
"""

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction

from dpsql.policy.model import Column, SqlType, Table, UniqueKey, Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.columns import micros_of_interval, micros_of_time, quoted, representable
from dpsql.rewrite.ir.literal import simplest

_CHARACTERS = re.compile(r"character\((\d+)\)")
_IN_BRACKETS = re.compile(r"^(enum|varchar|character varying|character)\(.*\)$|\(\d+\)", re.DOTALL)
_ENUMERATION = re.compile(r"enum\((.*)\)", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(r"'((?:[^']|'')*)'")
LOOSE = " (nondeterministic collation)"
"""Stands behind the type of a column of PostgreSQL's whose collation takes different texts for one."""


def fits(declared: SqlType, written: str, stored: str, dialect: Dialect) -> bool:
    """Return whether a column of the engine's type `stored` can be read as the declared type, `written` in full."""
    plain = stored.lower().removesuffix(LOOSE)
    kind = _IN_BRACKETS.sub(r"\1", plain)
    if declared.is_integer:
        return kind in _integers(declared, dialect)
    if not declared.is_number:
        return kind in dialect.stored_types.others[declared]
    if kind in _integers(
        SqlType.BIGINT, dialect
    ) | dialect.stored_types.floats | dialect.stored_types.wide or representable(kind):
        return True
    # Without a length a numeric may be beyond double precision; only a plain numeric is read with that in mind.
    return declared is SqlType.NUMERIC and kind == "numeric" and not representable(written)


def fits_column(column: Column, stored: str, dialect: Dialect) -> bool:
    """Return whether a column of the engine's type `stored` can be read by its declared type."""
    if column.in_numbers:
        return (
            fits(SqlType.BIGINT, SqlType.BIGINT.value, stored, dialect) or stored.lower() in dialect.stored_types.wide
        )
    return fits(column.type, column.declared, stored, dialect)


def engine_labels(stored: str) -> frozenset[str] | None:
    """Return the labels of an engine's enumeration; None of another type."""
    inside = _ENUMERATION.fullmatch(stored.removesuffix(LOOSE))
    return None if inside is None else frozenset(label.replace("''", "'") for label in _LABEL.findall(inside[1]))


def identifies(declared: SqlType, stored: str, dialect: Dialect) -> bool:
    """Return whether different units have different values, and one unit one value, as the engine compares them.

    Floats round, and NaN or −0 equals what it is not. Texts are read byte by byte: of a type or collation to which "Ann" is
    "ann", one unit would be two, with twice the rows that it may have.
    """
    kind = stored.lower()
    if declared.is_text:
        return kind != "citext" and not kind.endswith(LOOSE)
    return declared.is_integer or kind not in dialect.stored_types.floats


def unique_as_declared(
    table: Table, unique_keys: frozenset[UniqueKey], kinds_of: Callable[[str], Mapping[str, str]]
) -> frozenset[UniqueKey]:
    """Return which of the keys that the engine keeps unique are so as statements read them.

    Texts that differ in the blanks at their ends, or beyond its length, are one in a char(n). `kinds_of` returns the
    engine's types of a table's columns.
    """
    asked = frozenset[str]().union(*unique_keys)
    cut = {name: c.characters for name, c in table.columns.items() if c.type is SqlType.CHARACTER and name in asked}
    if not cut:
        return unique_keys
    kinds = kinds_of(table.name)
    short = {name for name, length in cut.items() if _is_as_short(kinds[name].lower(), length)}
    return frozenset(key for key in unique_keys if key.isdisjoint(cut.keys() - short))


def _is_as_short(kind: str, length: int | None) -> bool:
    stored = _CHARACTERS.fullmatch(kind)
    return stored is not None and length is not None and int(stored[1]) <= length


def _integers(widest: SqlType, dialect: Dialect) -> frozenset[str]:
    types = dialect.stored_types.integers
    order = list(types)
    return frozenset[str]().union(*(types[kind] for kind in order[: order.index(widest) + 1]))


# Public values as engines return them, made exact: dates are days, timestamps microseconds since 1970.


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
    if kind.startswith(_AS_IT_IS):
        return text
    return dialect.stored_text(text)


_AS_IT_IS = (
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
