"""What an engine's catalogue says: the names and the types of tables and columns, and never a record."""

from collections.abc import Mapping
from contextlib import closing
from typing import assert_never

import duckdb
import psycopg

from dpsql.errors import ConfigError
from dpsql.policy.config import DuckDbFile, PostgresServer

Catalogue = Mapping[str, Mapping[str, str]]
"""By table, the columns in their order with the type as the engine writes it."""

_DUCKDB = """
SELECT table_name, column_name, data_type
FROM information_schema.columns
WHERE table_catalog = current_database() AND table_schema = current_schema()
ORDER BY table_name, ordinal_position
"""
_POSTGRES = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped AND pg_table_is_visible(c.oid)
  AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
ORDER BY c.relname, a.attnum
"""
_NAMES = {"VARCHAR": "text", "FLOAT": "real", "DOUBLE": "double precision", "TINYINT": "smallint"}
"""DuckDB's names of types, where PostgreSQL has others."""


def read_catalogue(engine: DuckDbFile | PostgresServer) -> Catalogue:
    """Ask an engine what tables it has.

    Raises:
        ConfigError: the engine can't be reached.
    """
    match engine:
        case DuckDbFile(path):
            rows = _duckdb_rows(str(path)) if path.is_file() else None
            if rows is None:
                raise ConfigError(f"there is no DuckDB file {path}")
        case PostgresServer(dsn):
            rows = _postgres_rows(dsn)
        case _:
            assert_never(engine)
    tables: dict[str, dict[str, str]] = {}
    for table, column, kind in rows:
        tables.setdefault(table, {})[column] = kind
    return tables


def _duckdb_rows(path: str) -> list[tuple[str, str, str]]:
    try:
        with closing(duckdb.connect(path, read_only=True)) as connection:
            rows = connection.execute(_DUCKDB).fetchall()
    except duckdb.Error as failure:
        raise ConfigError(f"the DuckDB file {path} can't be opened", hint=str(failure).splitlines()[0]) from None
    return [(table, column, _NAMES.get(kind, kind.lower())) for table, column, kind in rows]


def _postgres_rows(dsn: str) -> list[tuple[str, str, str]]:
    try:
        with psycopg.connect(dsn, connect_timeout=10) as connection:
            connection.read_only = True
            return [(table, column, kind) for table, column, kind in connection.execute(_POSTGRES).fetchall()]
    except psycopg.Error as failure:
        raise ConfigError("the PostgreSQL server can't be asked", hint=str(failure).splitlines()[0]) from None
