"""Read the public tables at the start of an epoch: facts for planning, rows for group keys and for the shadow."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dpsql.errors import ConfigError
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Policy, SqlType, Table, Value, in_single_precision
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts, PublicRows
from dpsql.rewrite.ir.expr import Facts
from dpsql.rewrite.ir.literal import simplest

# Values of public tables as PostgreSQL will have them: of a type that is narrower than the engine's.
#
# numeric(10,2): 1.005 → 1.01        real: 0.1 → the nearest number in single precision        smallint: 40000 → refused
#
# Planning reads what the engine has, as measurements do. Values that are not of the declared type at all are reported
# before the shadow is filled, and so are values of a key that the shadow could not tell apart.

_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_CHARACTERS = re.compile(r"character varying\((\d+)\)")


def as_shown(value: Value, column: Column) -> Value:
    """Return the value that a column of the declared type has where this one is written into it.

    Raises:
        ValueError: it has no room there; says which type has none.
    """
    if not column.type.has_room(value):
        raise ValueError(column.declared)
    if isinstance(value, str):
        return _text(value, column)
    if column.type is SqlType.NUMERIC and (match := _NUMERIC.fullmatch(column.declared)):
        return _rounded(Fraction(value), int(match[1]), int(match[2]), column)
    if column.type is not SqlType.REAL:
        return value
    try:
        return in_single_precision(value)
    except ValueError:
        raise ValueError(column.declared) from None


def _text(value: str, column: Column) -> str:
    match = _CHARACTERS.fullmatch(column.declared)
    if "\0" in value:
        raise ValueError(column.declared)
    if match is None or len(value) <= int(match[1]):
        return value
    # SQL's own exception: what is too long by blanks alone loses these.
    if value[int(match[1]) :].strip(" "):
        raise ValueError(column.declared)
    return value[: int(match[1])]


def _rounded(value: Fraction, digits: int, places: int, column: Column) -> Fraction:
    # PostgreSQL rounds halves of a numeric away from 0; Python's `round` would take the even neighbour.
    whole, rest = divmod(abs(value) * 10**places, 1)
    number = (whole + (2 * rest >= 1)) * (1 if value >= 0 else -1)
    if abs(number) >= 10**digits:
        raise ValueError(column.declared)
    return Fraction(number, 10**places)


_MOST_ROWS = 1_000_000
_MOST_VALUES = 100_000
"""A column with more distinct values than this is described by its interval alone."""


@dataclass(frozen=True, slots=True)
class Public:
    """The rows of public tables by column, and the facts about every declared column."""

    rows: PublicRows
    declared: DeclaredFacts


class HasPublicRows(Protocol):
    """What public tables are read from: an `Engine`, or a database that is copied."""

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the rows of a table that the policy calls public, at most `limit` + 1 of them."""


def read_public(policy: Policy, engine: HasPublicRows) -> Public:
    """Return the public tables' rows and facts.

    Raises:
        ConfigError: a table is too large to be copied, has what is not of its declared type, or its key is not unique.
    """
    tables = [table for table in policy.tables.values() if table.public]
    rows = {table.name: _columns(table, engine) for table in tables}
    public_facts = {(t.name, name): _facts(values) for t in tables for name, values in rows[t.name].items()}
    for table in tables:
        _check_values(table, rows[table.name])
        _check_key(table, rows[table.name])
    return Public(rows, DeclaredFacts(public_facts, rows))


def _columns(table: Table, engine: HasPublicRows) -> Mapping[str, Sequence[Value | None]]:
    names = list(table.columns)
    rows = engine.public_rows(table.name, names, _MOST_ROWS)
    if len(rows) > _MOST_ROWS:
        raise ConfigError(f'public table "{table.name}" has more than {_MOST_ROWS:,} rows, which is the limit')
    return {name: [_as_declared(row[i], table.columns[name]) for row in rows] for i, name in enumerate(names)}


def _as_declared(value: Value | None, column: Column) -> Value | None:
    """Return a value as statements read it: of a char(n) without what is beyond its length, and the blanks at its end.

    One in double precision is the decimal that PostgreSQL writes, as constants are: 0.1 = 0.1, whose digits never end.
    """
    if column.type is SqlType.CHARACTER and isinstance(value, str):
        return value[: column.characters].rstrip(" ")
    if column.type is SqlType.DOUBLE and isinstance(value, int | Fraction):
        return simplest(Fraction(repr(float(value))))
    return value


def _check_key(table: Table, columns: Mapping[str, Sequence[Value | None]]) -> None:
    for key in table.keys:
        named = [name for name in table.columns if name in key]
        rows = list(zip(*(columns[name] for name in named), strict=True))
        shown = {
            tuple(as_shown(value, table.columns[name]) for name, value in zip(named, row, strict=True))
            for row in rows
            if None not in row
        }
        if len(shown) == len(rows):
            continue
        raise ConfigError(
            f'{table.file}: the key "{", ".join(named)}" of public table "{table.name}" is not unique or has NULLs',
            hint="Infinite dates, dates before the year 1, NaN, and intervals with months count as NULL, too.",
        )


def _check_values(table: Table, columns: Mapping[str, Sequence[Value | None]]) -> None:
    """Refuse what has no room in a column of its declared type: the shadow could not be filled."""
    for name, values in columns.items():
        column = table.columns[name]
        for value in {present for present in values if present is not None}:
            try:
                as_shown(value, column)
            except ValueError as narrow:
                raise ConfigError(
                    f'{table.file}: column "{name}" of public table "{table.name}" has a value that has no room in {narrow}',
                    hint="Declare the type that the engine has.",
                ) from None


def _facts(values: Sequence[Value | None]) -> Facts:
    distinct = {v for v in values if v is not None}
    nullable = len(values) == 0 or None in values
    if len(distinct) <= _MOST_VALUES:
        return Facts.of_values(tuple(sorted(distinct)), nullable=nullable)
    numbers = [Fraction(v) for v in distinct if not isinstance(v, str)]
    return Facts(nullable, Interval(min(numbers), max(numbers)) if numbers else None)
