"""From the configuration to the engine that holds the records themselves."""

from collections.abc import Mapping
from typing import assert_never

from dpsql.engines.admitted import see_that_it_is_admitted
from dpsql.engines.databases.source import DatabaseSource
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import TableFile
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.spark.engine import SparkEngine
from dpsql.errors import ConfigError, InternalError
from dpsql.policy.config import Config, CopiedDatabase, DuckDbFile, DuckDbTables, PostgresServer, SparkServer
from dpsql.policy.model import Policy


def connect_database(config: Config) -> DatabaseSource:
    """Open a database that is copied.

    Raises:
        ConfigError: it can't be reached or asked, its account may write, or nobody has tried such a database.
    """
    assert isinstance(config.engine, CopiedDatabase)
    see_that_it_is_admitted(DuckDb.product, unverified=config.unverified)
    _see_that_they_are_declared(config.engine.tables, config.policy)
    return DatabaseSource(config.engine, config.policy, unverified=config.unverified)


def connect_engine(config: Config) -> DuckDb | PostgresEngine | SparkEngine:
    """Open the engine.

    Raises:
        ConfigError: it can't be opened or reached, can be written to, or is of a version that is not admitted.
    """
    if config.snapshot is not None:  # which DuckDB holds
        see_that_it_is_admitted(DuckDb.product, unverified=config.unverified)
    engine = _connected(config)
    try:
        see_that_it_is_admitted(engine.product, unverified=config.unverified)
    except BaseException:
        engine.close()
        raise
    return engine


def _connected(config: Config) -> DuckDb | PostgresEngine | SparkEngine:
    match config.engine:
        case DuckDbFile(path, resources):
            return DuckDb(path, resources)
        case DuckDbTables(resources=resources) as source:
            return DuckDb(table_files(source, config.policy), resources)
        case PostgresServer(dsn, places):
            _see_that_they_are_declared(places, config.policy)
            return PostgresEngine(dsn, {name: table.columns for name, table in config.policy.tables.items()}, places)
        case SparkServer(remote, places):
            _see_that_they_are_declared(places, config.policy)
            return SparkEngine(remote, {**{name: name for name in config.policy.tables}, **places})
        case CopiedDatabase():
            raise InternalError  # nothing is asked of it but its rows
        case _:
            assert_never(config.engine)


def table_files(source: DuckDbTables, policy: Policy) -> dict[str, TableFile]:
    """Return the files that stand for tables.

    Raises:
        ConfigError: one stands for a table that no schema file declares.
    """
    _see_that_they_are_declared(source.tables, policy)
    return {
        name: TableFile(path, {column.name: column.type for column in policy.tables[name].columns.values()}, source.csv)
        for name, path in source.tables.items()
    }


def _see_that_they_are_declared(places: Mapping[str, object], policy: Policy) -> None:
    unknown = sorted(set(places) - set(policy.tables))
    if unknown:
        raise ConfigError(f"engine.tables: {', '.join(unknown)}: no schema file declares such a table")
