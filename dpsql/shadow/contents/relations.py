"""The declared tables and views as relations of the shadow: each in the schema that its name says."""

from collections.abc import Iterable

from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier

from dpsql.policy.model import Policy
from dpsql.policy.table_name import PUBLIC, TableName

KEPT_NAME = "CASE n.nspname WHEN 'public' THEN c.relname::text ELSE pg_catalog.concat(n.nspname, '.', c.relname) END"
"""The text by which the policy keeps a relation `c` of a schema `n`."""


def relation(name: str, *column: str) -> Identifier:
    """Return a table or a view by its schema and its name, or a column of it."""
    where = TableName.of(name)
    return Identifier(where.schema, where.name, *column)


def all_schemas(policy: Policy) -> Composed:
    """Return the schemas that hold what is declared, as GRANT lists them."""
    return SQL(", ").join(map(Identifier, (PUBLIC, *policy.schemas)))


def create_schemas(connection: Connection, names: Iterable[str]) -> None:
    """Create schemas; the owner's connection, in the new database."""
    for name in names:
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(name)))
