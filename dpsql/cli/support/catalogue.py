"""An engine's catalogue: the names and the types of tables and columns, and never a record."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import duckdb

from dpsql.cli.support.catalogued import Catalogue, CatalogueColumn, CatalogueTable
from dpsql.cli.support.database_catalogue import read_database
from dpsql.cli.support.postgres_catalogue import read_postgres
from dpsql.engines.duckdb.files import PARQUET, CsvForm, duckdb_literal
from dpsql.errors import ConfigError
from dpsql.policy.config import CopiedDatabase, DuckDbFile, PostgresServer
from dpsql.policy.model import PUBLIC


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
_NAMES = {
    "VARCHAR": "text",
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "TINYINT": "smallint",
    "UTINYINT": "smallint",
    "USMALLINT": "integer",
    "UINTEGER": "bigint",
    "UBIGINT": "numeric(20,0)",
    "HUGEINT": "numeric(38,0)",
    "UHUGEINT": "numeric(38,0)",
    "TIMESTAMP_NS": "timestamp",
    "TIMESTAMPTZ_NS": "timestamptz",
    "TIME_NS": "time",
}
"""The least of PostgreSQL's types that holds all values of DuckDB's; files of pandas have most of them."""
_Row = tuple[bool, str, str, str, str]


def read_catalogue(
    source: CopiedDatabase | DuckDbFile | PostgresServer | RecordsFile, schemas: Collection[str] | None = ()
) -> Catalogue:
    """Ask an engine, or a file, what tables it has; of more `schemas`, too, or of all where that is None.

    Raises:
        ConfigError: it can't be reached, or can't be read.
    """
    match source:
        case DuckDbFile(path):
            if not path.is_file():
                raise ConfigError(f"there is no DuckDB file {path}")
            return _catalogue(_duckdb_rows(path), schemas)
        case PostgresServer(dsn):
            return read_postgres(dsn, schemas)
        case CopiedDatabase(url):
            return read_database(url, schemas)
        case RecordsFile(path):
            return Catalogue({path.name.partition(".")[0]: CatalogueTable(_columns_of(path))})
        case _:
            assert_never(source)


def _catalogue(rows: Iterable[_Row], schemas: Collection[str] | None) -> Catalogue:
    tables: dict[str, dict[str, CatalogueColumn]] = {}
    elsewhere: dict[str, dict[str, None]] = {}
    unnamed: dict[str, None] = {}
    for is_visible, schema, table, column, kind in rows:
        name = table if is_visible else f"{schema}.{table}"
        wanted = is_visible or ((schemas is None or schema in schemas) and schema.lower() != PUBLIC)
        if wanted and name.count(".") != (not is_visible):
            unnamed[name] = None
        elif wanted:
            tables.setdefault(name, {})[column] = CatalogueColumn(kind)
        else:
            elsewhere.setdefault(schema, {})[table] = None
    found = {name: CatalogueTable(columns) for name, columns in tables.items()}
    others = {schema: tuple(names) for schema, names in elsewhere.items()}
    return Catalogue(found, others, unnamed=tuple(unnamed))


def _duckdb_rows(path: Path) -> list[_Row]:
    try:
        with closing(duckdb.connect(str(path), read_only=True)) as connection:
            rows = connection.execute(_DUCKDB).fetchall()
    except duckdb.Error as failure:
        raise ConfigError(f"the DuckDB file {path} can't be opened", hint=str(failure).splitlines()[0]) from None
    return [(is_visible, schema, table, column, _name(kind)) for is_visible, schema, table, column, kind in rows]


def _columns_of(path: Path) -> Mapping[str, CatalogueColumn]:
    """Return a file's columns; those of a CSV file are texts, because only its records could tell more."""
    if not path.is_file():
        raise ConfigError(f"there is no file {path}")
    try:
        with closing(duckdb.connect()) as connection:
            if not path.name.lower().endswith(PARQUET):
                return {name: CatalogueColumn("text") for name in CsvForm.of(connection, [path]).columns}
            source = f"read_parquet({duckdb_literal(str(path))})"
            rows = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608
    except duckdb.Error:
        # DuckDB's own words quote parts of the file.
        raise ConfigError(f"the file {path} can't be read as Parquet") from None
    return {row[0]: CatalogueColumn(_name(row[1])) for row in rows}


def _name(kind: str) -> str:
    # An enumeration's labels may have been made of values.
    return "enum" if kind.startswith("ENUM(") else _NAMES.get(kind, kind.lower())
