"""Copies tables of any database: all in one state, where it has one, and so many rows at a time that memory is bounded.

What can't be read as it is declared is NULL, and the operator is told how many values of which column these were.
"""

from collections.abc import Mapping
from functools import partial

import duckdb

from dpsql.engines.databases.client import told
from dpsql.engines.databases.loading import unread
from dpsql.engines.databases.source import DatabaseSource
from dpsql.engines.snapshot.progress import Progress
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import ConfigError, QueryCanceled
from dpsql.policy.model import Policy, UniqueKey
from dpsql.question import Cancellation
from dpsql.rewrite.emit.columns import quoted

_FOREVER = 10 * 365 * 86_400.0


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
            told("the database could not be read while a snapshot was written"),
            source.one_state() as reading,
            stopping_when_cancelled(partial(source.stop, reading), _FOREVER, cancellation),
        ):
            for table, _ in progress.of(policy.tables.items()):
                into = f"{catalog}.main.{quoted(table)}"
                names, given = source.copy(reading, table, (connection, into), came)
                if cancellation.requested:
                    raise QueryCanceled
                for name, number in unread(connection, into, names, given).items():
                    progress.tell(
                        f'snapshot: table {table}, column "{name}": {number:,} values are not as declared, and NULL'
                    )
    except ConfigError:
        if cancellation.requested:
            raise QueryCanceled from None
        raise
    return {table: source.unique_keys(table) for table in policy.tables}
