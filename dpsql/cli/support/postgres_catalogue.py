"""Tables in PostgreSQL's catalogue: types, NULLs, comments, keys, references, partitions; never a record."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import psycopg

from dpsql.cli.support.catalogued import CatalogueColumn, CatalogueTable
from dpsql.errors import ConfigError

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
      || t.typname
    ELSE format_type(t.oid, coalesce(b.typmod, NULLIF(a.atttypmod, -1), -1)) END,
  (SELECT count(*) FROM pg_partition_tree(c.oid) p WHERE p.isleaf AND c.relkind = 'p')
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
_Column = tuple[int, bool, str, str, bool, str | None, int, str, str | None, bool, str, int]
_Key = tuple[int, str, list[int], int, list[int] | None]


@dataclass(frozen=True, slots=True)
class PostgresTables:
    """The tables that a server finds, and what it has elsewhere."""

    tables: Mapping[str, CatalogueTable]
    elsewhere: tuple[str, ...]
    """Schemas whose tables are not found."""
    version: str


def read_postgres(dsn: str, schemas: Collection[str] = ()) -> PostgresTables:
    """Ask a server for its tables: those that the search path finds, and those of `schemas`.

    Raises:
        ConfigError: it can't be asked.
    """
    try:
        with psycopg.connect(dsn, connect_timeout=10) as connection:
            connection.read_only = True
            version = str(connection.info.server_version // 10_000)
            columns: list[_Column] = connection.execute(_COLUMNS.encode()).fetchall()
            keys: list[_Key] = connection.execute(_KEYS.encode()).fetchall()
    except psycopg.ProgrammingError as failure:
        # libpq quotes what it can't read, which may be a password.
        why = "Its DSN can't be read as one." if failure.sqlstate is None else str(failure).splitlines()[0]
        raise ConfigError("the PostgreSQL server can't be asked", hint=why) from None
    except psycopg.Error as failure:
        raise ConfigError("the PostgreSQL server can't be asked", hint=str(failure).splitlines()[0]) from None
    elsewhere = dict.fromkeys(row[2] for row in columns if not row[1] and row[2] not in schemas)
    wanted = [row for row in columns if (row[1] or row[2] in schemas) and not row[4]]
    return PostgresTables(dict(_tables(wanted, keys)), tuple(elsewhere), version)


def _tables(columns: list[_Column], keys: list[_Key]) -> Iterator[tuple[str, CatalogueTable]]:
    """Yield the tables by name; partitions are read through the table that they are of."""
    of: dict[int, dict[int, _Column]] = {}
    for row in columns:
        of.setdefault(row[0], {})[row[6]] = row
    names = _names({oid: next(iter(rows.values())) for oid, rows in of.items()})
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
        described = {row[7]: _column(row, single.get(number)) for number, row in rows.items()}
        key = tuple(rows[number][7] for number in primary.get(oid, ()))
        first = next(iter(rows.values()))
        place = None if first[1] else f"{first[2]}.{first[3]}"
        yield names[oid], CatalogueTable(described, key, joint, first[5], first[11], place)


def _names(tables: Mapping[int, _Column]) -> Mapping[int, str]:
    """Return what tables are called: by their names, and of several with one name by their schemas, too."""
    times = Counter(row[3] for row in tables.values())
    return {oid: row[3] if row[1] or times[row[3]] == 1 else f"{row[2]}_{row[3]}" for oid, row in tables.items()}


def _column(row: _Column, references: str | None) -> CatalogueColumn:
    return CatalogueColumn(_plain(row[10]), nullable=not row[9], description=row[8], references=references)


def _plain(kind: str) -> str:
    """Return the type that holds all values of a time with fewer digits."""
    return re.sub(r"^(time|timestamp)\(\d\)", r"\1", kind)
