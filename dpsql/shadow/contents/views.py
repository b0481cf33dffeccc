"""The policy's views as PostgreSQL's own, so that catalogues, Describe and public rows are PostgreSQL's.

Their owner may read every declared table and is bound by the tripwire: a role that is granted a view needs none of its
tables, and what reads private rows through a view here fails as it does without.
"""

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier, Literal

from dpsql.errors import ConfigError
from dpsql.policy.model import Policy
from dpsql.policy.view import View
from dpsql.shadow.contents.role import VIEWS


def create_views(connection: Connection, policy: Policy) -> None:
    """Create every view, each behind those that it reads; the owner's connection, in the new database.

    Raises:
        ConfigError: PostgreSQL does not take one; with file, line, view and its reason.
    """
    if not policy.views:
        return
    connection.execute(SQL("GRANT USAGE ON SCHEMA public TO {}").format(Identifier(VIEWS)))
    for table in policy.tables:
        connection.execute(SQL("GRANT SELECT ON {} TO {}").format(Identifier("public", table), Identifier(VIEWS)))
    for view in policy.views.values():
        _create(connection, view)


def _create(connection: Connection, view: View) -> None:
    name = Identifier("public", view.name)
    try:
        # By the extended protocol, which takes one statement and no more.
        connection.execute(SQL("CREATE VIEW {} AS {}").format(name, SQL(view.query)), prepare=True)
    except psycopg.Error as failed:
        reason = failed.diag.message_primary or "PostgreSQL does not take it"
        raise ConfigError(
            f'{view.file}:{view.line}: view: "{view.name}" can\'t be made: {reason}',
            hint="docs/configuration.md says what a view may be.",
        ) from None
    # Its owner first: what PostgreSQL checks in it from then on are the owner's rights.
    connection.execute(SQL("ALTER VIEW {} OWNER TO {}").format(name, Identifier(VIEWS)))


def described_views(connection: Connection, policy: Policy) -> None:
    """Write the comments of views, and their columns into `dpsql.declared`, after those of the tables."""
    for view in policy.views.values():
        name = Identifier("public", view.name)
        connection.execute(SQL("COMMENT ON VIEW {} IS {}").format(name, Literal(view.description or None)))
        for column, said in view.columns.items():
            where = Identifier("public", view.name, column)
            connection.execute(SQL("COMMENT ON COLUMN {} IS {}").format(where, Literal(said.description or None)))
        connection.execute(_DECLARED, (view.name, name.as_string()))
        for column, (table, of) in view.origins.items():
            connection.execute(_AS_OF_TABLE, (table, of, view.name, column))


_DECLARED = """
INSERT INTO dpsql.declared (table_name, place, column_name, type, nullable, description)
SELECT %s, attnum, attname, format_type(atttypid, atttypmod), true, col_description(attrelid, attnum)
  FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0
"""


_AS_OF_TABLE = """
UPDATE dpsql.declared AS v SET lower_bound = t.lower_bound, upper_bound = t.upper_bound, "values" = t."values",
    description = coalesce(v.description, t.description)
  FROM dpsql.declared AS t WHERE t.table_name = %s AND t.column_name = %s AND v.table_name = %s AND v.column_name = %s
"""


def words_of_views(policy: Policy) -> list[object]:
    """Return what `described_views` writes."""
    return [
        (
            view.description,
            [(name, column.description) for name, column in view.columns.items()],
            sorted(view.origins.items()),
        )
        for view in policy.views.values()
    ]
