"""Columns that an engine keeps of a table beside its own, computed once from the very rows that statements read.

An engine that keeps something promises this. A text's column holds in every row the value that the text has there. A mark
belongs to the units with more rows than it says: it is one number in all rows of such a unit, another one for each of
them, and NULL in all other rows. A unit's number is in all its rows, another one for each unit, and NULL in nobody's
rows. Rows that are kept apart are all rows of the units with more than so many in the whole table, and no others: with
the table's own columns, each row as often as the table has it; so are the others' rows. The sum in full, where its
`count` is at most some n, is over all rows, or over those of units with at most n, as `overlap` says. Rows do not change
while they are kept.

(CASE WHEN s0."fare" BETWEEN 0e0 AND 100e0 THEN TRY_CAST(s0."fare" * 20e0 AS INTEGER) … END)  →  s0."dpsql 12"
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HeavyMark:
    """A column with the numbers of the units that have more than `rows` rows in the whole table."""

    column: str
    rows: int


@dataclass(frozen=True, slots=True)
class HeavyRows:
    """A table of its own with the rows of units that have more than `rows` rows in the whole table, and what is beside it."""

    table: str
    """As statements have to write it; so are the others."""
    in_full: str
    """The table of rows that are summed in full: all, or those of the units that have no more rows than count."""
    overlap: str
    """How often heavy units' rows are in that: 1 or 0."""
    others: str
    """The table of the other rows: those of units with no more than `rows` in the whole table."""
    numbers: str
    """The table that says how many `units` have `n` rows in the whole table, of all units."""
    number: str
    """The column with the units' numbers, without gaps: an array has room for all of them."""
    spread: str
    """The same with gaps, so that few units are told apart without an array for all."""
    count: str
    """The column that says how many rows the unit has in the whole table; where all are summed in full it says 0 there."""
    rows: int


@dataclass(frozen=True, slots=True)
class KeptColumns:
    """Columns that no client sees, of one table."""

    heavy: Mapping[str, HeavyMark] = field(default_factory=dict)
    """By the column that names the units."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """By expressions of one column of `s0`, as they are written; not for a table that a LEFT JOIN may find no row of."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Columns with the units' numbers, by the column that names them. The number of a unit depends on the others."""
    heavy_rows: Mapping[str, HeavyRows] = field(default_factory=dict)
    """By the column that names the units."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all columns that are kept."""
        return frozenset((*(mark.column for mark in self.heavy.values()), *self.texts.values(), *self.units.values()))


NOTHING = KeptColumns()


def nothing_kept(table: str) -> KeptColumns:
    """Return that there are only a table's own columns."""
    del table
    return NOTHING
