"""Made-up rows of protected tables, for previews: drawn from the policy and from public tables, and from nothing else.

Row n of a table is always the same. Each value is a hash of the names of table and column, and of n. It is read as one of
the values that the policy declares, as a number within the bounds, or as a value of a public table that the column points
to. Keys are numbered, and a reference to a protected table has the key of a made-up row of that table.

Promise: nothing here knows an engine, a ledger or a release.
"""

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from dpsql.gateway.catalogue.public_tables import as_shown
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Policy, SqlType, Table, Value
from dpsql.rewrite.analysis.declared_facts import PublicRows
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.literal import format_value, quoted_name
from dpsql.shadow.splice import released_table as from_item

MOST_ROWS = 1_000
_SECOND = 10**6
_YEAR_2000 = 10_957  # days since 1970-01-01
_FEW = 10
_STEPS = 1_000
"""How many different numbers stand for all between two bounds."""
_NULLS = 8
"""One value in so many is NULL, where the policy says that there may be NULL."""
_USUAL: dict[SqlType, Interval] = {
    SqlType.DATE: Interval.of(_YEAR_2000, _YEAR_2000 + 364),
    SqlType.TIMESTAMP: Interval.of(_YEAR_2000 * DAY, (_YEAR_2000 + 365) * DAY - _SECOND),
    SqlType.TIMESTAMPTZ: Interval.of(_YEAR_2000 * DAY, (_YEAR_2000 + 365) * DAY - _SECOND),
    SqlType.TIME: Interval.of(0, DAY - _SECOND),
    SqlType.INTERVAL: Interval.of(0, DAY),
}
"""Where the times lie of a column without bounds."""


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Makes up rows of the tables of one policy."""

    policy: Policy
    rows: PublicRows

    def item(self, table: Table, number: int | None) -> str:
        """Return so many rows of a table, at most and unless given `MOST_ROWS`, as something that may stand in FROM."""
        columns = table.columns.values()
        lines = [self.row(table, at) for at in range(MOST_ROWS if number is None else min(number, MOST_ROWS))]
        texts = [
            [
                None if value is None else format_value(value, column.type)
                for value, column in zip(line, columns, strict=True)
            ]
            for line in lines
        ]
        return from_item([quoted_name(column.name) for column in columns], [_type(column) for column in columns], texts)

    def row(self, table: Table, at: int) -> tuple[Value | None, ...]:
        """Return one row, by its number from 0 on."""
        return tuple(self.value(table, column, at) for column in table.columns.values())

    def value(self, table: Table, column: Column, at: int, steps: int = 0) -> Value | None:
        """Return the value of a column in one row; `steps` references have led there."""
        if column.nullable and _drawn(table, column.name, at, "null") % _NULLS == 0:
            return None
        if column.paths:
            return self._object(table, column, at)
        # References may lead in a circle: after as many steps as there are tables one has come back, and a value is
        # made up there.
        if steps < len(self.policy.tables) and (target := _target(table, column)) is not None:
            return self._pointed(table, column, at, target, steps)
        return _fitting(_value(table, column, at), column)

    def _object(self, table: Table, column: Column, at: int) -> str:
        """Return JSON with the declared paths, some of which may be missing."""
        made: dict[str, object] = {}
        for path in column.paths:
            value, place = self.value(table, path, at), made
            if value is None or path.path is None:
                continue
            for key in path.path.keys[:-1]:
                # Where one path leads through another one's value there is no object to go on in, and the deeper one is
                # missing.
                inner = place.setdefault(key, {})
                place = inner if isinstance(inner, dict) else {}
            place.setdefault(path.path.keys[-1], _in_json(value, path.type))
        return json.dumps(made, ensure_ascii=False)

    def _pointed(self, table: Table, column: Column, at: int, target: tuple[str, str], steps: int) -> Value | None:
        """Return a key of the table that a column points to: of a public row, or of a made-up one."""
        name, key = target
        # Columns that point to a table together point to one row of it.
        drawn = _drawn(table, column.name if column.references is not None else name, at, "reference")
        values = self.rows.get(name, {}).get(key)
        if values is not None:
            return values[drawn % len(values)] if values else None
        to = self.policy.tables[name]
        # A key that points elsewhere has a row there of its own, and so stays unique.
        place = at if _is_key(table, column) else drawn % MOST_ROWS
        return self.value(to, to.columns[key], place, steps + 1)


def _in_json(value: Value, type_: SqlType) -> object:
    """Return a value as JSON has it."""
    if isinstance(value, bool) or type_.is_integer:
        return value
    return float(value) if type_.is_number else format_value(value, type_)


def told_of(table: Table) -> str:
    """Return what is said of made-up rows."""
    return (
        f"these rows of {table.name} are made up from its declaration, at most {MOST_ROWS:,}, and no record was read; ask for"
        " count(*), sum(x), avg(x) … GROUP BY"
    )


def _target(table: Table, column: Column) -> tuple[str, str] | None:
    """Return the table and the column that a column points to, by itself or with others."""
    if column.references is not None:
        return column.references.table, column.references.column
    pairs = ((name, named[column.name]) for name, named in table.references.items() if column.name in named)
    return next(pairs, None)


def _is_key(table: Table, column: Column) -> bool:
    return any(column.name in key for key in table.keys)


def _value(table: Table, column: Column, at: int) -> Value:
    """Return a value of a column that points nowhere."""
    drawn = _drawn(table, column.name, at, "value")
    number = at if _is_key(table, column) else drawn
    match column.type:
        case SqlType.BOOLEAN:
            return column.values[drawn % len(column.values)] if column.values else drawn % 2 == 1
        case _ if column.values:
            return column.values[number % len(column.values)]
        case SqlType.UUID:
            digits = f"{drawn:032x}"
            # The 4 and the 8 say that it is a random UUID (version 4).
            return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
        case SqlType.TEXT | SqlType.CHARACTER | SqlType.ENUM:
            return f"{number % MOST_ROWS + 1} made up"
        case (
            SqlType.SMALLINT
            | SqlType.INTEGER
            | SqlType.BIGINT
            | SqlType.NUMERIC
            | SqlType.REAL
            | SqlType.DOUBLE
            | SqlType.JSON
        ):
            return _number(column, number, keyed=_is_key(table, column))
        case SqlType.DATE | SqlType.TIMESTAMP | SqlType.TIMESTAMPTZ | SqlType.TIME | SqlType.INTERVAL:
            return _number(column, number, keyed=_is_key(table, column))
        case _ as never:
            assert_never(never)


def _number(column: Column, number: int, *, keyed: bool) -> Value:
    """Return a number, or a time as one: of a key by its row's number, else anywhere within the bounds."""
    bounds = column.bounds or _USUAL.get(column.type)
    if bounds is None:
        return number % MOST_ROWS + 1 if column.type.is_integer else Fraction(number % _FEW) * (column.step or 1)
    step = _SECOND if column.type.is_temporal and column.type is not SqlType.DATE else column.step
    if step is None:
        step = Fraction(1) if column.type.is_integer or column.type.is_temporal else bounds.width / _STEPS
    if step == 0:
        return _plain(bounds.low)
    first, last = -(-bounds.low // step), bounds.high // step
    if last < first:
        return _plain(bounds.low)
    room = int(last - first + 1)
    return _plain((first + (number if keyed else number % room) % room) * step)


def _plain(value: Fraction | int) -> Value:
    return int(value) if Fraction(value).denominator == 1 else value


def _fitting(value: Value, column: Column) -> Value | None:
    """Return a value that has room in its column's type: a text is cut off; for a number without room NULL, or 0."""
    if column.type in (SqlType.TEXT, SqlType.CHARACTER):
        return value
    try:
        as_shown(value, column)
    except ValueError:
        return None if column.nullable else 0
    return value


def _type(column: Column) -> str:
    """Return the type of a column as a statement may write it anywhere."""
    return column.spelled_type


def _drawn(table: Table, name: str, at: int, what: str) -> int:
    """Return a number of 128 bits that depends on names and a row's number alone."""
    text = "\0".join((table.name, name, str(at), what))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")
