"""Copies tables of a PostgreSQL server: all in one transaction, so that the copy is one state of all of them.

The rows come as CSV in which every value is quoted, and lie in a file of a few megabytes beside the copy until DuckDB has
taken them. That a row is as long as the whole file is no mistake: a limit would make a copy depend on a value.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import duckdb
import psycopg

from dpsql.engines.base import Engine
from dpsql.engines.duckdb.files import duckdb_literal
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.postgres.pool import PgConnection, UnsettledError
from dpsql.engines.postgres.prepared import cancel, is_lost
from dpsql.engines.snapshot.columns import CopiedColumn, copied_column
from dpsql.engines.snapshot.progress import Progress
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import ConfigError, QueryCanceled
from dpsql.policy.model import Policy, Table, UniqueKey
from dpsql.question import Cancellation
from dpsql.rewrite.emit.columns import quoted

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


def check_copyable(policy: Policy, engine: Engine) -> None:
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
            into = f"{catalog}.main.{quoted(table)}"
            types = ", ".join(f"{quoted(c.name)} {c.type}" for c in columns)
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
