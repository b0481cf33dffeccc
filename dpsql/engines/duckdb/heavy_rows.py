"""The rows of units with many rows, kept in memory beside the files that they are of, for as long as these stay open.

Statements weigh these rows, and add up all others as they are; without them each statement would first find out whose they
are, by counting everybody's. They are read once, when the engine is opened to be asked, and belong to the files as they were
then: `Watched` knows the state from before, and sees before and after each measurement that it is so still. Which units'
rows they are, and from how many on, the policy decides.

Nothing of how many such rows there are is seen outside. Where they would take too much memory, their name stands for a view
of those of the units with most rows and, in the records, of those of the others; of which DuckDB reads the former alone where
more rows count. Where anything fails, it stands for a view that finds all these units each time. On all three a statement is
the same text and has the same answer.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import duckdb

from dpsql.engines.duckdb.opening import KEPT, memory_of
from dpsql.policy.model import Policy, Table
from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.emit.columns import identity, quoted
from dpsql.rewrite.emit.kept import HeavyRows, KeptColumns
from dpsql.rewrite.ir.relation import ref

_MANY = 1
"""Units with more rows are heavy where how many count is chosen for each statement: with each number that may be chosen."""
_GAP = 2**30
"""From one number to the next where they are spread."""
_NUMBER, _TEXT = 8, 24
"""Bytes that a value takes until it is compressed, about."""
_PART = 8
"""What part of DuckDB's memory they may take, all together."""


def heavy_rows_of(policy: Policy) -> Mapping[str, KeptColumns]:
    """Return what is to be kept, by table."""
    found = {table.name: _of_table(table) for table in policy.tables.values() if not table.public}
    return {name: KeptColumns(heavy_rows=rows) for name, rows in found.items() if rows}


def _of_table(table: Table) -> Mapping[str, HeavyRows]:
    most: dict[str, int] = {}
    for bound in table.units.values():
        if bound.through is None:
            rows = bound.max_rows if bound.up_to is None else min(_MANY, bound.max_rows)
            most[bound.column] = min(rows, most.get(bound.column, rows))
    number, spread, count = itertools.islice(_names(table), 3)
    named = {column: f"{table.name} by {column}" for column in most}
    return {
        column: HeavyRows(_place(named[column]), number, spread, count, rows, _place(f"{named[column]}: numbers"))
        for column, rows in most.items()
    }


def _names(table: Table) -> Iterator[str]:
    """Yield names that no column of the table has."""
    taken = {name.lower() for name in table.columns}
    return (name for name in (f"dpsql {number}" for number in itertools.count(1)) if name not in taken)


def _place(name: str) -> str:
    return f"{KEPT}.main.{quoted(name)}"


def keep_heavy_rows(
    connection: duckdb.DuckDBPyConnection,
    policy: Policy,
    named: Callable[[str], str],
    kept: Mapping[str, KeptColumns],
    *,
    read: bool = True,
) -> None:
    """Let statements find what is kept: `read` now, or views of the records that come to the same.

    Raises:
        duckdb.Error: DuckDB does not take the views, of which it reads no row.
    """
    every = row_keepers(policy, named, kept)
    for one in every:
        one.show(connection)
    left = memory_of(connection) // _PART
    for one in every if read else ():
        with suppress(duckdb.Error):  # which may be about rows, as where memory does not suffice: the views stay
            left -= one.keep(connection, left)


def row_keepers(
    policy: Policy, named: Callable[[str], str], kept: Mapping[str, KeptColumns]
) -> "Sequence[RowsOfUnits]":
    """Return what keeps the rows, for each table and each column of it that names units."""
    return [
        RowsOfUnits(policy.tables[name], unit, rows, named(name))
        for name, columns in kept.items()
        for unit, rows in columns.heavy_rows.items()
    ]


@dataclass(frozen=True, slots=True)
class RowsOfUnits:
    """A table's rows by one column that names units, and where they are to be kept."""

    table: Table
    unit: str
    kept: HeavyRows
    source: str
    """The records' table, as statements have to write it."""

    def show(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let the names stand for views that find everything each time."""
        heavy = f"(SELECT u, u AS number, u AS spread, n FROM ({self._counted}) AS c WHERE n > {self.kept.rows})"  # noqa: S608
        numbers = f"SELECT n, count(*) AS units FROM ({self._counted}) AS c GROUP BY n"  # noqa: S608
        connection.execute(f"CREATE OR REPLACE VIEW {self.kept.table} AS {self._rows(heavy)}")
        connection.execute(f"CREATE OR REPLACE VIEW {self.kept.numbers} AS {numbers}")

    def keep(self, connection: duckdb.DuckDBPyConnection, most: int) -> int:
        """Read how many rows units have, which have many, and of as many rows as are at most so many bytes, those with most.

        Returns how many bytes they are, and what names the units.
        """
        units, counts, rows = (
            _place(f"{self.table.name} by {self.unit}: {what}") for what in ("units", "counts", "rows")
        )
        many = f"list(u) FILTER (WHERE n > {self.kept.rows})"
        found = f"SELECT n, count(*) AS units, {many} AS heavy FROM ({self._counted}) AS c GROUP BY n"  # noqa: S608
        connection.execute(f"CREATE OR REPLACE TABLE {counts} AS {found}")
        _replace(connection, self.kept.numbers, f"SELECT n, units FROM {counts}")  # noqa: S608
        heavy = f"FROM {counts} WHERE n > {self.kept.rows}"
        names = self._unit_width * _one(connection, f"SELECT coalesce(sum(units), 0) {heavy}")
        if names > most > 0:
            connection.execute(f"DROP TABLE {counts}")
            return 0
        each = f"SELECT n, {self._width} * sum(n * units) OVER (ORDER BY n DESC) AS size {heavy}"
        size, few = connection.execute(
            f"SELECT coalesce(max(size) FILTER (WHERE size <= {most - names}), 0), "  # noqa: S608
            f"coalesce(max(n) FILTER (WHERE size > {most - names}), {self.kept.rows}) FROM ({each}) AS e"
        ).fetchall()[0]
        named = f"SELECT n, unnest(heavy) AS u FROM {counts}"  # noqa: S608
        numbered = f"SELECT u, n, row_number() OVER (ORDER BY n DESC) AS number FROM ({named}) AS c"  # noqa: S608
        spread = f"SELECT *, number * {_GAP} AS spread FROM ({numbered}) AS c"  # noqa: S608
        connection.execute(f"CREATE OR REPLACE TABLE {units} AS {spread}")
        connection.execute(f"DROP TABLE {counts}")
        sorted_rows = f"{self._rows(units)} WHERE h.n > {few} ORDER BY h.number"
        if few == self.kept.rows:
            _replace(connection, self.kept.table, sorted_rows)
        else:
            connection.execute(f"CREATE OR REPLACE TABLE {rows} AS {sorted_rows}")
            others = f"{self._rows(units)} WHERE h.n <= {few}"
            connection.execute(
                f"CREATE OR REPLACE VIEW {self.kept.table} AS SELECT * FROM {rows} UNION ALL {others}"  # noqa: S608
            )
        connection.execute(f"CHECKPOINT {KEPT}")  # compresses them: texts are then read as numbers of a dictionary
        return int(size) + names

    @property
    def _counted(self) -> str:
        named = self._named
        return f"SELECT {named} AS u, count(*) AS n FROM {self.source} AS s0 WHERE {named} IS NOT NULL GROUP BY 1"  # noqa: S608

    @property
    def _named(self) -> str:
        """Return the very text that tells units apart in statements."""
        return identity(ref(0, self.table, self.unit), DUCKDB)

    @property
    def _unit_width(self) -> int:
        """Return how many bytes a unit takes, about."""
        return 3 * _NUMBER + (_TEXT if self.table.columns[self.unit].type.is_text else _NUMBER)

    @property
    def _width(self) -> int:
        """Return how many bytes a row takes, about."""
        return 3 * _NUMBER + sum(_TEXT if column.type.is_text else _NUMBER for column in self.table.columns.values())

    def _rows(self, units: str) -> str:
        columns = [f"s0.{quoted(name)}" for name in self.table.columns]
        own = (("number", self.kept.number), ("spread", self.kept.spread), ("n", self.kept.count))
        columns += [f"h.{name} AS {quoted(kept)}" for name, kept in own]
        return f"SELECT {', '.join(columns)} FROM {self.source} AS s0 JOIN {units} AS h ON {self._named} = h.u"  # noqa: S608


def _replace(connection: duckdb.DuckDBPyConnection, view: str, select: str) -> None:
    """Put a table in the place of a view, at once or not at all."""
    with connection.cursor() as own:
        own.begin()
        own.execute(f"DROP VIEW {view}")
        own.execute(f"CREATE TABLE {view} AS {select}")
        own.commit()


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    return int(connection.execute(sql).fetchall()[0][0])
