"""Whether PostgreSQL takes the conditions of roles: over one table's columns, and by nothing that changes without them."""

from collections.abc import Iterator

import psycopg
from psycopg import Connection
from psycopg.errors import InvalidObjectDefinition
from psycopg.sql import SQL, Identifier

from dpsql.errors import ConfigError
from dpsql.policy.model import Policy
from dpsql.policy.table_name import TableName
from dpsql.shadow.contents.relations import relation


def check_conditions(connection: Connection, policy: Policy) -> None:
    """See that each condition is one that PostgreSQL would take for an index of its table, of which it reads no row.

    Raises:
        ConfigError: it does not take some: with a line for each, of file, line, key and its reason.
    """
    wrong = sorted(_wrong(connection, policy))
    if wrong:
        raise ConfigError("\n".join(wrong), hint="docs/configuration.md says what a condition may be.")


def _wrong(connection: Connection, policy: Policy) -> Iterator[str]:
    for role in policy.roles.values():
        for table, condition in role.where.items():
            name = Identifier(TableName.of(table).name)
            try:
                with connection.transaction(force_rollback=True):
                    made = SQL("CREATE TEMP TABLE {} (LIKE {})").format(name, relation(table))
                    connection.execute(made)
                    # By the extended protocol, which takes one statement only.
                    index = SQL("CREATE INDEX ON {} ((1)) WHERE (\n{}\n)").format(name, SQL(condition.text))
                    connection.execute(index, prepare=True)
            except InvalidObjectDefinition:
                yield f"{condition.place}: depends on more than the row: on the time, or on settings of the session"
            except psycopg.Error as failed:
                yield f"{condition.place}: {failed.diag.message_primary or 'PostgreSQL does not take it'}"
