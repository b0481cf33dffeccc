"""The policy's views as PostgreSQL's own, so that catalogues, Describe and public rows are PostgreSQL's.

Their owner may read every declared table and is bound by the tripwire: a role that is granted a view needs none of its
tables, and what reads private rows through a view here fails as it does without.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import psycopg
from psycopg import Connection
from psycopg.errors import UndefinedTable
from psycopg.sql import SQL, Composable, Identifier, Literal

from dpsql.errors import ConfigError
from dpsql.lexer.tokens import name, tokens
from dpsql.policy.model import PUBLIC, Column, Policy, TableName, View
from dpsql.shadow.contents.role import VIEWS
from dpsql.shadow.contents.schema import KEPT_NAME, all_schemas, declared_row, relation

_Reasons = Mapping[str, psycopg.Error | ConfigError]
"""Why views can't be made, by their names."""


def create_views(connection: Connection, policy: Policy) -> None:
    """Create every view, each behind those that it reads; the owner's connection, in the new database.

    Raises:
        ConfigError: PostgreSQL does not take some: with a line for each, of file, line, view and its reason.
    """
    if not policy.views:
        return
    connection.execute(SQL("GRANT USAGE ON SCHEMA {} TO {}").format(all_schemas(policy), Identifier(VIEWS)))
    for table in policy.tables:
        connection.execute(SQL("GRANT SELECT ON {} TO {}").format(relation(table), Identifier(VIEWS)))
    pending: Sequence[View] = list(policy.views.values())
    while pending:
        failed = {view.name: why for view in pending if (why := _not_created(connection, view)) is not None}
        if len(failed) == len(pending):  # none of them only waited for another
            raise _not_made(pending, failed, policy)
        pending = [view for view in pending if view.name in failed]
    connection.execute("SET LOCAL search_path TO DEFAULT")


def _not_created(connection: Connection, view: View) -> psycopg.Error | ConfigError | None:
    """Create a view; return why it can't be, which may be that one that it reads is not there yet."""
    try:
        with connection.transaction():
            _create(connection, view)
    except (psycopg.Error, ConfigError) as failed:
        return failed
    return None


def _create(connection: Connection, view: View) -> None:
    """Create a view with the casts that its file asks for; by the extended protocol, which takes one statement only."""
    name = relation(view.name)
    path = SQL(", ").join(map(Identifier, dict.fromkeys((TableName.of(view.name).schema, PUBLIC))))
    connection.execute(SQL("SET LOCAL search_path = {}").format(path))  # its query names what is beside it
    connection.execute(SQL("CREATE VIEW {} AS {}").format(name, SQL(view.query)), prepare=True)
    if view.columns:
        columns = connection.execute(SQL("SELECT * FROM {} WHERE false").format(name)).description or ()
        names = [column.name for column in columns]
        unknown = [column for column in view.columns if column not in names]
        if unknown:
            raise ConfigError(f'"{view.name}" has no column "{unknown[0]}"; its columns: {", ".join(names)}')
        if any(column.declared for column in view.columns.values()):
            connection.execute(SQL("DROP VIEW {}").format(name))
            cast = SQL(", ").join(_cast(view, column) for column in names)
            around = SQL("CREATE VIEW {} AS SELECT {} FROM (\n{}\n) AS uncast")
            connection.execute(around.format(name, cast, SQL(view.query)), prepare=True)
    # Its owner now: what PostgreSQL checks in it from then on are the owner's rights.
    connection.execute(SQL("ALTER VIEW {} OWNER TO {}").format(name, Identifier(VIEWS)))


def _cast(view: View, column: str) -> Composable:
    view_column = view.columns.get(column)
    if view_column is None or view_column.declared is None:
        return Identifier(column)
    return SQL("CAST({} AS {}) AS {}").format(Identifier(column), SQL(view_column.declared), Identifier(column))


def _not_made(pending: Sequence[View], failed: _Reasons, policy: Policy) -> ConfigError:
    reads = {view.name: _named(view, failed) for view in pending}
    lines = [f"{view.file}:{view.line}: view: {_reason(view, failed, reads, policy)}" for view in pending]
    return ConfigError("\n".join(sorted(lines)), hint="docs/configuration.md says what a view may be.")


def _named(view: View, failed: _Reasons) -> Sequence[str]:
    """Return the other views that a view waits for in vain."""
    if not isinstance(failed[view.name], UndefinedTable):
        return ()
    named = [name(token) for token in tokens(view.query)]
    return [other for read in dict.fromkeys(named) for other in failed if TableName.of(other).name == read]


def _reason(view: View, failed: _Reasons, reads: Mapping[str, Sequence[str]], policy: Policy) -> str:
    why = failed[view.name]
    if isinstance(why, ConfigError):
        return why.message
    if circle := _circle(view.name, reads):
        return f'"{view.name}" reads itself: {" → ".join(circle)}'
    if reads[view.name]:
        return f'reads the view "{reads[view.name][0]}", which can\'t be read'
    reason = why.diag.message_primary or "PostgreSQL does not take it"
    others = ", ".join(sorted({*policy.tables, *policy.views} - {view.name}))
    allowed = f"; allowed: {others}" * isinstance(why, UndefinedTable)
    return f'"{view.name}" can\'t be made: {reason}{allowed}'


def _circle(of: str, reads: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return a way by which a view comes back to itself, if there is one."""
    ways, seen = [[of]], set[str]()
    for way in ways:
        for read in reads[way[-1]]:
            if read == of:
                return [*way, read]
            if read not in seen:
                seen.add(read)
                ways.append([*way, read])
    return ()


def known_views(connection: Connection, policy: Policy) -> Policy:
    """Return the policy with what PostgreSQL says of its views, each behind those that it reads."""
    if not policy.views:
        return policy
    views: dict[str, View] = {}
    with connection.transaction(force_rollback=True):
        connection.execute(_PLAIN)
        schemas = [PUBLIC, *policy.schemas]
        for view_name, words, read in connection.execute(_KNOWN.encode(), (schemas, list(policy.views))).fetchall():
            of = [policy.tables.get(read_name) or views.get(read_name) for read_name in read]
            views[view_name] = replace(
                policy.views[view_name],
                query=words.removesuffix(";"),
                public=all(source is not None and source.public for source in of),
                origins=dict(_origins(connection, words, views, policy)),
            )
    return replace(policy, views=views)


def _origins(
    connection: Connection, query: str, views: Mapping[str, View], policy: Policy
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the columns of a query that are a table's as they stand, each with which: clients are told so, too."""
    server = connection.pgconn
    server.prepare(b"", query.encode())
    described = server.describe_prepared(b"")
    for place in range(described.nfields):
        row = connection.execute(
            _COLUMN.encode(), (described.ftable(place), described.ftablecol(place), [PUBLIC, *policy.schemas])
        ).fetchone()
        if row is not None:
            table, column = row
            origin = (table, column) if table in policy.tables else views[table].origins.get(column)
            if origin is not None:
                yield (described.fname(place) or b"").decode(), origin


_COLUMN = f"""
SELECT {KEPT_NAME}, a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE a.attrelid = %s AND a.attnum = %s AND n.nspname = ANY (%s)
"""  # names of our own


_PLAIN = "SET LOCAL search_path = pg_catalog; SET LOCAL DateStyle = ISO; SET LOCAL IntervalStyle = iso_8601"
_KNOWN = f"""
WITH declared (oid, name) AS (
  SELECT c.oid, {KEPT_NAME} FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = ANY (%s))
SELECT v.name, pg_get_viewdef(c.oid),
  ARRAY(SELECT DISTINCT read.name FROM pg_rewrite AS w
    JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
    JOIN pg_class AS r ON r.oid = d.refobjid AND r.oid <> c.oid LEFT JOIN declared AS read ON read.oid = r.oid
   WHERE w.ev_class = c.oid)
  FROM pg_class AS c JOIN declared AS v ON v.oid = c.oid WHERE c.relkind = 'v' AND v.name = ANY (%s)
 ORDER BY c.oid
"""
"""The views in the order in which they were made: their queries in PostgreSQL's words, and what these read."""


def described_views(connection: Connection, policy: Policy) -> None:
    """Write the comments of views, and their columns into `pg_dpsql.declared`, after those of the tables."""
    for view in policy.views.values():
        name = relation(view.name)
        connection.execute(SQL("COMMENT ON VIEW {} IS {}").format(name, Literal(view.description or None)))
        for column, said in view.columns.items():
            where = relation(view.name, column)
            connection.execute(SQL("COMMENT ON COLUMN {} IS {}").format(where, Literal(said.description or None)))
        connection.execute(_DECLARED, (name.as_string(), view.name, name.as_string()))
        for column, (table, of) in view.origins.items():
            connection.execute(_AS_OF_TABLE, (table, of, view.name, column))
        with connection.cursor().copy("COPY pg_dpsql.declared FROM STDIN") as copy:
            for place, path in enumerate(_paths(view, policy), start=_BEHIND_COLUMNS):
                copy.write_row(declared_row(view.name, place, path))


_BEHIND_COLUMNS = 10_000
"""The place of the first path among what is said of a view: PostgreSQL has no table of so many columns."""


def _paths(view: View, policy: Policy) -> Iterator[Column]:
    """Yield what can be read inside of a view's columns of JSON, by the names that these have there."""
    for column, (table, of) in view.origins.items():
        stored = policy.tables[table].columns.get(of) if table in policy.tables else None
        for path in () if stored is None else stored.paths:
            if path.path is not None:
                place = replace(path.path, column=column)
                yield replace(path, name=place.text, path=place)


_DECLARED = """
INSERT INTO pg_dpsql.declared (relation, table_name, place, column_name, type, nullable, description)
SELECT %s, %s, attnum, attname, format_type(atttypid, atttypmod), true, col_description(attrelid, attnum)
  FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0
"""


_AS_OF_TABLE = """
UPDATE pg_dpsql.declared AS v SET lower_bound = t.lower_bound, upper_bound = t.upper_bound, "values" = t."values",
    description = coalesce(v.description, t.description)
  FROM pg_dpsql.declared AS t WHERE t.table_name = %s AND t.column_name = %s AND v.table_name = %s AND v.column_name = %s
"""


def words_of_views(policy: Policy) -> list[object]:
    """Return what `described_views` writes, beside what follows from the views themselves."""
    return [
        (view.description, [(name, column.description) for name, column in view.columns.items()])
        for view in policy.views.values()
    ]


def structure_of_views(policy: Policy) -> list[object]:
    """Return what `create_views` makes."""
    return [
        (view.name, view.query, [(name, column.declared) for name, column in view.columns.items()])
        for view in policy.views.values()
    ]
