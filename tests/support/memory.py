"""DuckDB in memory: the engine's own code over tables that a test fills."""

import csv
import datetime as dt
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa

from dpsql.engines.duckdb.engine import DuckDb, statement_cache
from dpsql.engines.duckdb.files import WatchedFiles
from dpsql.engines.duckdb.opening import ALLOWED_OPTIMIZERS, CAREFULLY, DUCKDB_SETTINGS, MEMORY, other_optimizers
from dpsql.engines.watch import Use
from dpsql.errors import EngineFailed
from dpsql.policy.model import Column, Policy, SqlType, Table
from dpsql.privacy.release.exact import EngineRow
from dpsql.rewrite.emit.emitter import quote_name
from tests.support.records import ZONES, Cell, Row
from tests.support.schema import APART, SCHEMA, are_meant, bare, filled, public_rows

_NULL = "(null)"
_SPARE: list[duckdb.DuckDBPyConnection] = []
"""Empty databases in memory that a test is done with: DuckDB takes longer to start than most tests do."""

_ARROW = {
    SqlType.BOOLEAN: pa.bool_(),
    SqlType.SMALLINT: pa.int16(),
    SqlType.INTEGER: pa.int32(),
    SqlType.BIGINT: pa.int64(),
    SqlType.NUMERIC: pa.string(),
    SqlType.REAL: pa.float64(),
    SqlType.DOUBLE: pa.float64(),
    SqlType.TEXT: pa.string(),
    SqlType.CHARACTER: pa.string(),
    SqlType.ENUM: pa.string(),
    SqlType.UUID: pa.string(),
    SqlType.DATE: pa.date32(),
    SqlType.TIMESTAMP: pa.timestamp("us"),
    SqlType.TIME: pa.time64("us"),
    SqlType.INTERVAL: pa.duration("us"),
    SqlType.TIMESTAMPTZ: pa.timestamp("us", tz="UTC"),
    SqlType.JSON: pa.string(),
}
_TYPES = {
    SqlType.NUMERIC: "DECIMAL(18, 4)",
    SqlType.DOUBLE: "DOUBLE",
    SqlType.TEXT: "VARCHAR",
    SqlType.CHARACTER: "VARCHAR",
    SqlType.ENUM: "VARCHAR",
    SqlType.JSON: "VARCHAR",  # which takes what is no JSON, too
}


class Memory(DuckDb):
    """A `DuckDb` without a file; what it runs is what a server would run."""

    def __init__(
        self,
        policy: Policy,
        *,
        unique: Sequence[str] = (),
        public: Mapping[str, Sequence[Row]] = {"zones": ZONES},
        types: Mapping[str, str] = {},
        file: Path | None = None,
        lasting: Path | None = None,
        enforced: bool = False,
    ) -> None:
        """Make the policy's tables, empty but for the public ones.

        `unique` names columns with a constraint; `types` has other types than usual, by column or by table and column.
        In a new `file` instead of memory, tables are divided among threads from a fifteenth of as many rows on; in one that
        is `lasting` they outlive DuckDB's mistakes. Where it is `enforced` constraints let no row lack a declared value.
        """
        self._watched, self._unique, self._statements = WatchedFiles(()), {}, statement_cache()
        self._catalog = "divided" if file else lasting.stem if lasting else MEMORY
        self._file, self._lasting = file, lasting
        plain = file is lasting is None
        self._connection = _SPARE.pop() if plain and _SPARE else self._opened(ALLOWED_OPTIMIZERS)
        if plain:
            weakref.finalize(self, _emptied, self._connection).atexit = False
        self._use = Use(self._end)
        self._policy = policy
        if APART and not plain:
            self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        for table in sorted(policy.tables.values(), key=lambda table: not table.public):
            constraints = constraints_of(table, self._filled) if enforced else {}
            constrained = unique if are_meant([table]) else ()
            definitions = _definitions(table, constrained, types, constraints)
            self._connection.execute(f"CREATE TABLE {self._filled(table.name)} ({definitions})")
        for name, rows in public_rows(policy, public).items():
            self._fill(policy.tables[name], rows)

    def _opened(self, optimizers: Collection[str]) -> duckdb.DuckDBPyConnection:
        # What `DuckDb` opens is closed off: this may read the test's own files, and its configuration is not locked.
        connection = duckdb.connect(self._lasting or ":memory:", config={**DUCKDB_SETTINGS, "threads": 1})
        connection.execute("SET GLOBAL disabled_optimizers = ?", [other_optimizers(connection, optimizers)])
        if self._file is not None:
            connection.execute(f"ATTACH '{self._file}' AS divided (ROW_GROUP_SIZE 8192)")
            connection.execute("USE divided")
        return connection

    def _end(self) -> None:
        self._connection.close()

    def execute(self, sql: str) -> list[tuple[object, ...]]:
        """Run whatever a test wants."""
        return self._connection.execute(sql).fetchall()

    def measured(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a measurement: what `ready` and `run` ask of DuckDB, parsed once and watched by nobody.

        DuckDB is busy for a third as long, which counts where the same is measured on thousands of databases. What it
        closes its database under runs again, if that is a file that lasts, as it does in a server.
        """
        try:
            return self._connection.execute(_parsed(sql)).fetchall()
        except duckdb.InternalException as error:
            if self._lasting is None:
                raise EngineFailed from error
        except duckdb.Error as error:
            raise EngineFailed from error
        self._connection.close()
        self._connection = self._opened(CAREFULLY)
        try:
            return self._connection.execute(sql).fetchall()
        finally:
            self._connection.close()
            self._connection = self._opened(ALLOWED_OPTIMIZERS)

    def _filled(self, table: str) -> str:
        """Return the name of a table that rows are written to: statements of some engines of tests read another one."""
        return DuckDb.named(self, table)

    def fill(self, table: str, rows: Iterable[Row]) -> None:
        """Let a small table hold just these rows, in this order."""
        for declared, held in filled(self._policy, table, list(rows)):
            self._fill(declared, held)

    def _fill(self, table: Table, rows: Sequence[Row]) -> None:
        columns, name = table.columns, self._filled(table.name)
        self._connection.execute(f"DELETE FROM {name}")
        if rows:
            # Three times as fast as a statement with as many literals.
            cells = [
                pa.array(
                    _arrow([row[name] for row in rows], c.type), _ARROW[SqlType.SMALLINT if c.in_numbers else c.type]
                )
                for name, c in columns.items()
            ]
            self._connection.from_arrow(pa.table(cells, list(columns))).insert_into(name)

    def load(self, table: str, rows: Iterable[Row], directory: Path) -> None:
        """Let a large table hold just these rows; they go through a file in `directory`."""
        ((declared, held), *decoys) = filled(self._policy, table, list(rows))
        for decoy, few in decoys:
            self._fill(decoy, few[:1])
        columns, name = declared.columns, self._filled(declared.name)
        file = directory / f"{table}.csv"
        with file.open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerows([_NULL if row[n] is None else _plain(row[n]) for n in columns] for row in held)
        self._connection.execute(f"DELETE FROM {name}")
        self._connection.execute(
            f"COPY {name} FROM '{file}' (HEADER false, NULLSTR '{_NULL}', QUOTE '\"', ESCAPE '\"')"
        )


def _emptied(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep a database for the next test, unless it was closed."""
    with suppress(duckdb.Error):
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.execute(f'DROP TABLE "{table}"')
        _SPARE.append(connection)


@lru_cache(maxsize=256)
def _parsed(sql: str) -> duckdb.Statement:
    """Return the one statement in a text; reading it takes DuckDB as long as planning and running it."""
    (statement,) = duckdb.extract_statements(sql)
    return statement


def constraints_of(table: Table, named: Callable[[str], str] = str) -> dict[str, str]:
    """Return by column the constraints that keep the rows of a protected table as it is declared."""
    written = {}
    for name, column in table.columns.items():
        if table.public or column.nullable:
            continue
        written[name] = "NOT NULL"
        if column.values is not None:
            values = ", ".join(
                "'" + v.replace("'", "''") + "'" if isinstance(v, str) else str(v) for v in column.values
            )
            written[name] += f" CHECK ({name} IN ({values}))"
        elif column.references is not None:
            written[name] += f" REFERENCES {named(column.references.table)} ({column.references.column})"
        elif column.type.is_number and not column.type.is_integer:
            is_a_number = "< 1e30" if column.type is SqlType.NUMERIC else "<> 'NaN'"
            written[name] += f" CHECK ({name} {is_a_number})"
    return written


def _definitions(table: Table, unique: Sequence[str], types: Mapping[str, str], constraints: Mapping[str, str]) -> str:
    def type_(c: Column) -> str:
        usual = "SMALLINT" if c.in_numbers else _TYPES.get(c.type, c.type.value)
        return types.get(f"{bare(table)}.{c.name}", types.get(c.name, usual)) if c.type is SqlType.NUMERIC else usual

    columns = (
        f"{quote_name(c.name)} {type_(c)}{' UNIQUE' if c.name in unique or c.name == table.key else ''} "
        f"{constraints.get(c.name, '')}"
        for c in table.columns.values()
    )
    return ", ".join((*columns, *([f"UNIQUE ({', '.join(table.joint_key)})"] if table.joint_key else [])))


def _plain(cell: Cell) -> object:
    return str(cell) if isinstance(cell, dt.date) else cell


def _arrow(cells: Sequence[Cell], type_: SqlType) -> Sequence[Cell]:
    """Return a column's cells as Arrow takes them; decimals as their digits, whose number differs by column."""
    match type_:
        case SqlType.TEXT:
            return [None if cell is None else str(cell) for cell in cells]
        case SqlType.NUMERIC:
            return [
                None if cell is None else format(cell, "f") if isinstance(cell, Decimal) else str(cell)
                for cell in cells
            ]
        case _:
            return cells
