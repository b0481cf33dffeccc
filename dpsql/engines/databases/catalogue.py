"""What a database's catalogue says of its tables, for `dpsql init`: names, types, comments, keys; never a record."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from dpsql.engines.databases.client import pool_of, quiet, reflection, told
from dpsql.engines.databases.kinds import SourceColumn, source_column
from dpsql.engines.databases.states import product_of

_OWN = frozenset(
    """information_schema mysql performance_schema sys pg_catalog pg_toast guest db_owner db_accessadmin db_securityadmin
    db_ddladmin db_backupoperator db_datareader db_datawriter db_denydatareader db_denydatawriter temp""".split()
)
"""Schemas that are the database's own."""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """One table or view."""

    columns: Sequence[SourceColumn]
    key: tuple[str, ...]
    """The columns of its primary key."""
    references: Sequence[tuple[tuple[str, ...], str | None, str, tuple[str, ...]]]
    """Foreign keys: own columns, the schema and the table that they point to, and the columns there."""
    description: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """All that there is, by schema and name; a schema of None is where the account's connection is."""

    product: str
    tables: Mapping[tuple[str | None, str], FoundTable]
    elsewhere: Mapping[str, Sequence[str]]
    """The tables of schemas that were not asked for."""


def find_tables(url: str, schemas: Collection[str] | None) -> Found:
    """Ask a database for its tables, and for those of more `schemas`, or of all where that is None.

    Raises:
        ConfigError: it can't be asked.
    """
    pool = pool_of(url)
    backend = pool.url.get_backend_name()
    with told("the database can't be asked"), closing(pool.connect()) as connection, quiet():
        product = product_of(connection, backend)
        inspector = reflection()(connection)
        others = [name for name in _schemas(inspector) if name != inspector.default_schema_name and name not in _OWN]
        wanted = [None, *(name for name in others if schemas is None or name in schemas)]
        names = [(schema, name) for schema in wanted for name in _names(inspector, schema)]
        tables = {(schema, name): _table(inspector, schema, name, backend) for schema, name in names}
        elsewhere = {name: _names(inspector, name) for name in others if name not in wanted}
    pool.dispose()
    return Found(product.name, tables, {name: tables for name, tables in elsewhere.items() if tables})


def _schemas(inspector: Any) -> Sequence[str]:
    return list(inspector.get_schema_names())


def _names(inspector: Any, schema: str | None) -> Sequence[str]:
    return sorted({*inspector.get_table_names(schema=schema), *inspector.get_view_names(schema=schema)})


def _table(inspector: Any, schema: str | None, name: str, backend: str) -> FoundTable:
    columns = [source_column(each, backend) for each in inspector.get_columns(name, schema=schema)]
    key = (inspector.get_pk_constraint(name, schema=schema) or {}).get("constrained_columns") or ()
    pointing = [
        (
            tuple(each["constrained_columns"]),
            # Some name the schema that they are in themselves.
            None if each["referred_schema"] == inspector.default_schema_name else each["referred_schema"],
            str(each["referred_table"]),
            tuple(each["referred_columns"]),
        )
        for each in inspector.get_foreign_keys(name, schema=schema)
    ]
    description = None
    with suppress(NotImplementedError):  # not every database has comments
        description = (inspector.get_table_comment(name, schema=schema) or {}).get("text")
    return FoundTable(columns, tuple(key), pointing, description)
