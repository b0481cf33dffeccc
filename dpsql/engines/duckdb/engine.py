"""DuckDB as the engine: a file or some Parquet files, opened read-only, with no way out of them."""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb

from dpsql.accounting.privacy_loss import Charge
from dpsql.byte_limited_cache import ByteLimitedCache
from dpsql.engines.base import NoEngine, SnapshotVersion
from dpsql.engines.duckdb.files import TableFile, WatchedFiles
from dpsql.engines.duckdb.heavy_rows import heavy_rows_of, keep_heavy_rows, read_heavy_rows, row_keepers
from dpsql.engines.duckdb.opening import ATTACHED, CAREFULLY, MEMORY, of_file, of_tables, spill
from dpsql.engines.tables import Constraints, enforced_columns, exact_value, public_column
from dpsql.engines.watch import Use, stopping_when_cancelled
from dpsql.errors import ConfigError, EngineAway, EngineFailed, EngineNotReady, InternalError, QueryCanceled
from dpsql.policy.config import Resources
from dpsql.policy.model import PUBLIC, Policy, Table, TableName, UniqueKey, Value
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.rewrite.emit.kept_columns import NOTHING, KeptColumns

# Measurements that DuckDB has accepted, on a cursor of their own.

# A statement without its constants in double precision, and those that are cast to a whole type, such as the steps between
# two bounds: they become parameters, so that the next one is known by it.
#
# Claim: what DuckDB says when it binds a statement is the same for all that differ in these constants alone, because it binds
# by types, and a parameter that is given a float has theirs, or is cast to a type that has room for it. Other whole numbers
# and texts stay: by their size a number may have another type, as an ordinal it means a column, and a text may be a date.
#
# WHERE s0."fare" > 20.5e0 AND n < CAST(7 AS INTEGER) LIMIT 1  →  WHERE s0."fare" > ? AND n < CAST(? AS INTEGER) LIMIT 1

_QUOTED = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
_ROOM = {"INTEGER": 2**31, "BIGINT": 2**63}
_CONSTANT = re.compile(
    rf"({_QUOTED}|\?)|(?<![\w.])(\d+(?:\.\d*)?e[+-]?\d+)(?![\w.])|(?<=\bCAST\()(\d+)(?= AS ({'|'.join(_ROOM)})\))"
)


def with_parameters(sql: str) -> tuple[str, list[float]]:
    """Return the text with `?` for such constants, and what they are; the statement itself where it has a `?` already."""
    numbers: list[float] = []  # whole ones among them
    parts: list[str] = []
    end = 0
    for part in _CONSTANT.finditer(sql):
        if part[1] == "?":
            return sql, []
        if part[2] or (part[3] and int(part[3]) < _ROOM[part[4]]):
            numbers.append(float(part[2]) if part[2] else int(part[3]))
            parts += (sql[end : part.start()], "?")
            end = part.end()
    return "".join((*parts, sql[end:])), numbers


_LOG = logging.getLogger("dpsql.engine")
KnownStatements = ByteLimitedCache[duckdb.Statement]
# A dashboard asks the same statements again with other constants: what DuckDB has bound once is found by its text.
_MOST_ACCEPTED = 2**24
"""Bytes for the statements that are kept."""
_PARSED = 64
"""Bytes that DuckDB takes for each character of a statement that it has parsed, about."""
_MANY = 100
"""From this many rows on, columns are fetched as arrays: 20 times faster for 65,000 rows."""
# Words are looked for anywhere in the text, also in literals: that one query is described the slow way is all that a
# wrong guess costs.
_AT_ONCE = re.compile(r"insert|update|delete|merge|nextval|pivot", re.IGNORECASE)
"""Parts of every query that DuckDB's `sql` would run at once: one that changes something, or that it first rewrites."""


@dataclass(frozen=True, slots=True)
class AcceptedStatement:
    """A statement that DuckDB has accepted, but perhaps with other constants."""

    parsed: duckdb.Statement
    constants: Sequence[float] = ()
    """Its parameters."""


@dataclass(frozen=True, slots=True)
class DuckPrepared:
    """See `PreparedMeasurements`."""

    cursor: duckdb.DuckDBPyConnection
    statements: Mapping[str, AcceptedStatement]
    """By their texts."""
    watched: WatchedFiles
    timeout: float
    cancellation: Cancellation
    failed: Callable[[], duckdb.DuckDBPyConnection | None]
    """Is told that DuckDB has failed; returns a cursor of another database with the same records if it was its mistake."""
    known: KnownStatements
    """What has been accepted or has run before: what follows from a released value is not among `statements`."""

    def run(self, sql: str, charge: Charge) -> Sequence[EngineRow]:
        """Return the rows of a measurement."""
        # The argument is there for the type checker: without a `Charge`, which a ledger alone makes, nobody can write
        # this call.
        _ = charge
        return self.rows(sql)

    def rows(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a statement, for any payer; it runs again where DuckDB failed by a mistake of its own."""
        begin = time.monotonic()
        try:
            statement = self.statements.get(sql) or self._parsed(sql)
            rows = self._rows(self.cursor, statement, self.timeout)
            self.known.keep(statement.parsed.query, statement.parsed)
        except (duckdb.Error, RuntimeError) as error:
            other = self.failed()
            # DuckDB's message may quote a value of a row. It goes to the operator's log, who owns the data; the client
            # hears `EngineFailed`, which has one text.
            _LOG.error("the engine failed: %s; statement: %s", error, sql)  # no traceback with values
            if other is None:
                raise EngineFailed from None
            # The same statement over the same files, and no second answer: noise is drawn after this returns, for
            # whichever rows came.
            rows = self._again(other, sql, self.timeout - (time.monotonic() - begin))
        # Looked at after the rows came: whatever changed while they were read is seen here, and there was no change
        # before, since `ready` has looked.
        changed = self.watched.changed()
        if changed is not None:
            # One scan may have seen what was there before, and another what is there now.
            _LOG.error("%s changed while it was read; send SIGHUP to serve it as it is now", changed)
            raise EngineFailed
        return rows

    def _parsed(self, sql: str) -> AcceptedStatement:
        """Return a statement that was not made ready, parsed as one like it was before."""
        text, constants = with_parameters(sql)
        parsed = self.known.get(text) or duckdb.extract_statements(text)[0]
        return AcceptedStatement(parsed, constants)

    def _again(self, other: duckdb.DuckDBPyConnection, sql: str, timeout: float) -> Sequence[EngineRow]:
        try:
            with other:
                return self._rows(other, sql, timeout)
        except (duckdb.Error, RuntimeError) as error:
            _LOG.error("the engine failed again: %s", error)
            raise EngineFailed from None

    def _rows(
        self, cursor: duckdb.DuckDBPyConnection, statement: AcceptedStatement | str, timeout: float
    ) -> Sequence[EngineRow]:
        with stopping_when_cancelled(cursor.interrupt, timeout, self.cancellation) as stopped:
            try:
                if isinstance(statement, str):
                    return _fetched(cursor.execute(statement))
                return _fetched(cursor.execute(statement.parsed, statement.constants))
            except (duckdb.Error, RuntimeError):
                if stopped.is_set():
                    raise QueryCanceled from None
                raise


def statement_cache() -> KnownStatements:
    """Return what remembers the statements that a database has accepted."""
    return ByteLimitedCache(_MOST_ACCEPTED, lambda part: _PARSED * len(part) if isinstance(part, str) else 0)


def ready_statements(
    cursor: duckdb.DuckDBPyConnection, statements: Sequence[str], before: KnownStatements
) -> Mapping[str, AcceptedStatement]:
    """Have DuckDB parse and bind some queries, which reads no row; return them parsed, by their texts.

    Statements that it has accepted `before` it accepts again, also with other constants, for its catalogue stays the
    same. It is not asked to PREPARE them: it would bind each twice, and again to run it.

    Raises:
        EngineNotReady: it does not take one.
    """
    accepted: dict[str, AcceptedStatement] = {}
    for sql in statements:
        text, constants = with_parameters(sql)
        parsed = before.get(text) or _accepted(cursor, sql, text)
        before.keep(text, parsed)
        accepted[sql] = AcceptedStatement(parsed, constants)
    return accepted


def _accepted(cursor: duckdb.DuckDBPyConnection, sql: str, text: str) -> duckdb.Statement:
    """Return a query parsed that DuckDB accepts, with parameters for the constants that `text` has none of."""
    try:
        # Everything that can fail has to fail here: after `ready` comes the charge, and a failure then is one that was paid
        # for.
        parsed = duckdb.extract_statements(sql)
        if [statement.type for statement in parsed] != [duckdb.StatementType.SELECT]:
            _LOG.error("the engine is asked for something else than a query: %s", sql)
            raise EngineNotReady
        if _AT_ONCE.search(sql):
            cursor.execute(f"DESCRIBE {sql}")
        else:
            cursor.sql(parsed[0])  # binds what is parsed already, three times as fast; nobody fetches its rows
        return parsed[0] if text == sql else duckdb.extract_statements(text)[0]
    except (duckdb.Error, RuntimeError) as error:
        _LOG.error("the engine does not take a measurement: %s; statement: %s", error, sql)
        raise EngineNotReady from None


def _fetched(result: duckdb.DuckDBPyConnection) -> Sequence[EngineRow]:
    """Return all rows; every column is BIGINT or VARCHAR, so that no array can turn a whole number into a float."""
    first = result.fetchmany(_MANY)
    if len(first) < _MANY:
        return first
    columns = list(result.fetchnumpy().values())
    if any(column.dtype.kind not in "iO" for column in columns):
        raise InternalError
    return [*first, *zip(*(column.tolist() for column in columns), strict=True)]


_UNLIMITED = Resources()
_MAIN = "main"
"""The schema of DuckDB's that is `public` here."""
_CONSTRAINTS = """
SELECT constraint_type, constraint_column_names, expression, referenced_table, referenced_column_names
FROM duckdb_constraints() WHERE table_name = ? AND database_name = ? AND schema_name = ?
"""
_CHECKED = "JSON in a Parquet file"
_CREATED = "SELECT sql FROM duckdb_tables() WHERE table_name = ? AND database_name = ? AND schema_name = ?"
"""The only place that says how a column's texts are compared."""


def _files_of(tables: Iterable[TableFile]) -> tuple[Path, ...]:
    return tuple(file for table in tables for file in table.files)


class DuckDb:
    """An `Engine` over one DuckDB file, or over files that stand for tables."""

    dialect = DUCKDB
    product = "DuckDB", duckdb.__version__
    edition: SnapshotVersion | None = None
    _fallen = False
    """Whether DuckDB has closed its database by itself."""
    _kept_of: Policy | None = None
    """Of which tables and units rows are kept apart."""
    _kept: Mapping[str, KeptColumns] = MappingProxyType({})
    _reading: duckdb.DuckDBPyConnection | None = None
    """Reads the rows of units with many rows."""
    _careful: duckdb.DuckDBPyConnection | None = None
    """Runs a statement again at which DuckDB has failed by a mistake of its own, once it has."""

    def __init__(
        self,
        source: Path | Mapping[str, TableFile],
        resources: Resources = _UNLIMITED,
        beside: Mapping[str, Path] = MappingProxyType({}),
    ) -> None:
        """Open a DuckDB file, or Parquet and CSV files as tables; they must not change while they are served.

        `beside` a DuckDB file are others, by the names that its views call them.

        Raises:
            ConfigError: something is missing, or can't be read as what it is.
        """
        self._catalog = ATTACHED if isinstance(source, Path) else MEMORY
        self._tables = () if isinstance(source, Path) else tuple(source.values())
        files = (source,) if isinstance(source, Path) else _files_of(self._tables)
        self._watched = WatchedFiles(files)
        self._spill = spill(resources.spill)
        if isinstance(source, Path):
            self._open = partial(of_file, source, self._spill.path, resources, beside=beside)
        else:
            self._open = partial(of_tables, source, files, self._spill.path, resources)
        try:
            self._connection = self._open()
        except BaseException:
            self._spill.remove()
            raise
        self._use = Use(self._remove)
        self._opening = threading.Lock()
        self._unique: dict[str, frozenset[UniqueKey]] = {}
        self._statements = statement_cache()

    def named(self, table: str) -> str:
        """Return a table's name with its database and schema."""
        schema, name = self._place(table)
        return f"{self._catalog}.{schema if schema == _MAIN else quote_name(schema)}.{quote_name(name)}"

    def _place(self, table: str) -> tuple[str, str]:
        """Return the schema and the name of a table; files that stand for tables have all of it as their name."""
        where = TableName.of(table)
        if self._catalog == MEMORY or where.schema == PUBLIC:
            return _MAIN, table
        return where.schema, where.name

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with DuckDB's types; JSON of a Parquet file is another, which fails as it is read."""
        kinds: Mapping[str, str] = dict(
            self._facts(
                "SELECT column_name, data_type FROM duckdb_columns() "
                "WHERE table_name = ? AND database_name = ? AND schema_name = ? ORDER BY column_index",
                table,
            )
        )
        return {name: _CHECKED if kind == "JSON" and self._catalog == MEMORY else kind for name, kind in kinds.items()}

    def keep_heavy_rows(self, policy: Policy, *, read: bool = True) -> None:
        """Read the rows of units with many rows, which statements then find beside the records; it can't fail by a row.

        Where they are not `read` yet, statements find them each time, until `read_heavy_rows` is done.

        Raises:
            ConfigError: the tables are not those that the policy declares.
        """
        self._kept_of, self._kept = policy, heavy_rows_of(policy)
        try:
            self._with_heavy_rows(self._connection, read=read)
        except duckdb.Error as error:
            raise ConfigError(f"DuckDB does not read the tables as they are declared: {error}") from error

    def read_heavy_rows(self) -> None:
        """Read these rows while statements run already; when the engine is closed, that ends."""
        with suppress(EngineAway, duckdb.Error), self._use, closing(self._connection.cursor()) as cursor:
            self._reading = cursor
            if self._kept_of is not None:
                every = row_keepers(self._kept_of, self.named, self._kept)
                read_heavy_rows(cursor, every, lambda: self._use.is_over)
                self._statements.clear()

    def _with_heavy_rows(
        self, connection: duckdb.DuckDBPyConnection, *, read: bool = True
    ) -> duckdb.DuckDBPyConnection:
        if self._kept_of is not None:
            keep_heavy_rows(connection, self._kept_of, self.named, self._kept, read=read)
        return connection

    def kept(self, table: str) -> KeptColumns:
        """Return what is kept of a table beside its own columns."""
        return self._kept.get(table, NOTHING)

    def unique_keys(self, table: str) -> frozenset[UniqueKey]:
        """Return the columns of each PRIMARY KEY and UNIQUE constraint; a file opened read-only keeps them."""
        if table not in self._unique:
            keys = self._facts(
                "SELECT constraint_column_names FROM duckdb_constraints() WHERE table_name = ? "
                "AND database_name = ? AND schema_name = ? AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')",
                table,
            )
            self._unique[table] = frozenset(frozenset(names) for (names,) in keys)
        return self._unique[table]

    def enforced_columns(self, table: Table) -> frozenset[str]:
        """Return the columns whose NOT NULL, CHECK, enumeration or foreign key keeps rows as declared; files have none."""
        return enforced_columns(table, self.constraints(table.name), self.columns(table.name), self.named, self.dialect)

    def constraints(self, table: str) -> Constraints:
        """Return what the file enforces of a table."""
        rows = self._facts(_CONSTRAINTS, table)
        present = frozenset(names[0] for kind, names, *_ in rows if kind == "NOT NULL")
        return Constraints(
            present,
            tuple(expression for kind, _, expression, *_ in rows if kind == "CHECK"),
            "duckdb",
            {
                # DuckDB's foreign keys stay within a schema.
                names[0]: (self.named(self._beside(table, target)), target_columns[0])
                for kind, names, _, target, target_columns in rows
                if kind == "FOREIGN KEY" and len(names) == 1
            },
            collated=any("collate" in text.lower() for (text,) in self._facts(_CREATED, table)),
            optional=frozenset(self.columns(table)) - present if present else frozenset(),
        )

    def _beside(self, table: str, name: str) -> str:
        schema, _ = self._place(table)
        return name if schema == _MAIN else TableName(schema, name).text

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the rows of a public table."""
        types = self.columns(table)
        names = ", ".join(public_column(name, types[name], self.dialect) for name in columns)
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(f"SELECT {names} FROM {self.named(table)} LIMIT {limit + 1}")  # noqa: S608
                return [[exact_value(cell) for cell in row] for row in cursor.fetchall()]
        except duckdb.Error as error:
            raise NoEngine(f'public table "{table}" can\'t be read: {error}') from None

    @contextmanager
    def ready(self, statements: Sequence[str], *, timeout: float, cancellation: Cancellation) -> Iterator[DuckPrepared]:
        """Make measurements ready; the files are as they were opened."""
        with self._use:
            self._open_again()
            if not self._is_as_opened():
                raise EngineNotReady
            with closing(self._connection.cursor()) as cursor:
                prepared = ready_statements(cursor, statements, self._statements)
                yield DuckPrepared(
                    cursor, prepared, self._watched, timeout, cancellation, self._failed, self._statements
                )

    def _failed(self) -> duckdb.DuckDBPyConnection | None:
        """See whether DuckDB still answers: a mistake of its own closes the whole database, until it is opened again.

        Returns a cursor on which what was paid for can run again, where it does not: neither it nor what ran beside it
        is to blame.
        """
        self._statements.clear()
        if _answers(self._connection):
            return None
        self._fallen = True
        _LOG.error("DuckDB has closed its database after a mistake of its own; it is opened again")
        with self._opening:
            try:
                if self._careful is None or not _answers(self._careful):
                    self._careful = self._with_heavy_rows(self._open(optimizers=CAREFULLY), read=False)
                return self._careful.cursor()
            except (ConfigError, duckdb.Error) as failed:
                _LOG.error("DuckDB can't be opened again: %s", failed)
                return None

    def _open_again(self) -> None:
        """Open what DuckDB has closed by itself, as it was opened before, unless a file has changed since."""
        if not self._fallen:
            return
        with self._opening:
            if not self._fallen or self._watched.changed() is not None:
                return
            self._connection.close()
            try:
                self._connection = self._with_heavy_rows(self._open())
            except (ConfigError, duckdb.Error) as failed:
                _LOG.error("DuckDB can't be opened again: %s", failed)
                return
            self._statements.clear()
            self._fallen = False

    def is_current(self) -> bool:
        """Return whether the files are those that were opened, with no other beside them, and are not closed by DuckDB."""
        return self._is_as_opened() and self._has_all_files()

    def _has_all_files(self) -> bool:
        """Return whether no file has come into a directory, or under a pattern, of which a table is made."""
        try:
            return not self._tables or _files_of(self._tables) == self._watched.files
        except NoEngine:
            return False

    def _is_as_opened(self) -> bool:
        changed = self._watched.changed()
        if changed is not None:
            _LOG.error("%s has changed since it was opened; send SIGHUP to serve it as it is now", changed)
        return changed is None and not self._fallen

    def for_owner(self, sql: str, *, timeout: float) -> Sequence[EngineRow]:
        """Return exact rows that nobody but the owner of the data may see."""
        with self.ready([sql], timeout=timeout, cancellation=Cancellation()) as prepared:
            return prepared.rows(sql)

    def close(self) -> None:
        """Close the file; what runs may end, but for reading ahead."""
        self._use.end()
        if self._reading is not None:
            with suppress(duckdb.Error):  # it is closed
                self._reading.interrupt()

    def _facts(self, sql: str, table: str) -> list[tuple[Any, ...]]:
        schema, name = self._place(table)
        with self._connection.cursor() as cursor:
            return cursor.execute(sql, [name, self._catalog, schema]).fetchall()

    def _remove(self) -> None:
        self._connection.close()
        if self._careful is not None:
            self._careful.close()
        self._spill.remove()


def _answers(connection: duckdb.DuckDBPyConnection) -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except duckdb.Error:
        return False
    return True
