"""How the rows of each source come into a copy, column by column, in one state of all tables where there is one.

The rows come as CSV in which every value is quoted, and lie in a file of a few megabytes beside the copy until DuckDB has
taken them. That a row is as long as the whole file is no mistake: a limit would make a copy depend on a value.
"""

import logging
import os
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import duckdb
import psycopg

from dpsql.engines.base import Engine
from dpsql.engines.databases.client import fixed_error
from dpsql.engines.databases.columns import count_unread
from dpsql.engines.databases.source import DatabaseSource
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import duckdb_literal
from dpsql.engines.postgres.engine import PostgresEngine, cancel, is_lost
from dpsql.engines.postgres.pool import PgConnection, UnsettledError
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import ConfigError, QueryCanceled
from dpsql.policy.model import Column, Policy, SqlType, Table, UniqueKey
from dpsql.question import Cancellation
from dpsql.rewrite.dialects.postgres import POSTGRES
from dpsql.rewrite.emit.emitter import quote_name, representable

# How a column of PostgreSQL's comes into the copy: as the text that PostgreSQL writes, in the type that DuckDB reads.
#
# Promise: no row can make a copy fail, since whether one was made is seen by everybody; so every expression here is total on
# both sides, and what can't be copied is refused by its type. And no statement can tell the copy from the records: what it
# holds is what statements read (`rewrite.emit.emitter`), value by value.
#
# day date               →  '2019-03-01', '4714-11-24 (BC)', 'infinity'   DATE
# fare numeric           →  '12.5', 'NaN'                                 DOUBLE
# account numeric(20,0)  →  '12345678901234567890'                        DECIMAL(20,0), of a unit or a public table

_DECIMAL = re.compile(r"numeric\((\d+),(\d+)\)")
_MOST_DIGITS, _SAFE_DIGITS = 38, 15
"""Digits of DuckDB's decimals, and of those that double precision tells apart."""
_LAST_MOMENT = "294247-01-10 04:00:54.775806"
"""DuckDB's last one. PostgreSQL has 29 years more, which here and there are beyond every bound."""
_WHOLE_NUMBERS = frozenset({"smallint", "integer", "bigint"})
_MOMENT = r"^(\d+-\d\d-\d\d)(.*) BC$"


@dataclass(frozen=True, slots=True)
class CopiedColumn:
    """One column on its way."""

    name: str
    read: str
    """PostgreSQL's expression of a text, or NULL."""
    type: str
    """DuckDB's type, to which every such text can be cast."""
    distinct: bool = True
    """Whether different values stay different."""


def copied_column(column: Column, stored: str, *, exact: bool) -> CopiedColumn:
    """Return how a column of PostgreSQL's type `stored` is copied; `exact` where double precision does not suffice.

    Raises:
        ConfigError: there is no type for it.
    """
    name, text = column.name, quote_name(column.name)
    match column.type:
        case SqlType.SMALLINT | SqlType.INTEGER | SqlType.BIGINT:
            return CopiedColumn(name, text, column.type.value.upper())
        case SqlType.NUMERIC | SqlType.REAL | SqlType.DOUBLE:
            return _number(column, stored, exact=exact)
        case SqlType.BOOLEAN:
            # Numbers that are no boolean's can't be cast to one; statements read them as none, in the copy as in the records.
            return CopiedColumn(name, text, "BIGINT" if column.in_numbers else "BOOLEAN")
        case SqlType.TEXT | SqlType.CHARACTER | SqlType.ENUM | SqlType.JSON:
            return CopiedColumn(name, f"CAST({text} AS VARCHAR)", "VARCHAR")
        case SqlType.UUID:
            return CopiedColumn(name, text, "UUID")
        case SqlType.DATE:
            return CopiedColumn(name, _era(text, "0001-01-01"), "DATE")
        case SqlType.TIMESTAMP | SqlType.TIMESTAMPTZ:
            return CopiedColumn(name, _moment(f"CAST({text} AS TIMESTAMP)"), "TIMESTAMP", distinct=False)
        case SqlType.TIME:
            return CopiedColumn(name, text, "TIME")
        case SqlType.INTERVAL:
            return CopiedColumn(name, _span(text), "INTERVAL", distinct=False)


def _number(column: Column, stored: str, *, exact: bool) -> CopiedColumn:
    name, text = column.name, quote_name(column.name)
    if stored in _WHOLE_NUMBERS:
        return CopiedColumn(name, text, "BIGINT")
    decimal = _DECIMAL.fullmatch(stored)
    digits, scale = (0, 0) if decimal is None else (int(decimal[1]), int(decimal[2]))
    if exact and stored.startswith("numeric"):
        if not 0 < digits <= _MOST_DIGITS or scale > digits:
            raise ConfigError(
                f'column "{name}": a snapshot has no type for {stored}, which has to be kept exactly',
                hint=f"Give it a length of at most {_MOST_DIGITS} digits in PostgreSQL: numeric(20,0).",
            )
        return CopiedColumn(name, f"NULLIF({text}, 'NaN'::numeric)", f"DECIMAL({digits},{scale})")
    is_numeric = column.type is SqlType.NUMERIC and not representable(column.declared)
    read = POSTGRES.stored_number(text, representable=not is_numeric)
    return CopiedColumn(name, read, "DOUBLE", distinct=0 < digits <= _SAFE_DIGITS)


def _era(text: str, first: str) -> str:
    """Return a date or a timestamp as a text, with the era where DuckDB reads it."""
    before = f"regexp_replace({text}::text, '{_MOMENT}', '\\1 (BC)\\2')"
    return f"CASE WHEN {text} >= '{first}' THEN {text}::text ELSE {before} END"


def _moment(text: str) -> str:
    return f"CASE WHEN {text} > '{_LAST_MOMENT}' THEN 'infinity' ELSE {_era(text, '0001-01-01 00:00:00')} END"


def _span(text: str) -> str:
    """Return an interval's days and microseconds; where statements read none, one that they read as none, a month."""
    whole = f"extract(year FROM {text}) = 0 AND extract(month FROM {text}) = 0"
    short = (
        f"extract(day FROM {text}) BETWEEN -99999 AND 99999 AND extract(hour FROM {text}) BETWEEN -999999 AND 999999"
    )
    parts = (("hour", 3_600_000_000), ("minute", 60_000_000), ("microseconds", 1))
    micros = " + ".join(f"extract({name} FROM {text})::bigint * {size}" for name, size in parts)
    span = f"extract(day FROM {text})::int || ' days ' || ({micros}) || ' microseconds'"
    return f"CASE WHEN {whole} AND {short} THEN {span} WHEN {text} IS NOT NULL THEN '1 month' END"


# How far a copy has got: which table of how many, and how large the file has become, told every few seconds.

Tell = Callable[[str], None]
_T = TypeVar("_T")
_TOLD_EVERY = 5.0
"""Seconds between two lines."""


class Progress:
    """Tells of a copy that is being written to `file`; never how many rows there are."""

    def __init__(self, file: Path, tell: Tell) -> None:
        self._file, self._tell = file, tell
        self._doing, self._came = "", 0

    def tell(self, line: str) -> None:
        """Tell the operator something else."""
        self._tell(line)

    def came(self, letters: int) -> None:
        """Count what has come from the records, where the file grows by it only later."""
        self._came += letters

    def of(self, tables: Collection[tuple[str, _T]]) -> Iterator[tuple[str, _T]]:
        """Yield tables with what belongs to them, and tell of each."""
        for number, (name, item) in enumerate(tables, 1):
            self._doing = f"snapshot: table {name}, {number} of {len(tables)}"
            self._tell(self._doing)
            yield name, item

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Tell again and again, until the block ends."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(_TOLD_EVERY):
                came = f"{self._came / 2**20:,.0f} MiB read, " if self._came else ""
                self._tell(f"{self._doing}; {came}{self._size() / 2**20:,.0f} MiB written")

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def _size(self) -> int:
        try:
            return self._file.stat().st_size
        except OSError:
            return 0


_LOG = logging.getLogger("dpsql.engine")
_PIECE = 32 * 2**20
"""Bytes that are handed over at a time, and one row more."""
_LEAST = 2_000_000
_FOREVER = 10 * 365 * 86_400.0


def plan_columns(table: Table, engine: PostgresEngine) -> Sequence[CopiedColumn]:
    """Return how a table's columns are copied.

    Raises:
        ConfigError: one can't be.
    """
    types = engine.columns(table.name)
    units = {bound.column for bound in table.units.values() if bound.through is None}
    try:
        return [copied_column(c, types[c.name], exact=table.public or c.name in units) for c in table.columns.values()]
    except ConfigError as refused:
        raise ConfigError(f"{table.file}: {refused.message}", hint=refused.hint) from None


def require_copyable(policy: Policy, engine: Engine) -> None:
    """See that there is a type for every declared column; DuckDB's own are copied as they are.

    Raises:
        ConfigError: there is none for one.
    """
    if isinstance(engine, PostgresEngine):
        for table in policy.tables.values():
            plan_columns(table, engine)


def copy_from_postgres(
    engine: PostgresEngine,
    policy: Policy,
    target: tuple[duckdb.DuckDBPyConnection, str],
    piece: Path,
    progress: Progress,
    cancellation: Cancellation,
    *,
    missing: Mapping[str, str],
) -> Mapping[str, frozenset[UniqueKey]]:
    """Copy the declared columns of all tables into the attached database `target`; return which keys stay, by table.

    Of some tables only `missing` rows are copied, by a condition.

    Raises:
        ConfigError: the server went away, or does not let them be read; nothing of a row is told.
        QueryCanceled: somebody cancelled.
    """
    plans = {table.name: plan_columns(table, engine) for table in policy.tables.values()}
    connection, catalog = target
    with (
        _told(cancellation),
        engine.one_state() as source,
        stopping_when_cancelled(partial(cancel, source), _FOREVER, cancellation),
    ):
        for table, columns in progress.of(plans.items()):
            into = f"{catalog}.main.{quote_name(table)}"
            types = ", ".join(f"{quote_name(c.name)} {c.type}" for c in columns)
            connection.execute(f"CREATE TABLE {into} ({types})")
            for rows in _pieces(source, columns, f"{engine.named(table)} WHERE {missing.get(table, 'TRUE')}"):
                _take(connection, into, columns, rows, piece)
    told_apart = {table: {c.name for c in columns if c.distinct} for table, columns in plans.items()}
    return {
        table: frozenset(key for key in engine.unique_keys(table) if key <= names)
        for table, names in told_apart.items()
    }


def _pieces(source: PgConnection, columns: Sequence[CopiedColumn], rows: str) -> Iterator[bytes]:
    """Yield a table's rows, which follow FROM, in pieces of whole rows: PostgreSQL sends each by itself."""
    # The first column is none of theirs: a row of one column without a value would be an empty line.
    reads = ", ".join(("1", *(c.read for c in columns)))
    statement = f"COPY (SELECT {reads} FROM {rows}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"  # noqa: S608
    with source.cursor().copy(statement.encode()) as copy:
        held = bytearray()
        for row in copy:
            held += row
            if len(held) >= _PIECE:
                yield bytes(held)
                held.clear()
        if held:
            yield bytes(held)


def _take(
    connection: duckdb.DuckDBPyConnection, into: str, columns: Sequence[CopiedColumn], rows: bytes, piece: Path
) -> None:
    """Append some rows."""
    file = os.open(piece, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as out:
        out.write(rows)
    names = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(columns) + 1))
    casts = ", ".join(f"CAST(c{place} AS {column.type})" for place, column in enumerate(columns, 1))
    longest = max(len(rows), _LEAST) + 1
    connection.execute(
        f"INSERT INTO {into} SELECT {casts} FROM read_csv({duckdb_literal(str(piece))}, auto_detect = false, "  # noqa: S608
        f"header = false, delim = ',', quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
        f"new_line = '\\n', columns = {{{names}}}, max_line_size = {longest}, buffer_size = {longest}, "
        f"parallel = false, strict_mode = true)"
    )


@contextmanager
def _told(cancellation: Cancellation) -> Iterator[None]:
    """Tell why the server can't be copied, and nothing that may be a value of a row."""
    try:
        yield
    except UnsettledError as error:
        raise ConfigError(f"the PostgreSQL server does not keep the settings of a connection: {error}") from None
    except psycopg.Error as error:
        if cancellation.requested:
            raise QueryCanceled from None
        lost = is_lost(error)
        why = "went away" if lost else f"does not let the tables be read (SQLSTATE {error.sqlstate})"
        raise ConfigError(
            f"the PostgreSQL server {why} while a snapshot was written", hint="The snapshot before it is still served."
        ) from None


# Copies tables of any database: all in one state, where it has one, and so many rows at a time that memory is bounded.
#
# What can't be read as it is declared is NULL, and the operator is told how many values of which column these were.


def copy_from_database(
    source: DatabaseSource,
    policy: Policy,
    target: tuple[duckdb.DuckDBPyConnection, str],
    progress: Progress,
    cancellation: Cancellation,
) -> Mapping[str, frozenset[UniqueKey]]:
    """Copy the declared columns of all tables into the attached database `target`; return which keys are counted there.

    Raises:
        ConfigError: the database went away, or does not let them be read; nothing of a row is told.
        QueryCanceled: somebody cancelled.
    """
    connection, catalog = target
    connection.execute("SET TimeZone = 'UTC'")

    def came(letters: int) -> None:
        progress.came(letters)
        # DuckDB holds a piece for as long as the transaction in which it was read. What is half there is never served.
        connection.execute("COMMIT")
        connection.execute("BEGIN")

    try:
        with (
            fixed_error("the database could not be read while a snapshot was written"),
            source.one_state() as reading,
            stopping_when_cancelled(partial(source.stop, reading), _FOREVER, cancellation),
        ):
            for table, _ in progress.of(policy.tables.items()):
                into = f"{catalog}.main.{quote_name(table)}"
                names, given = source.copy(reading, table, (connection, into), came)
                if cancellation.requested:
                    raise QueryCanceled
                for name, number in count_unread(connection, into, names, given).items():
                    progress.tell(
                        f'snapshot: table {table}, column "{name}": {number:,} values are not as declared, and NULL'
                    )
    except ConfigError:
        if cancellation.requested:
            raise QueryCanceled from None
        raise
    return {table: source.unique_keys(table) for table in policy.tables}


# Copies tables of a DuckDB file, and Parquet and CSV files, column by column as they are: same types, same values.


def copy_from_duckdb(
    engine: DuckDb,
    policy: Policy,
    target: tuple[duckdb.DuckDBPyConnection, str],
    progress: Progress,
    missing: Mapping[str, str],
) -> Mapping[str, frozenset[UniqueKey]]:
    """Copy the declared columns of all tables into the attached database `target`; return which keys stay, by table.

    `engine` has the same names for them as the target's connection. Of some tables only `missing` rows are copied, by a
    condition.
    """
    connection, catalog = target
    for table, declared in progress.of(policy.tables.items()):
        columns = ", ".join(map(quote_name, declared.columns))
        connection.execute(
            f"CREATE TABLE {catalog}.main.{quote_name(table)} AS SELECT {columns} FROM {engine.named(table)} "  # noqa: S608
            f"WHERE {missing.get(table, 'TRUE')}"
        )
    return {
        name: frozenset(key for key in _unique(engine, name) if key <= table.columns.keys())
        for name, table in policy.tables.items()
    }


def _unique(engine: DuckDb, table: str) -> frozenset[UniqueKey]:
    """Return the unique keys but for those with floats, of which −0 is 0 to one who counts and not to one who looks up."""
    floats = engine.dialect.stored_types.floats
    rounded = {name for name, kind in engine.columns(table).items() if kind.lower() in floats}
    return frozenset(key for key in engine.unique_keys(table) if key.isdisjoint(rounded))
