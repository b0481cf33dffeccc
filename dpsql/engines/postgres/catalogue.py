"""PostgreSQL's catalogue: columns, types, uniqueness, and the rights of our own role."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dpsql.engines.constraints import Constraints
from dpsql.engines.kinds import LOOSE
from dpsql.engines.postgres.pool import PgConnection
from dpsql.errors import ConfigError
from dpsql.policy.model import PUBLIC, TableName, UniqueKey
from dpsql.rewrite.emit.columns import quoted

_LOCATED = """
unnest(ARRAY[{tables}]::text[], ARRAY[{places}]::text[], ARRAY[{names}]::text[]) AS t (name, schema, own)
CROSS JOIN LATERAL (
  SELECT c.oid, c.relkind, n.nspname
  FROM unnest(CASE t.schema WHEN '' THEN ARRAY[{schemas}]::text[] ELSE ARRAY[t.schema] END) WITH ORDINALITY AS p (name, place)
  JOIN pg_namespace n ON n.nspname = p.name
  JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.own AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  ORDER BY p.place LIMIT 1) AS c
"""
_CATALOGUE = """
WITH RECURSIVE base (oid, type, typmod) AS (
  SELECT oid, oid, NULL::integer FROM pg_type
  UNION ALL SELECT b.oid, t.typbasetype, NULLIF(t.typtypmod, -1)
    FROM base b JOIN pg_type t ON t.oid = b.type AND t.typtype = 'd')
SELECT t.name, c.nspname, a.attname,
  CASE y.typtype WHEN 'e' THEN 'enum(' || (
      SELECT coalesce(string_agg('''' || replace(e.enumlabel, '''', '''''') || '''', ', ' ORDER BY e.enumsortorder), '')
      FROM pg_enum e WHERE e.enumtypid = y.oid) || ')'
    ELSE format_type(y.oid, coalesce(b.typmod, NULLIF(a.atttypmod, -1), -1)) END
    || CASE WHEN EXISTS (SELECT FROM pg_collation l WHERE l.oid = a.attcollation AND NOT l.collisdeterministic)
      THEN '{loose}' ELSE '' END,
  ARRAY(SELECT i.indexrelid || ' ' || i.indnkeyatts FROM pg_index i WHERE i.indrelid = c.oid
      AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
      AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
      AND (c.relkind = 'p' OR NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid))),
  {whole} AND a.attnotnull AND NOT EXISTS (SELECT FROM pg_constraint k
    WHERE k.conrelid = c.oid AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum] AND NOT k.convalidated),
  ARRAY(SELECT pg_get_expr(k.conbin, k.conrelid) FROM pg_constraint k
    WHERE {whole} AND k.conrelid = c.oid AND k.contype = 'c' AND k.convalidated AND a.attnum = ANY (k.conkey)
    ORDER BY k.oid),
  ARRAY(SELECT json_build_array(x.nspname, o.relname, b.attname)::text
    FROM pg_constraint k JOIN pg_class o ON o.oid = k.confrelid JOIN pg_namespace x ON x.oid = o.relnamespace
    JOIN pg_attribute b ON b.attrelid = o.oid AND k.confkey = ARRAY[b.attnum]
    WHERE {whole} AND k.conrelid = c.oid AND k.contype = 'f' AND k.convalidated AND k.conkey = ARRAY[a.attnum]
    ORDER BY k.oid)
FROM {located}
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN base b ON b.oid = a.atttypid JOIN pg_type y ON y.oid = b.type AND y.typtype <> 'd'
ORDER BY t.name, a.attnum
"""
_WHOLE = """
CASE c.relkind WHEN 'r' THEN NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid)
  WHEN 'p' THEN NOT EXISTS (SELECT FROM pg_partition_tree(c.oid) m JOIN pg_class r ON r.oid = m.relid WHERE r.relkind = 'f')
  ELSE FALSE END
"""
"""Whether a table's constraints hold for all of its rows: children need not keep their parent's, nor others' servers."""
_ROLE = """
SELECT current_setting('server_encoding'), current_user, rolsuper,
  pg_has_role(current_user, 'pg_execute_server_program', 'USAGE')
    OR pg_has_role(current_user, 'pg_write_server_files', 'USAGE'),
  ARRAY(SELECT t.name FROM {located} WHERE has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')),
  ARRAY(SELECT t.name FROM {located} WHERE row_security_active(c.oid))
FROM pg_roles WHERE rolname = current_user
"""


Places = Mapping[str, tuple[str, str]]
"""The schema and the name of tables that are not looked for in the search path, by what they are called here."""
_ENCODINGS = frozenset({"UTF8", "LATIN1"})


@dataclass(frozen=True, slots=True)
class PostgresCatalogue:
    """One table, of whose columns those are left out that nobody declares; empty if there is none."""

    schema: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    unique: frozenset[UniqueKey] = frozenset()
    constraints: Constraints = field(default_factory=Constraints)


CatalogueRow = tuple[str, str, str, str, list[str], bool, list[str], list[str]]
"""Its table, the table's schema, a column, its type, the unique indexes that have it, each with its number of columns,
whether it is NOT NULL, the CHECKs that read it, and where it points to by itself."""


def catalogue_sql(tables: Sequence[str], schemas: Sequence[str], places: Places) -> str:
    """Return the question about these tables; what a parent's children need not keep does not count."""
    return _CATALOGUE.format(located=_located(tables, schemas, places), loose=LOOSE, whole=_WHOLE)


def catalogues(
    tables: Sequence[str], declared: Mapping[str, Collection[str] | None], rows: Iterable[CatalogueRow]
) -> dict[str, PostgresCatalogue]:
    """Return the answer by table: of the columns that are declared, and of all where none are."""
    by_table: dict[str, list[CatalogueRow]] = {table: [] for table in tables}
    for row in rows:
        by_table[row[0]].append(row)
    return {table: _catalogue(lines, declared.get(table)) for table, lines in by_table.items()}


def _catalogue(every: Sequence[CatalogueRow], declared: Collection[str] | None) -> PostgresCatalogue:
    if not every:
        return PostgresCatalogue()
    rows = [row for row in every if declared is None or row[2] in declared]
    types = {column: kind for _, _, column, kind, *_ in rows}
    keys: dict[str, list[str]] = {}
    for _, _, column, _, indexes, *_ in rows:
        for index in indexes:
            keys.setdefault(index, []).append(column)
    # An index of an expression, too, has fewer of the table's columns than its own, and makes them unique by nothing.
    whole = (columns for index, columns in keys.items() if len(columns) == int(index.split()[1]))
    return PostgresCatalogue(every[0][1], types, frozenset(map(frozenset, whole)), _constraints(rows))


def _constraints(rows: Sequence[CatalogueRow]) -> Constraints:
    references = {}
    for _, _, column, _, _, _, _, targets in rows:
        for target in targets:
            schema, table, name = json.loads(target)
            references[column] = f"{quoted(schema)}.{quoted(table)}", name
    checks = dict.fromkeys(check for row in rows for check in row[6])
    return Constraints(frozenset(row[2] for row in rows if row[5]), tuple(checks), "postgres", references)


def check_role(connection: PgConnection, tables: Sequence[str], schemas: Sequence[str], places: Places) -> None:
    """See that the role can't do more than read, that it reads every row, and that every text can be read.

    Raises:
        ConfigError: the role is a superuser, can reach beyond the database, may write to one of `tables`, or does not
            see all of its rows.
    """
    row = connection.execute(_ROLE.format(located=_located(tables, schemas, places)).encode()).fetchone()
    if row is None:
        return
    encoding, role, superuser, reaching, writable, hidden = row
    if encoding not in _ENCODINGS:
        raise ConfigError(
            f"engine: the database's encoding is {encoding}, of which not every text can be read as UTF-8",
            hint="An error would reveal that there is such a text. Serve a database whose encoding is UTF8.",
        )
    if superuser or reaching or writable:
        can = (
            "is a superuser"
            if superuser
            else "can reach the server's files"
            if reaching
            else f"may write to {', '.join(writable)}"
        )
        names = ", ".join(".".join(map(quoted, places.get(table, (table,)))) for table in tables)
        raise ConfigError(
            f'engine: the role "{role}" {can}; dpsql connects only as one that can do nothing but SELECT',
            hint=f"CREATE ROLE dpsql_reader LOGIN PASSWORD '…'; GRANT SELECT ON {names} TO dpsql_reader;",
        )
    if hidden:
        raise ConfigError(
            f'engine: row-level security hides rows of {", ".join(hidden)} from the role "{role}"',
            hint="A policy may let one person's rows depend on another's. Serve a table or a view without one.",
        )


def _located(tables: Sequence[str], schemas: Sequence[str], places: Places) -> str:
    located = [places.get(table, ("", table)) for table in tables]
    own = {"places": _texts([schema for schema, _ in located]), "names": _texts([name for _, name in located])}
    return _LOCATED.format(tables=_texts(tables), schemas=_texts(schemas), **own)


def own_places(tables: Iterable[str]) -> Places:
    """Return where tables are that have a schema by name; those of `public` are looked for in the search path."""
    names = {table: TableName.of(table) for table in tables}
    return {table: (where.schema, where.name) for table, where in names.items() if where.schema != PUBLIC}


def places_of(written: Mapping[str, str]) -> Places:
    """Return where tables are, as a configuration says: `clinical.labs`."""
    return {table: (place.partition(".")[0], place.partition(".")[2]) for table, place in written.items()}


def _texts(texts: Sequence[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
