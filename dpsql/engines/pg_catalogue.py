"""What PostgreSQL's catalogue says: columns, types, uniqueness, and what our own role may do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dpsql.engines.pool import Connection
from dpsql.errors import ConfigError
from dpsql.rewrite.stored import quoted

_CATALOGUE = """
SELECT t.name, a.attname,
  CASE y.typtype WHEN 'e' THEN 'enum' WHEN 'd' THEN format_type(y.typbasetype, y.typtypmod)
    ELSE format_type(a.atttypid, a.atttypmod) END,
  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indnkeyatts = 1
      AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL)
    AND (c.relkind = 'p' OR NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid))
FROM unnest(ARRAY[{tables}]::text[]) AS t (name)
JOIN pg_class c ON c.oid = to_regclass(quote_ident(t.name))
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type y ON y.oid = a.atttypid
ORDER BY t.name, a.attnum
"""
_ROLE = """
SELECT current_setting('server_encoding'), current_user, rolsuper,
  pg_has_role(current_user, 'pg_execute_server_program', 'USAGE')
    OR pg_has_role(current_user, 'pg_write_server_files', 'USAGE'),
  ARRAY(SELECT name FROM unnest(%s::text[]) AS t (name)
    WHERE has_table_privilege(to_regclass(quote_ident(name)), 'INSERT, UPDATE, DELETE, TRUNCATE'))
FROM pg_roles WHERE rolname = current_user
"""


_ENCODINGS = frozenset({"UTF8", "LATIN1"})


@dataclass(frozen=True, slots=True)
class Catalogue:
    """One table; empty if there is none."""

    types: Mapping[str, str] = field(default_factory=dict)
    unique: frozenset[str] = frozenset()


CatalogueRow = tuple[str, str, str, bool]


def catalogue_sql(tables: Sequence[str]) -> str:
    """Return the question about these tables; uniqueness that a parent's children need not keep does not count."""
    return _CATALOGUE.format(tables=", ".join(map(_literal, tables)))


def catalogues(tables: Sequence[str], rows: Iterable[CatalogueRow]) -> dict[str, Catalogue]:
    """Return the answer by table."""
    types: dict[str, dict[str, str]] = {table: {} for table in tables}
    unique: dict[str, set[str]] = {table: set() for table in tables}
    for table, column, kind, alone in rows:
        types[table][column] = kind
        if alone:
            unique[table].add(column)
    return {table: Catalogue(types[table], frozenset(unique[table])) for table in tables}


def check_role(connection: Connection, tables: Sequence[str]) -> None:
    """See that the role can't do more than read, and that every text can be read.

    Raises:
        ConfigError: the role is a superuser, can reach beyond the database, or may write to one of `tables`.
    """
    found = connection.execute(_ROLE, [list(tables)]).fetchone()
    if found is None:
        return
    encoding, role, superuser, reaching, writable = found
    if encoding not in _ENCODINGS:
        raise ConfigError(
            f"engine: the database's encoding is {encoding}, of which not every text can be read as UTF-8",
            hint="An error would tell that there is such a text. Serve a database whose encoding is UTF8.",
        )
    if superuser or reaching or writable:
        can = (
            "is a superuser"
            if superuser
            else "can reach the server's files"
            if reaching
            else f"may write to {', '.join(writable)}"
        )
        names = ", ".join(map(quoted, tables))
        raise ConfigError(
            f'engine: the role "{role}" {can}; dpsql connects only as one that can do nothing but SELECT',
            hint=f"CREATE ROLE dpsql_reader LOGIN PASSWORD '…'; GRANT SELECT ON {names} TO dpsql_reader;",
        )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
