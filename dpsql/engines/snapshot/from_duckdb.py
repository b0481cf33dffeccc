"""Copies tables of a DuckDB file, and Parquet and CSV files, column by column as they are: same types, same values."""

from collections.abc import Mapping

import duckdb

from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.snapshot.progress import Progress
from dpsql.policy.model import Policy, UniqueKey
from dpsql.rewrite.emit.columns import quoted


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
        columns = ", ".join(map(quoted, declared.columns))
        connection.execute(
            f"CREATE TABLE {catalog}.main.{quoted(table)} AS SELECT {columns} FROM {engine.named(table)} "  # noqa: S608
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
