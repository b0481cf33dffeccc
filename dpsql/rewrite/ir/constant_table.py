"""Public rows that stand in the engine's statement itself: what VALUES, a series or a query over public tables makes.

The engine reads them as written there, so that no table of its own is looked up, and nothing about them depends on records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.policy.model import Column, SqlType, Table, Value

TableRows = tuple[tuple[Value | None, ...], ...]
_NAME = "(constants)"
"""Their name in messages and EXPLAIN."""
_DECLARED = {SqlType.NUMERIC: "numeric(38,18)"}
"""Decimals are written in double precision, which has room for all of them."""


@dataclass(frozen=True, slots=True)
class ConstantTable(Table):
    """A public table whose rows are known to planning and written into the statement."""

    rows: TableRows = ()
    awaited: bool = False
    """Whether it is the answer to an inner query, which nobody knew when the statement was planned."""
    single: bool = False
    """Whether that answer always has one row."""

    @property
    def by_column(self) -> Mapping[str, Sequence[Value | None]]:
        """Return the rows by column."""
        return {name: tuple(row[place] for row in self.rows) for place, name in enumerate(self.columns)}


def constant_table(
    names: Sequence[str], types: Sequence[SqlType], rows: Sequence[tuple[Value | None, ...]]
) -> ConstantTable:
    """Return a table of constants; its key is the first column of whole numbers or texts that tells all rows apart."""
    columns = {
        name: _column(name, type_, [row[place] for row in rows])
        for place, (name, type_) in enumerate(zip(names, types, strict=True))
    }
    keys = [
        name
        for place, (name, column) in enumerate(columns.items())
        if (column.type.is_integer or column.type.is_text)
        and not column.nullable
        and len({row[place] for row in rows}) == len(rows)
    ]
    return ConstantTable(_NAME, columns, {}, public=True, key=next(iter(keys), None), rows=tuple(rows))


def _column(name: str, type_: SqlType, cells: Sequence[Value | None]) -> Column:
    values = {cell for cell in cells if cell is not None}
    return Column(
        name,
        type_,
        _DECLARED.get(type_, type_.value),
        values=tuple(sorted(values)),
        step=Fraction(1) if type_.is_integer else None,
        nullable=len(values) < len(set(cells)) or not cells,
    )
