"""Tables in PostgreSQL's catalogue: types, NULLs, comments, keys, references, partitions; never a record."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import psycopg

from dpsql.cli.support.catalogued import Catalogue, CatalogueColumn, CatalogueTable
from dpsql.errors import ConfigError
from dpsql.policy.load.scalars import table_name
from dpsql.policy.model import PUBLIC, TableName
from dpsql.rewrite.ir.spelled import quoted_name

_OURS = """
  n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_temp_'
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
_COLUMNS = f"""
WITH RECURSIVE base (oid, type, typmod) AS (
  SELECT oid, oid, NULL::integer FROM pg_type
  UNION ALL SELECT b.oid, t.typbasetype, NULLIF(t.typtypmod, -1)
    FROM base b JOIN pg_type t ON t.oid = b.type AND t.typtype = 'd')
SELECT c.oid::bigint, pg_table_is_visible(c.oid), n.nspname, c.relname, c.relispartition, obj_description(c.oid, 'pg_class'),
  a.attnum, a.attname, col_description(c.oid, a.attnum), a.attnotnull OR y.typnotnull,
  CASE WHEN t.typtype = 'e'
    THEN 'enum' || (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid)
      || (SELECT m.nspname FROM pg_namespace m WHERE m.oid = t.typnamespace) || '.' || t.typname
    ELSE format_type(t.oid, coalesce(b.typmod, NULLIF(a.atttypmod, -1), -1)) END,
  (SELECT count(*) FROM pg_partition_tree(c.oid) p WHERE p.isleaf AND c.relkind = 'p'),
  has_schema_privilege(n.oid, 'USAGE'), has_any_column_privilege(c.oid, 'SELECT')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
JOIN pg_type y ON y.oid = a.atttypid JOIN base b ON b.oid = a.atttypid JOIN pg_type t ON t.oid = b.type AND t.typtype <> 'd'
WHERE {_OURS} AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY n.nspname, c.relname, a.attnum
"""  # noqa: S608 # names of our own
_KEYS = f"""
SELECT k.conrelid::bigint, k.contype::text, k.conkey::integer[], k.confrelid::bigint, k.confkey::integer[]
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE {_OURS} AND k.contype IN ('p', 'f') AND k.convalidated
"""  # noqa: S608
_PATHS = """
SELECT coalesce(r.rolname::text, 'every role'), substr(one, length('search_path=') + 1)
  FROM pg_db_role_setting s LEFT JOIN pg_roles r ON r.oid = s.setrole CROSS JOIN unnest(s.setconfig) AS c (one)
 WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
   AND one LIKE 'search_path=%' ORDER BY s.setdatabase, 1
"""
_Column = tuple[int, bool, str, str, bool, str | None, int, str, str | None, bool, str, int, bool, bool]
_Key = tuple[int, str, list[int], int, list[int] | None]


def read_postgres(dsn: str, schemas: Collection[str] | None = ()) -> Catalogue:
    """Ask a server for its tables: those that the search path finds, and those of `schemas`, or of all where that is None.

    Raises:
        ConfigError: it can't be asked.
    """
    try:
        with psycopg.connect(dsn, connect_timeout=10, client_encoding="UTF8") as connection:
            connection.read_only = True
            version = str(connection.info.server_version // 10_000)
            columns: list[_Column] = connection.execute(_COLUMNS.encode()).fetchall()
            keys: list[_Key] = connection.execute(_KEYS.encode()).fetchall()
            ((reader, searched),) = connection.execute("SELECT current_user, current_schemas(false)").fetchall()
            paths: dict[str, str] = dict(connection.execute(_PATHS).fetchall())
            given = "search_path" in (connection.info.get_parameters().get("options") or "")
    except psycopg.ProgrammingError as failure:
        # libpq quotes what it can't read, which may be a password.
        why = "Its DSN can't be read as one." if failure.sqlstate is None else str(failure).splitlines()[0]
        raise ConfigError("the PostgreSQL server can't be asked", hint=why) from None
    except psycopg.Error as failure:
        raise ConfigError("the PostgreSQL server can't be asked", hint=str(failure).splitlines()[0]) from None
    whole = [row for row in columns if not row[4]]
    wanted = [row for row in whole if row[1] or schemas is None or row[2] in schemas]
    elsewhere: dict[str, dict[str, None]] = {}
    for row in whole:
        if not row[1] and schemas is not None and row[2] not in schemas:
            elsewhere.setdefault(row[2], {})[row[3]] = None
    return Catalogue(
        dict(_tables(wanted, keys, bare=given)),
        {schema: tuple(names) for schema, names in elsewhere.items()},
        _candidates(whole, keys),
        tuple(_grants(wanted or whole, reader)),
        version,
        searched=_searched(paths, () if given or list(searched) == [PUBLIC] else searched),
    )


def _candidates(columns: list[_Column], keys: list[_Key]) -> Mapping[str, int]:
    """Return the keys of one column to which other tables' references lead, by how many tables these are."""
    pointing: dict[int, set[int]] = {}
    for own, kind, _, to, _ in keys:
        if kind == "f" and own != to:
            pointing.setdefault(to, set()).add(own)
    alone = {oid: key[0] for oid, kind, key, *_ in keys if kind == "p" and len(key) == 1}
    found: dict[str, int] = {}
    for row in columns:
        if alone.get(row[0]) != row[6]:
            continue
        leading, new = set[int](), {row[0]}
        while new:
            new = {own for to in new for own in pointing.get(to, ())} - leading - {row[0]}
            leading |= new
        leading &= {other[0] for other in columns}
        if leading:
            found[f"{row[2]}.{row[3]}.{row[7]}"] = len(leading)
    return dict(sorted(found.items(), key=lambda of: -of[1]))


def _grants(columns: list[_Column], reader: str) -> Iterator[str]:
    """Yield the commands that let a role read tables which it may not read yet."""
    tables = {row[0]: row for row in columns}
    to = quoted_name(reader)
    for schema in dict.fromkeys(row[2] for row in tables.values()):
        inside = [row for row in tables.values() if row[2] == schema]
        lacking = [f"{quoted_name(schema)}.{quoted_name(row[3])}" for row in inside if not row[13]]
        if not inside[0][12]:
            yield f"GRANT USAGE ON SCHEMA {quoted_name(schema)} TO {to};"
        if len(lacking) == len(inside):
            yield f"GRANT SELECT ON ALL TABLES IN SCHEMA {quoted_name(schema)} TO {to};"
        elif lacking:
            yield f"GRANT SELECT ON {', '.join(lacking)} TO {to};"


def _searched(paths: Mapping[str, str], own: Sequence[str]) -> Mapping[str, str]:
    """Return whose bare names mean tables of which schemas: of roles that say so, and of who asked."""
    return {**({"this one": ", ".join(own)} if own else {}), **paths}


def _tables(columns: list[_Column], keys: list[_Key], *, bare: bool) -> Iterator[tuple[str, CatalogueTable]]:
    """Yield the tables by name; partitions are read through the table that they are of."""
    of: dict[int, dict[int, _Column]] = {}
    for row in columns:
        of.setdefault(row[0], {})[row[6]] = row
    names = {oid: _called(next(iter(rows.values())), bare=bare) for oid, rows in of.items()}
    primary = {oid: tuple(key) for oid, kind, key, *_ in keys if kind == "p"}
    for oid, rows in of.items():
        single: dict[int, str] = {}
        joint: dict[str, Mapping[str, str]] = {}
        for where, kind, own, to, theirs in keys:
            if where != oid or kind != "f" or to not in of or theirs is None or tuple(theirs) != primary.get(to):
                continue
            pairs = {rows[here][7]: of[to][there][7] for here, there in zip(own, theirs, strict=True)}
            if len(pairs) == 1:
                single[own[0]] = f"{names[to]}.{next(iter(pairs.values()))}"
            else:
                joint[names[to]] = pairs
        described = {row[7]: _column(row, single.get(number), bare=bare) for number, row in rows.items()}
        key = tuple(rows[number][7] for number in primary.get(oid, ()))
        first = next(iter(rows.values()))
        found = first[1] if TableName.of(names[oid]).schema == PUBLIC else names[oid] == f"{first[2]}.{first[3]}"
        place = None if found else f"{first[2]}.{first[3]}"
        readable = first[12] and first[13]
        yield names[oid], CatalogueTable(described, key, joint, first[5], first[11], place, readable)


def _called(row: _Column, *, bare: bool) -> str:
    """Return what a table is called: as it is there, without its schema where that is `public`.

    Where the address says a search path, it also says that what that finds is to be called by its `bare` name.
    """
    text = row[3] if row[2] == PUBLIC or (bare and row[1]) else f"{row[2]}.{row[3]}"
    try:
        return table_name(text)
    except ValueError:  # a name with a dot in it, which would be a schema's
        return f"{row[2]}_{row[3]}".replace(".", "_")


def _column(row: _Column, references: str | None, *, bare: bool) -> CatalogueColumn:
    kind = _plain(row[10])
    if kind.startswith("enum"):
        labels, end, name = kind.rpartition("]")
        schema, _, own = name.partition(".")
        plain = schema == PUBLIC or "." in own or (bare and row[1])
        kind = f"{labels}{end}{own.replace('.', '_') if plain else name}"
    return CatalogueColumn(kind, nullable=not row[9], description=row[8], references=references)


def _plain(kind: str) -> str:
    """Return the type that holds all values of a time with fewer digits."""
    return re.sub(r"^(time|timestamp)\(\d\)", r"\1", kind)
