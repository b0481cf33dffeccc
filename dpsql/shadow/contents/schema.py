"""The declared tables and views as PostgreSQL's own: types, keys, comments; a dummy row and a tripwire for protected ones.

The tripwire is a row-security policy that raises. It holds because each protected table has a row to try it on, no
function counts as leakproof, and none is cheaper, so that nothing else is tried on that row first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import psycopg
from psycopg import Connection
from psycopg.errors import UndefinedTable
from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from dpsql.errors import ConfigError
from dpsql.lexer.reader import token_name as name_of_token
from dpsql.lexer.reader import tokens
from dpsql.policy.model import PUBLIC, Column, OfEachType, Policy, SqlType, Table, TableName, View
from dpsql.rewrite.ir.literal import format_value

# The declared tables and views as relations of the shadow: each in the schema that its name says.

VIEWS = "dpsql_views"
"""The owner of the policy's views, as whom PostgreSQL reads what they read: no superuser, so that the tripwire holds."""
KEPT_NAME = "CASE n.nspname WHEN 'public' THEN c.relname::text ELSE pg_catalog.concat(n.nspname, '.', c.relname) END"
"""The text by which the policy keeps a relation `c` of a schema `n`."""


def qualified_name(name: str, *column: str) -> Identifier:
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


# The tables.

PublicRow = tuple[object, ...]
ReadPublicRows = Callable[[Table], Iterable[PublicRow]]
"""How the rows of a public table are read, in the order of its declared columns."""


_MADE_UP = "rows that a preview shows are made up, answers to aggregates are not"
_DUMMY = OfEachType(
    boolean="false",
    smallint="0",
    integer="0",
    bigint="0",
    numeric="0",
    real="0",
    double="0",
    text="",
    character="",
    uuid="00000000-0000-0000-0000-000000000000",
    enum="",
    date="epoch",
    timestamp="epoch",
    timestamptz="epoch",
    time="00:00",
    interval="0",
    json="{}",
)


def create_tables(connection: Connection, policy: Policy, rows: ReadPublicRows) -> None:
    """Create every declared table, public ones with their rows; the owner's connection, in the new database."""
    create_schemas(connection, policy.schemas)
    public_first = sorted(policy.tables.values(), key=lambda table: (not table.public, table.name))
    columns = [column for table in public_first for column in table.columns.values()]
    for column in {column.declared: column for column in columns if column.type is SqlType.ENUM}.values():
        connection.execute(create_enumeration(column))
    for table in public_first:
        connection.execute(_create(table))
    for table in public_first:
        for reference in _references(table, policy):
            connection.execute(reference)
    # Replica mode skips the triggers of foreign keys: the dummy row points nowhere.
    connection.execute("SET session_replication_role = replica")
    for table in public_first:
        if table.public:
            own = list(rows(table))
            _fill(connection, table, own)
            _alter(connection, table, _always_there(table, own), "SET NOT NULL")
        else:
            _guard(connection, table)
    connection.execute("RESET session_replication_role")


def refill_public_tables(connection: Connection, policy: Policy, rows: ReadPublicRows) -> None:
    """Put other rows into the public tables; a session that reads them meanwhile sees the old ones."""
    connection.execute("SET LOCAL session_replication_role = replica")
    for table in policy.tables.values():
        if table.public:
            own, name = list(rows(table)), qualified_name(table.name)
            connection.execute(SQL("DELETE FROM {}").format(name))
            required = connection.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND attnotnull",
                (name.as_string(connection),),
            )
            gone = {column for (column,) in required} - set(_always_there(table, own)) - set(_key(table))
            _alter(connection, table, sorted(gone), "DROP NOT NULL")
            _fill(connection, table, own)


def describe_tables(connection: Connection, policy: Policy) -> None:
    """Write the comments, and what is behind the views `dpsql.columns` and `dpsql.tables`, from the policy."""
    for table in policy.tables.values():
        _comment(connection, table, _about(table, policy))
    connection.execute("DELETE FROM pg_dpsql.declared")
    with connection.cursor().copy("COPY pg_dpsql.declared FROM STDIN") as copy:
        for table in policy.tables.values():
            for place, column in enumerate((*table.columns.values(), *table.paths), start=1):
                copy.write_row(declared_row(table.name, place, column))
    connection.execute("DELETE FROM pg_dpsql.declared_tables")
    with connection.cursor().copy("COPY pg_dpsql.declared_tables FROM STDIN") as copy:
        for table in policy.tables.values():
            for row in _unit_rows(table):
                copy.write_row(row)


def descriptions_of_tables(policy: Policy) -> list[object]:
    """Return what `describe_tables` writes."""
    return [
        (
            _about(table, policy),
            [declared_row(table.name, 0, column) for column in (*table.columns.values(), *table.paths)],
            list(_unit_rows(table)),
        )
        for _, table in sorted(policy.tables.items())
    ]


def _create(table: Table) -> Composed:
    parts = list(_definitions(table))
    return SQL("CREATE TABLE {} ({})").format(qualified_name(table.name), SQL(", ").join(parts))


def create_enumeration(column: Column) -> Composed:
    """Return the statement that makes the type of a column of labels."""
    labels = SQL(", ").join(Literal(str(value)) for value in column.values or ())
    return SQL("CREATE TYPE {} AS ENUM ({})").format(SQL(column.spelled_type), labels)


def _definitions(table: Table) -> Iterator[Composable]:
    for column in table.columns.values():
        # The declared spelling was checked against SqlType where the policy was read.
        kind = SQL(column.spelled_type)
        required = SQL("" if column.nullable or table.public else " NOT NULL")
        yield SQL("{} {}{}").format(Identifier(column.name), kind, required)
    if key := _key(table):
        word = SQL("UNIQUE" if any(table.columns[name].nullable for name in key) else "PRIMARY KEY")
        yield SQL("{} ({})").format(word, SQL(", ").join(map(Identifier, key)))


def _references(table: Table, policy: Policy) -> Iterator[Composed]:
    """Yield the statements that make the foreign keys, which tables may have to each other."""
    for column in table.columns.values():
        target = column.references
        if target is not None and target.table in policy.tables and policy.tables[target.table].key == target.column:
            yield _foreign_key(table.name, (column.name,), target.table, (target.column,))
    for name, pairs in table.references.items():
        if name in policy.tables and set(policy.tables[name].joint_key) == set(pairs.values()):
            yield _foreign_key(table.name, tuple(pairs), name, tuple(pairs.values()))


def _foreign_key(table: str, columns: Sequence[str], target: str, key: Sequence[str]) -> Composed:
    own, theirs = (SQL(", ").join(map(Identifier, some)) for some in (columns, key))
    added = SQL("ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} ({})")
    return added.format(qualified_name(table), own, qualified_name(target), theirs)


def _about(table: Table, policy: Policy) -> str | None:
    """Return a table's comment: its description, and that previews are made up where a role has some."""
    if table.public or not policy.has_previews:
        return table.description or None
    return f"{table.description}; {_MADE_UP}" if table.description else _MADE_UP


def _comment(connection: Connection, table: Table, about: str | None) -> None:
    """Write a table's comments; one without a description has none."""
    name = qualified_name(table.name)
    connection.execute(SQL("COMMENT ON TABLE {} IS {}").format(name, Literal(about)))
    for column in table.columns.values():
        where = qualified_name(table.name, column.name)
        connection.execute(SQL("COMMENT ON COLUMN {} IS {}").format(where, Literal(table.said_of(column) or None)))


def _key(table: Table) -> tuple[str, ...]:
    return (table.key,) if table.key is not None else table.joint_key


def _always_there(table: Table, rows: Sequence[PublicRow]) -> list[str]:
    """Return the columns of a public table that may not be NULL, and are not."""
    return [
        column.name
        for place, column in enumerate(table.columns.values())
        if not column.nullable and all(row[place] is not None for row in rows)
    ]


def _alter(connection: Connection, table: Table, columns: Iterable[str], how: str) -> None:
    for column in columns:
        parts = qualified_name(table.name), Identifier(column), SQL(how)
        connection.execute(SQL("ALTER TABLE {} ALTER COLUMN {} {}").format(*parts))


def _fill(connection: Connection, table: Table, rows: Iterable[PublicRow]) -> None:
    columns = SQL(", ").join(map(Identifier, table.columns))
    name = qualified_name(table.name)
    with connection.cursor().copy(SQL("COPY {} ({}) FROM STDIN").format(name, columns)) as copy:
        for row in rows:
            copy.write_row(row)
    connection.execute(SQL("ANALYZE {}").format(name))


def _guard(connection: Connection, table: Table) -> None:
    """Put the dummy row in, then the policy that no row passes."""
    name = qualified_name(table.name)
    values = [None if column.nullable else _dummy(column) for column in table.columns.values()]
    # The last wall: whoever reads a protected table here, by a way that nobody has thought of, gets the tripwire's error.
    # Over no rows at all PostgreSQL would not call it, and an empty answer would look like one: hence a row.
    connection.execute(SQL("INSERT INTO {} VALUES ({})").format(name, SQL(", ").join(map(Literal, values))))
    connection.execute(SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY").format(name))
    connection.execute(SQL("CREATE POLICY dpsql ON {} USING (pg_dpsql.tripwire({}))").format(name, Literal(table.name)))


def _dummy(column: Column) -> str:
    """Return a value of a column's type."""
    return str((column.values or ("",))[0]) if column.type is SqlType.ENUM else _DUMMY.of(column.type)


def declared_row(table: str, place: int, column: Column) -> PublicRow:
    """Return what `dpsql.columns` says of a column, or of a path in one."""
    low, high = (None, None) if column.bounds is None else (column.bounds.low, column.bounds.high)
    return (
        table,
        place,
        column.name,
        column.declared,
        None if low is None else _spell(low, column.type),
        None if high is None else _spell(high, column.type),
        None if column.values is None else [_spell(value, column.type) for value in column.values],
        column.nullable,
        column.description,
        None if column.path is None else column.path.column,
        TableName.of(table).quoted,
    )


def _unit_rows(table: Table) -> Iterator[PublicRow]:
    """Yield what `dpsql.tables` says of a table, a row for each kind of unit."""
    for kind, bound in table.units.items():
        most = bound.max_rows if bound.up_to is None else None
        yield table.name, kind, list(bound.columns), most, table.expected_rows, TableName.of(table.name).quoted


def _spell(value: bool | int | Fraction | str, kind: SqlType) -> str:
    """Write a bound or a value as PostgreSQL would show it."""
    match value:
        case bool():
            return "true" if value else "false"
        case Fraction() if value.denominator > 1 and kind is not SqlType.NUMERIC:
            return f"{float(value):.15g}"
        case _:
            whole = isinstance(value, Fraction) and value.denominator == 1
            return format_value(int(value) if whole else value, kind)


# The order of texts in the shadow: byte by byte, as every engine is asked for it (`COLLATE "C"`).
#
# PostgreSQL must compare constants, keys and answers as an engine compares rows. The cluster is made with a locale that
# has this order; a file system or a C library that is another one since could change it.

_ORDERED_TEXTS = ("", " ", "A", "B", "Z", "_", "a", "a b", "ab", "b", "z", "~", "É", "é", "ß", "ω", "中", "\uffee", "𝄞")
"""Texts that every other order mixes up: small and capital letters, spaces, letters with accents, two and four bytes."""
_SORTED = "SELECT t FROM unnest(%s::text[]) AS t ORDER BY t"
_COLLATION = """
SELECT coalesce(to_jsonb(d) ->> 'daticulocale', to_jsonb(d) ->> 'datlocale', datcollate)
  FROM pg_database AS d WHERE datname = current_database()
"""
"""The collation has another column in each version that knows more than the C library's."""


def require_byte_order(connection: Connection, directory: str) -> None:
    """See that a database of the shadow, whose files are in `directory`, compares texts byte by byte.

    Raises:
        ConfigError: it does not.
    """
    sorted_texts = [text for (text,) in connection.execute(_SORTED, (list(_ORDERED_TEXTS),)).fetchall()]
    if sorted_texts != sorted(_ORDERED_TEXTS, key=str.encode):
        ((name,),) = connection.execute(_COLLATION).fetchall()
        raise ConfigError(
            f'the shadow compares texts by the collation "{name}", and not byte by byte as the engine does',
            hint=f"Stop dpsql and remove {directory}: it is only a cache, and is made anew with the collation C.UTF-8 or C.",
        )


# The policy's views as PostgreSQL's own, so that catalogues, Describe and public rows are PostgreSQL's.
#
# Their owner may read every declared table and is bound by the tripwire: a role that is granted a view needs none of its
# tables, and what reads private rows through a view here fails as it does without.

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
        connection.execute(SQL("GRANT SELECT ON {} TO {}").format(qualified_name(table), Identifier(VIEWS)))
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
            _create_view(connection, view)
    except (psycopg.Error, ConfigError) as failed:
        return failed
    return None


def _create_view(connection: Connection, view: View) -> None:
    """Create a view with the casts that its file asks for; by the extended protocol, which takes one statement only."""
    name = qualified_name(view.name)
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
    named = [name_of_token(token) for token in tokens(view.query)]
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


def describe_views(connection: Connection, policy: Policy) -> None:
    """Write the comments of views, and their columns into `pg_dpsql.declared`, after those of the tables."""
    for view in policy.views.values():
        name = qualified_name(view.name)
        connection.execute(SQL("COMMENT ON VIEW {} IS {}").format(name, Literal(view.description or None)))
        for column, said in view.columns.items():
            where = qualified_name(view.name, column)
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


def descriptions_of_views(policy: Policy) -> list[object]:
    """Return what `describe_views` writes, beside what follows from the views themselves."""
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
