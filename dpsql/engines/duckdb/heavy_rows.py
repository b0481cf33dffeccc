"""The rows of units with many rows, kept in memory beside the files that they are of, for as long as these stay open.

Statements weigh these rows, and add up all others as they are; without them each statement would first find out whose
they are, by counting everybody's. They are read once, when the engine is opened to be asked or soon after, and belong
to the files as they were when these were opened: `WatchedFiles` knows it, and sees before and after each measurement
that it is so still. The policy decides whose rows they are, and from how many on.

Nothing of how many such rows there are is seen outside: their name stands for a view, with any rows behind it. Where
they would take too much memory, that is the rows of the units with most and, in the records, those of the others; of
which DuckDB reads the former alone where more rows count. Where most rows are heavy, all are kept, and what is summed
in full is those of the other units alone. Where anything fails, and until they are read, heavy units are found each
time. A statement is the same text, and has the same answer, whichever it is.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Timer
from time import sleep

import duckdb

from dpsql.engines.duckdb.opening import ATTACHED, KEPT, memory_of
from dpsql.policy.model import Policy, SqlType, Table
from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.emit.emitter import identity, quote_name
from dpsql.rewrite.emit.kept_columns import HeavyRows, KeptColumns
from dpsql.rewrite.ir.relation import ref

_MANY = 1
"""Units with more rows are heavy where how many count is chosen for each statement: with each number that may be chosen."""
_GAP = 2**30
"""From one number to the next where they are spread."""
_NUMBER, _TEXT = 8, 24
"""Bytes that a value takes until it is compressed, about."""
_PATIENCE = 60.0
"""Seconds that reading all of them may take; then those that are not read are found each time."""
_COMPUTED = f"SELECT view_name FROM duckdb_views() WHERE database_name = '{ATTACHED}'"  # noqa: S608  # a name of ours
"""The views of an attached file, whose rows are made each time."""
_ATTEMPTS, _PAUSE = 20, 0.1
"""How often it is tried to compress what is kept, and the seconds between."""
_PART = 8
"""The part of DuckDB's memory that they may take, all together."""


def heavy_rows_of(policy: Policy, catalog: str = KEPT) -> Mapping[str, KeptColumns]:
    """Return what is to be kept, by table, in an attached database."""
    by_table = {table.name: _of_table(table, catalog) for table in policy.tables.values() if not table.public}
    return {name: KeptColumns(heavy_rows=rows) for name, rows in by_table.items() if rows}


def _of_table(table: Table, catalog: str) -> Mapping[str, HeavyRows]:
    most: dict[str, int] = {}
    for bound in table.units.values():
        if bound.through is None:
            rows = bound.max_rows if bound.up_to is None else min(_MANY, bound.max_rows)
            most[bound.column] = min(rows, most.get(bound.column, rows))
    return {column: _of_unit(table, column, rows, catalog) for column, rows in most.items()}


def _of_unit(table: Table, column: str, rows: int, catalog: str) -> HeavyRows:
    name = f"{catalog}.main.{quote_name(f'{table.name} by {column}')}"
    in_full, overlap, others, numbers = (_beside(name, what) for what in ("in full", "overlap", "others", "numbers"))
    number, spread, count = itertools.islice(_names(table), 3)
    return HeavyRows(name, in_full, f"{overlap}()", others, numbers, number, spread, count, rows)


def _names(table: Table) -> Iterator[str]:
    """Yield names that no column of the table has."""
    taken = {name.lower() for name in table.columns}
    return (name for name in (f"dpsql {number}" for number in itertools.count(1)) if name not in taken)


def _beside(name: str, what: str) -> str:
    return f'{name[:-1]}: {what}"'


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
    for rows in every:
        rows.show(connection)
    if read:
        read_heavy_rows(connection, every, lambda: False)


def read_heavy_rows(
    connection: duckdb.DuckDBPyConnection, every: "Sequence[RowsOfUnits]", over: Callable[[], bool]
) -> None:
    """Read what views have stood for so far, also while statements run that find these; until it is `over`."""
    # Best effort: a view stands for each until it is read, and answers the same, only later.
    left, stop = memory_of(connection) // _PART, Timer(_PATIENCE, connection.interrupt)
    stop.start()
    try:
        computed = {name for (name,) in connection.execute(_COMPUTED).fetchall()}  # which may take for ever
        for rows in every:
            with suppress(duckdb.Error):  # which may be about rows, as where memory does not suffice: the views stay
                wanted = rows.table.name not in computed and stop.is_alive() and not over()
                left -= rows.keep(connection, left) if wanted else 0
    finally:
        stop.cancel()


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
        connection.execute(f"CREATE OR REPLACE VIEW {self.kept.numbers} AS {numbers}")
        few = f"(SELECT u FROM ({self._counted}) AS c WHERE n <= {self.kept.rows})"  # noqa: S608
        others = f"SELECT {', '.join(self._columns)} FROM {self.source} AS s0 JOIN {few} AS h ON {self._named} = h.u"  # noqa: S608
        connection.execute(f"CREATE OR REPLACE VIEW {self.kept.others} AS {others}")
        self._let_stand(connection, self._rows(heavy), self._every_row, overlap=1)

    def keep(self, connection: duckdb.DuckDBPyConnection, most: int) -> int:
        """Read how many rows units have, which have many, and these units' rows, as far as all that is so many bytes at most.

        Returns about how many bytes it is.
        """
        numbers, units, rows = (_beside(self.kept.table, what) for what in ("counts", "units", "rows"))
        connection.execute(f"CREATE OR REPLACE TABLE {numbers} AS SELECT * FROM {self.kept.numbers}")  # noqa: S608
        # The name that statements say stays, with the table behind it now in place of the question.
        connection.execute(f"CREATE OR REPLACE VIEW {self.kept.numbers} AS SELECT * FROM {numbers}")  # noqa: S608
        counts = connection.execute(f"SELECT n, units FROM {numbers} ORDER BY n DESC").fetchall()  # noqa: S608
        if (extent := self.extent(counts, most)) is None:
            return 0
        listed = f"SELECT u, n, row_number() OVER (ORDER BY n DESC) AS number FROM ({self._counted}) AS c"  # noqa: S608
        spread = f"SELECT *, number * {_GAP} AS spread FROM ({listed} WHERE n > {extent.listed}) AS c"  # noqa: S608
        connection.execute(f"CREATE OR REPLACE TABLE {units} AS {spread}")
        query = f"{self._rows(units)} WHERE h.n > {extent.kept} ORDER BY h.number"
        connection.execute(f"CREATE OR REPLACE TABLE {rows} AS {query}")
        self._keep_others(connection, units, extent)
        heavy, every, count = f"SELECT * FROM {rows}", self._every_row, quote_name(self.kept.count)  # noqa: S608
        if extent.of_all:
            heavy, every = f"{heavy} WHERE {count} > {self.kept.rows}", heavy
        elif extent.kept > extent.listed:
            heavy = f"{heavy} UNION ALL {self._rows(units)} WHERE h.n <= {extent.kept}"
        self._let_stand(connection, heavy, every, overlap=0 if extent.of_all else 1)
        _compress(connection, self.kept.table.partition(".")[0])
        return extent.size

    def _keep_others(self, connection: duckdb.DuckDBPyConnection, units: str, extent: "Extent") -> None:
        """Keep the rows of units that are not heavy, if they have room; else they are those whose unit is not listed."""
        if extent.listed != self.kept.rows:  # where all are listed, which nobody asks for
            return
        no_heavy = f"{self._named} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {units} AS h WHERE h.u = {self._named})"  # noqa: S608
        others = f"SELECT {', '.join(self._columns)} FROM {self.source} AS s0 WHERE {no_heavy}"  # noqa: S608
        if extent.with_others:
            rows = _beside(self.kept.table, "rows of others")
            connection.execute(f"CREATE OR REPLACE TABLE {rows} AS {others}")
            others = f"SELECT * FROM {rows}"  # noqa: S608
        connection.execute(f"CREATE OR REPLACE VIEW {self.kept.others} AS {others}")

    def extent(self, counts: Sequence[tuple[int, int]], most: int) -> "Extent | None":
        """Return what is kept of so many units with so many rows each, those with most first; None: they are too many."""
        least = self.kept.rows
        heavy = [(n, units) for n, units in counts if n > least]
        in_all, of_heavy = (sum(n * units for n, units in some) for some in (counts, heavy))
        size = self.width * in_all + self.unit_width * sum(units for _, units in counts)
        # Where half of the rows are heavy, to sum all and then to take these off reads more than to keep both apart.
        if least > 1 and 2 * of_heavy >= in_all and size <= most:
            return Extent(0, 0, size, of_all=True)
        size = self.unit_width * sum(units for _, units in heavy)
        if size > most:
            return None
        for n, units in heavy:
            if size + self.width * n * units > most:
                return Extent(least, n, size)
            size += self.width * n * units
        with_others = least == _MANY and size + self.width * (in_all - of_heavy) <= most  # else nobody asks for them
        return Extent(least, least, size + self.width * (in_all - of_heavy) * with_others, with_others=with_others)

    @property
    def unit_width(self) -> int:
        """Return how many bytes a unit takes, about."""
        return 3 * _NUMBER + (_TEXT if self.table.columns[self.unit].type.is_text else _NUMBER)

    @property
    def width(self) -> int:
        """Return how many bytes a row takes until it is compressed, about."""
        texts = [column.type.is_text or column.type is SqlType.JSON for column in self.table.columns.values()]
        return 3 * _NUMBER + sum(_TEXT if is_text else _NUMBER for is_text in texts)

    def _let_stand(self, connection: duckdb.DuckDBPyConnection, heavy: str, every: str, *, overlap: int) -> None:
        """Let the names stand for heavy rows and for those that are summed in full, both at once."""
        with connection.cursor() as own:
            # In one transaction: a statement that saw heavy rows kept apart, and the sum in full as it was before, or
            # the other way round, would count these rows twice or not at all.
            own.begin()
            own.execute(f"CREATE OR REPLACE VIEW {self.kept.table} AS {heavy}")
            own.execute(f"CREATE OR REPLACE VIEW {self.kept.in_full} AS {every}")
            own.execute(f"CREATE OR REPLACE MACRO {self.kept.overlap} AS {overlap}")
            own.commit()

    @property
    def _counted(self) -> str:
        named = self._named
        return f"SELECT {named} AS u, count(*) AS n FROM {self.source} AS s0 WHERE {named} IS NOT NULL GROUP BY 1"  # noqa: S608

    @property
    def _named(self) -> str:
        """Return the very text that tells units apart in statements."""
        return identity(ref(0, self.table, self.unit), DUCKDB)

    @property
    def _columns(self) -> list[str]:
        return [f"s0.{quote_name(name)}" for name in self.table.columns]

    @property
    def _every_row(self) -> str:
        return f"SELECT {', '.join(self._columns)}, 0 AS {quote_name(self.kept.count)} FROM {self.source} AS s0"  # noqa: S608

    def _rows(self, units: str) -> str:
        own = (("number", self.kept.number), ("spread", self.kept.spread), ("n", self.kept.count))
        columns = [*self._columns, *(f"h.{name} AS {quote_name(kept)}" for name, kept in own)]
        return f"SELECT {', '.join(columns)} FROM {self.source} AS s0 JOIN {units} AS h ON {self._named} = h.u"  # noqa: S608


def _compress(connection: duckdb.DuckDBPyConnection, catalog: str) -> None:
    """Let texts be read as numbers of a dictionary; a statement that is reading may be in the way."""
    for _ in range(_ATTEMPTS):
        with suppress(duckdb.TransactionException):
            connection.execute(f"CHECKPOINT {catalog}")
            return
        sleep(_PAUSE)


@dataclass(frozen=True, slots=True)
class Extent:
    """The rows that are kept."""

    listed: int
    """Units with more rows are listed."""
    kept: int
    """Rows of units with more are kept."""
    size: int
    """About how many bytes all that is."""
    with_others: bool = False
    """Whether the other rows are kept, too, apart from them."""
    of_all: bool = False
    """Whether the rows that are summed in full are kept, too: most are heavy, and need not be read from the records."""
