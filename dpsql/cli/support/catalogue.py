"""What an engine's catalogue says: the names and the types of tables and columns, and never a record."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import duckdb
import psycopg

from dpsql.errors import ConfigError
from dpsql.policy.config import DuckDbFile, PostgresServer

CatalogueColumns = Mapping[str, str]
"""Columns in their order, with the type as the engine writes it; of PostgreSQL's enumerations with the labels in JSON."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The tables that dpsql can serve, and the schemas whose tables it would not find."""

    tables: Mapping[str, CatalogueColumns]
    elsewhere: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RecordsFile:
    """A Parquet or CSV file that stands for one table."""

    path: Path


_DUCKDB = """
SELECT table_schema = current_schema(), table_schema, table_name, column_name, data_type
FROM information_schema.columns
WHERE table_catalog = current_database()
ORDER BY table_schema, table_name, ordinal_position
"""
_POSTGRES = """
SELECT pg_table_is_visible(c.oid), n.nspname, c.relname, a.attname,
  CASE WHEN EXISTS (SELECT FROM pg_enum e WHERE e.enumtypid = a.atttypid)
    THEN 'enum' || (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = a.atttypid)
    ELSE format_type(a.atttypid, a.atttypmod) END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_temp_'
ORDER BY n.nspname, c.relname, a.attnum
"""
_NAMES = {"VARCHAR": "text", "FLOAT": "real", "DOUBLE": "double precision", "TINYINT": "smallint"}
"""PostgreSQL's names for types that DuckDB calls otherwise."""
_Row = tuple[bool, str, str, str, str]


def read_catalogue(source: DuckDbFile | PostgresServer | RecordsFile) -> Catalogue:
    """Ask an engine, or a file, what tables it has.

    Raises:
        ConfigError: it can't be reached, or can't be read.
    """
    match source:
        case DuckDbFile(path):
            if not path.is_file():
                raise ConfigError(f"there is no DuckDB file {path}")
            return _catalogue(_duckdb_rows(path))
        case PostgresServer(dsn):
            return _catalogue(_postgres_rows(dsn))
        case RecordsFile(path):
            return Catalogue({path.name.partition(".")[0]: _columns_of(path)})
        case _:
            assert_never(source)


def _catalogue(rows: Iterable[_Row]) -> Catalogue:
    tables: dict[str, dict[str, str]] = {}
    elsewhere: dict[str, None] = {}
    for found, schema, table, column, kind in rows:
        if found:
            tables.setdefault(table, {})[column] = kind
        else:
            elsewhere[schema] = None
    return Catalogue(tables, tuple(elsewhere))


def _duckdb_rows(path: Path) -> list[_Row]:
    try:
        with closing(duckdb.connect(str(path), read_only=True)) as connection:
            rows = connection.execute(_DUCKDB).fetchall()
    except duckdb.Error as failure:
        raise ConfigError(f"the DuckDB file {path} can't be opened", hint=str(failure).splitlines()[0]) from None
    return [(found, schema, table, column, _name(kind)) for found, schema, table, column, kind in rows]


def _columns_of(path: Path) -> CatalogueColumns:
    """Return a file's columns; those of a CSV file are texts, because only its records could tell more."""
    if not path.is_file():
        raise ConfigError(f"there is no file {path}")
    yaml_name = "'" + str(path).replace("'", "''") + "'"
    parquet = path.name.lower().endswith((".parquet", ".pq"))
    source = f"read_parquet({yaml_name})" if parquet else f"read_csv({yaml_name}, header = true, all_varchar = true)"
    try:
        with closing(duckdb.connect()) as connection:
            rows = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608
    except duckdb.Error:
        # DuckDB's own words quote lines of the file.
        raise ConfigError(f"the file {path} can't be read as {'Parquet' if parquet else 'CSV'}") from None
    return {row[0]: _name(row[1]) for row in rows}


def _name(kind: str) -> str:
    # An enumeration's labels may have been made of values.
    return "enum" if kind.startswith("ENUM(") else _NAMES.get(kind, kind.lower())


def _without_precision(kind: str) -> str:
    """Return the type that holds all values of a time with fewer digits."""
    return re.sub(r"^(timestamp)\(\d\)", r"\1", kind)


def _postgres_rows(dsn: str) -> list[_Row]:
    try:
        with psycopg.connect(dsn, connect_timeout=10) as connection:
            connection.read_only = True
            rows = connection.execute(_POSTGRES).fetchall()
            return [
                (found, schema, table, column, _without_precision(kind)) for found, schema, table, column, kind in rows
            ]
    except psycopg.ProgrammingError:
        # libpq quotes what it can't read, which may be a password.
        raise ConfigError("the PostgreSQL server can't be asked", hint="Its DSN can't be read as one.") from None
    except psycopg.Error as failure:
        raise ConfigError("the PostgreSQL server can't be asked", hint=str(failure).splitlines()[0]) from None
