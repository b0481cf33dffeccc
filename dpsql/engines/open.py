"""From the configuration to a running engine."""

from typing import assert_never

from dpsql.engines.base import Engine
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import TableFile
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.tables import check_tables
from dpsql.errors import ConfigError
from dpsql.policy.config import Config, DuckDbFile, DuckDbTables, PostgresServer
from dpsql.policy.model import Policy


def open_engine(config: Config) -> Engine:
    """Open the engine that holds the records, and see that it has the tables that the policy declares.

    Raises:
        ConfigError: it can't be opened or reached, can be written to, or lacks tables and columns.
    """
    engine = connect_engine(config)
    try:
        check_tables(config.policy, engine)
    except BaseException:
        engine.close()
        raise
    return engine


def connect_engine(config: Config) -> DuckDb | PostgresEngine:
    """Open the engine.

    Raises:
        ConfigError: it can't be opened or reached, or can be written to.
    """
    match config.engine:
        case DuckDbFile(path, resources):
            return DuckDb(path, resources)
        case DuckDbTables(resources=resources) as source:
            return DuckDb(_files(source, config.policy), resources)
        case PostgresServer(dsn):
            return PostgresEngine(dsn, list(config.policy.tables))
        case _:
            assert_never(config.engine)


def _files(source: DuckDbTables, policy: Policy) -> dict[str, TableFile]:
    unknown = sorted(set(source.tables) - set(policy.tables))
    if unknown:
        raise ConfigError(f"engine.tables: {', '.join(unknown)}: no schema file declares such a table")
    return {
        name: TableFile(path, {column.name: column.type for column in policy.tables[name].columns.values()})
        for name, path in source.tables.items()
    }
