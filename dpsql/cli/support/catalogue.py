"""A database's catalogue, for `dpsql init`: names, types and keys of tables and columns, and never a record."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import duckdb
import psycopg

from dpsql.engines.databases.catalogue import Family, FoundTable, FoundTables, SourceColumn, find_tables
from dpsql.engines.duckdb.files import CSV, PARQUET, CsvForm, duckdb_literal
from dpsql.errors import ConfigError
from dpsql.policy.config import CopiedDatabase, DuckDbFile, PostgresServer
from dpsql.policy.load.scalars import table_name
from dpsql.policy.model import PUBLIC, TableName
from dpsql.rewrite.ir.literal import quoted_name

# Tables as a catalogue has them.


@dataclass(frozen=True, slots=True)
class CatalogueColumn:
    """One column."""

    kind: str
    """The type as the engine writes it; of PostgreSQL's enumerations with the labels in JSON and the name."""
    nullable: bool = False
    """Whether the catalogue lets it be NULL, where that is known."""
    description: str | None = None
    references: str | None = None
    """The key of another table: table.column."""


@dataclass(frozen=True, slots=True)
class CatalogueTable:
    """One table, its columns in their order."""

    columns: Mapping[str, CatalogueColumn]
    key: tuple[str, ...] = ()
    """The columns of its primary key."""
    references: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The targets of several columns together: by table, this one's column by the column of its key."""
    description: str | None = None
    partitions: int = 0
    """How many tables are read through it."""
    place: str | None = None
    """Where it is, if nothing but its place finds it: clinical.labs."""
    readable: bool = True
    """Whether who asked may read its rows."""
    is_view: bool = False


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The tables that dpsql can serve, and what else there is."""

    tables: Mapping[str, CatalogueTable]
    elsewhere: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By schema, the tables that dpsql would not find."""
    units: Mapping[str, int] = field(default_factory=dict)
    """Keys of one column, and how many tables' references lead to each, the most first: schema.table.column."""
    grants: Sequence[str] = ()
    """What lets who asked read the tables, where rights are missing."""
    version: str = ""
    """Of PostgreSQL."""
    unnamed: Sequence[str] = ()
    """Tables that dpsql can't serve by their names, which have a dot in them."""
    searched: Mapping[str, str] = field(default_factory=dict)
    """The search paths of PostgreSQL's roles that have one of their own."""


# Tables in PostgreSQL's catalogue: types, NULLs, comments, keys, references, partitions; never a record.

_OURS = """
  n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_temp_'
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
# `base` follows domains: a column of age, a domain over positive, a domain over integer, is an integer here, and NOT NULL if
# its domain says so. An enumeration comes as enum["ill", "well"]public.state, which `_postgres_column` takes apart.
_POSTGRES_COLUMNS = f"""
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
  has_schema_privilege(n.oid, 'USAGE'), has_any_column_privilege(c.oid, 'SELECT'), c.relkind IN ('v', 'm')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
JOIN pg_type y ON y.oid = a.atttypid JOIN base b ON b.oid = a.atttypid JOIN pg_type t ON t.oid = b.type AND t.typtype <> 'd'
WHERE {_OURS} AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY n.nspname, c.relname, a.attnum
"""  # noqa: S608 # names of our own
# What is NOT VALID may be broken by rows that are older than the constraint: nothing is built on it.
_POSTGRES_KEYS = f"""
SELECT k.conrelid::bigint, k.contype::text, k.conkey::integer[], k.confrelid::bigint, k.confkey::integer[]
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE {_OURS} AND k.contype IN ('p', 'f') AND k.convalidated
"""  # noqa: S608
# ALTER ROLE … SET search_path, and ALTER DATABASE, whose setrole is 0: which table a bare name then means to whom.
_PATHS = """
SELECT coalesce(r.rolname::text, 'every role'), substr(one, length('search_path=') + 1)
  FROM pg_db_role_setting s LEFT JOIN pg_roles r ON r.oid = s.setrole CROSS JOIN unnest(s.setconfig) AS c (one)
 WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
   AND one LIKE 'search_path=%' ORDER BY s.setdatabase, 1
"""
# By place: 0 oid, 1 whether a bare name finds it, 2 schema, 3 table, 4 whether it is a partition, 5 the table's comment, 6
# number of the column, 7 its name, 8 its comment, 9 NOT NULL, 10 type, 11 how many partitions have rows, 12 whether the
# schema may be used, 13 whether a column may be read, 14 whether it is a view. `_Key`: table, p or f, own columns, target,
# its columns.
_Column = tuple[int, bool, str, str, bool, str | None, int, str, str | None, bool, str, int, bool, bool, bool]
_Key = tuple[int, str, list[int], int, list[int] | None]


def read_postgres(dsn: str, schemas: Collection[str] | None = ()) -> Catalogue:
    """Ask a server for its tables: those that the search path finds, and those of `schemas`, or of all where that is None.

    Raises:
        ConfigError: it can't be asked.
    """
    try:
        with psycopg.connect(dsn, connect_timeout=10, client_encoding="UTF8") as connection:
            # Whatever the account may do, no mistake of ours changes anything.
            connection.read_only = True
            version = str(connection.info.server_version // 10_000)
            columns: list[_Column] = connection.execute(_POSTGRES_COLUMNS.encode()).fetchall()
            keys: list[_Key] = connection.execute(_POSTGRES_KEYS.encode()).fetchall()
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
    _require(schemas, {row[2] for row in whole})
    wanted = [row for row in whole if row[1] or schemas is None or row[2] in schemas]
    elsewhere: dict[str, dict[str, None]] = {}
    for row in whole:
        if not row[1] and schemas is not None and row[2] not in schemas:
            elsewhere.setdefault(row[2], {})[row[3]] = None
    return Catalogue(
        dict(_postgres_tables(wanted, keys, bare=given)),
        {schema: tuple(names) for schema, names in elsewhere.items()},
        _candidates(whole, keys),
        tuple(_grants(wanted or whole, reader)),
        version,
        searched=_searched(paths, () if given or list(searched) == [PUBLIC] else searched),
    )


def _require(schemas: Collection[str] | None, there: Collection[str]) -> None:
    """Refuse schemas without tables: a name with a mistake in it would find nothing, in silence."""
    missing = [name for name in schemas or () if name not in there]
    if missing:
        raise ConfigError(
            f"no table is in the schema {', '.join(missing)}",
            hint=f"There are tables in {', '.join(sorted(there)) or 'none'}.",
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
        # Through others, too: visits point to admissions, these to patients, and both are a patient's.
        leading, new = set[int](), {row[0]}
        while new:
            new = {own for to in new for own in pointing.get(to, ())} - leading - {row[0]}
            leading |= new
        # Partitions have their table's references once more, and are no tables of their own here.
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


def _postgres_tables(columns: list[_Column], keys: list[_Key], *, bare: bool) -> Iterator[tuple[str, CatalogueTable]]:
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
            # Only references to a whole primary key: by less than one a row could point to several.
            if where != oid or kind != "f" or to not in of or theirs is None or tuple(theirs) != primary.get(to):
                continue
            pairs = {rows[here][7]: of[to][there][7] for here, there in zip(own, theirs, strict=True)}
            if len(pairs) == 1:
                single[own[0]] = f"{names[to]}.{next(iter(pairs.values()))}"
            else:
                joint[names[to]] = pairs
        described = {row[7]: _postgres_column(row, single.get(number), bare=bare) for number, row in rows.items()}
        key = tuple(rows[number][7] for number in primary.get(oid, ()))
        first = next(iter(rows.values()))
        found = first[1] if TableName.of(names[oid]).schema == PUBLIC else names[oid] == f"{first[2]}.{first[3]}"
        place = None if found else f"{first[2]}.{first[3]}"
        readable = first[12] and first[13]
        yield names[oid], CatalogueTable(described, key, joint, first[5], first[11], place, readable, first[14])


def _called(row: _Column, *, bare: bool) -> str:
    """Return what a table is called: as it is there, without its schema where that is `public`.

    Where the address says a search path, it also says that what that finds is to be called by its `bare` name.
    """
    text = row[3] if row[2] == PUBLIC or (bare and row[1]) else f"{row[2]}.{row[3]}"
    try:
        return table_name(text)
    except ValueError:  # a name with a dot in it, which would be a schema's
        return f"{row[2]}_{row[3]}".replace(".", "_")


def _postgres_column(row: _Column, references: str | None, *, bare: bool) -> CatalogueColumn:
    kind = _plain_type(row[10])
    if kind.startswith("enum"):
        labels, end, name = kind.rpartition("]")
        schema, _, own = name.partition(".")
        plain = schema == PUBLIC or "." in own or (bare and row[1])
        kind = f"{labels}{end}{own.replace('.', '_') if plain else name}"
    return CatalogueColumn(kind, nullable=not row[9], description=row[8], references=references)


def _plain_type(kind: str) -> str:
    """Return the type that holds all values of a time with fewer digits."""
    return re.sub(r"^(time|timestamp)\(\d\)", r"\1", kind)


# Tables of a database that is copied, as `dpsql init` drafts them.

_Place = tuple[str | None, str]


def read_database(url: str, schemas: Collection[str] | None = ()) -> Catalogue:
    """Ask a database for its tables: those where the connection is, and those of `schemas`, or of all where that is None.

    Raises:
        ConfigError: it can't be asked.
    """
    found = find_tables(url, schemas)
    names = {place: name for place in found.tables if (name := _type_written(place)) is not None}
    tables = {names[place]: _table_of_database(place, found, names) for place in names}
    unnamed = tuple(".".join(filter(None, place)) for place in found.tables if place not in names)
    return Catalogue(tables, found.elsewhere, _units(tables), unnamed=unnamed)


def _type_written(place: _Place) -> str | None:
    """Return what a table is called here; None where its name can't be one."""
    schema, name = place
    try:
        return table_name(name if schema is None else f"{schema}.{name}") if "." not in name else None
    except ValueError:
        return None


def _table_of_database(place: _Place, found: FoundTables, names: Mapping[_Place, str]) -> CatalogueTable:
    table = found.tables[place]
    single: dict[str, str] = {}
    joint: dict[str, Mapping[str, str]] = {}
    for own, schema, name, theirs in table.references:
        to = (schema, name)
        # Only references to a whole primary key, as in `_postgres_tables`.
        if to not in names or set(found.tables[to].key) != set(theirs):
            continue
        if len(own) == 1:
            single[own[0]] = f"{names[to]}.{theirs[0]}"
        else:
            joint[names[to]] = dict(zip(own, theirs, strict=True))
    keys = _key_columns(table)
    columns = {
        column.name: CatalogueColumn(
            _kind(column, place, is_key=column.name in keys),
            column.nullable and column.name not in table.key,
            column.description or None,
            single.get(column.name),
        )
        for column in table.columns
    }
    return CatalogueTable(columns, table.key, joint, table.description or None)


def _key_columns(table: FoundTable) -> frozenset[str]:
    return frozenset((*table.key, *(name for own, *_ in table.references for name in own)))


def _kind(column: SourceColumn, place: _Place, *, is_key: bool) -> str:
    """Return the type that is drafted: as a key 64 bits, which hold all that were ever counted up, and more is NULL."""
    if column.family is Family.LABELS and column.labels:
        return f"enum{json.dumps(column.labels, ensure_ascii=False)}{place[1]}_{column.name}".replace(".", "_")
    if is_key and column.family is Family.WHOLE and column.drafted.startswith("numeric"):
        return "bigint"
    return column.drafted or column.written


def _units(tables: Mapping[str, CatalogueTable]) -> Mapping[str, int]:
    """Return the keys of one column to which other tables' references lead, by how many tables these are."""
    found = {}
    for name, table in tables.items():
        if len(table.key) == 1:
            leading = set(_leading(name, tables))
            if leading:
                found[f"{name}.{table.key[0]}"] = len(leading)
    return dict(sorted(found.items(), key=lambda of: -of[1]))


def _leading(name: str, tables: Mapping[str, CatalogueTable]) -> Iterator[str]:
    """Yield the tables whose references lead to one, through others, too."""
    reached, new = {name}, {name}
    while new:
        new = {
            other
            for other, table in tables.items()
            for to in new
            if other not in reached
            and (to in table.references or any(_reference(c.references, to, tables) for c in table.columns.values()))
        }
        reached |= new
        yield from new


def _reference(references: str | None, to: str, tables: Mapping[str, CatalogueTable]) -> bool:
    key = tables[to].key
    return len(key) == 1 and references == f"{to}.{key[0]}"


# The catalogue of whatever kind of database it is; DuckDB's and files' are read here.


@dataclass(frozen=True, slots=True)
class RecordsFiles:
    """Parquet and CSV files by the tables of which they have the columns."""

    files: Mapping[str, Path]
    places: Mapping[str, Path] = field(default_factory=dict)
    """Where the files of each are, as the configuration takes it, unless that is the argument itself."""

    @classmethod
    def matching(cls, folder: Path, pattern: str) -> Self:
        """Return one table of all files that match.

        Raises:
            ConfigError: there are none.
        """
        files = sorted(file for file in folder.rglob(pattern) if file.is_file() and _ending(file))
        if not files:
            raise _no_files(folder / pattern)
        return cls({folder.absolute().name: files[0]})

    @classmethod
    def within(cls, folder: Path) -> Self:
        """Return what a folder has: one table where all files have the same columns, and else one of each file.

        What is in a folder below it is one table of that folder's name, and is Parquet.

        Raises:
            ConfigError: it has no file, or one can't be read.
        """
        here = (file for file in folder.iterdir() if file.is_file() and _ending(file))
        files = sorted({*here, *(file for file in folder.rglob(f"*{_IN_FOLDERS}") if file.is_file())})
        if not files:
            raise _no_files(folder)
        endings = {_ending(file) for file in files}
        if len(endings) == 1 and len({frozenset(_columns_of(file)) for file in files}) == 1:
            (ending,), name = endings, folder.absolute().name
            places = {} if ending == _IN_FOLDERS else {name: folder / f"*{ending}"}
            return cls({name: files[0]}, places)
        first, places = dict[str, Path](), dict[str, Path]()
        for file in files:
            part = file.relative_to(folder).parts[0]
            name = part.partition(".")[0]
            if places.get(name, folder / part) != folder / part:  # v.csv beside v.parquet
                name = part.replace(".", "_")
            first.setdefault(name, file)
            places[name] = folder / part
        return cls(first, places)


_IN_FOLDERS = ".parquet"
"""How files end that are read where a table's place is a folder."""


def _ending(file: Path) -> str:
    """Return how the name of a file of records ends; nothing of any other file."""
    return next((ending for ending in (*PARQUET, *CSV) if file.name.lower().endswith(ending)), "")


def _no_files(place: Path) -> ConfigError:
    return ConfigError(
        f"there is no Parquet or CSV file {place}",
        hint="Name a file, a folder of Parquet or CSV files, a PostgreSQL DSN, or a database's URL.",
    )


_DUCKDB = """
SELECT table_schema = current_schema(), table_schema, table_name, column_name, data_type
FROM information_schema.columns
WHERE table_catalog = current_database()
ORDER BY table_schema, table_name, ordinal_position
"""
_DUCKDB_NAMES = {
    "VARCHAR": "text",
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "TINYINT": "smallint",
    "UTINYINT": "smallint",
    "USMALLINT": "integer",
    "UINTEGER": "bigint",
    "UBIGINT": "numeric(20,0)",
    "HUGEINT": "numeric(38,0)",
    "UHUGEINT": "numeric(38,0)",
    "TIMESTAMP_NS": "timestamp",
    "TIMESTAMPTZ_NS": "timestamptz",
    "TIME_NS": "time",
}
"""The least of PostgreSQL's types that holds all values of DuckDB's; files of pandas have most of them."""
_Row = tuple[bool, str, str, str, str]


def read_catalogue(
    source: CopiedDatabase | DuckDbFile | PostgresServer | RecordsFiles, schemas: Collection[str] | None = ()
) -> Catalogue:
    """Ask an engine, or a file, what tables it has; of more `schemas`, too, or of all where that is None.

    Raises:
        ConfigError: it can't be reached, or can't be read.
    """
    match source:
        case DuckDbFile(path):
            if not path.is_file():
                raise ConfigError(f"there is no DuckDB file {path}")
            return _catalogue(_duckdb_rows(path), schemas)
        case PostgresServer(dsn):
            return read_postgres(dsn, schemas)
        case CopiedDatabase(url):
            return read_database(url, schemas)
        case RecordsFiles(files, places):
            told = {name: str(place) for name, place in places.items()}
            return Catalogue(
                {name: CatalogueTable(_columns_of(path), place=told.get(name)) for name, path in files.items()}
            )


def _catalogue(rows: Iterable[_Row], schemas: Collection[str] | None) -> Catalogue:
    tables: dict[str, dict[str, CatalogueColumn]] = {}
    elsewhere: dict[str, dict[str, None]] = {}
    unnamed: dict[str, None] = {}
    seen = list(rows)
    _require(schemas, {schema for _, schema, *_ in seen})
    for is_visible, schema, table, column, kind in seen:
        name = table if is_visible else f"{schema}.{table}"
        wanted = is_visible or ((schemas is None or schema in schemas) and schema.lower() != PUBLIC)
        # One dot where a schema stands before the name, else none: any other is in a name, and can't be told from that.
        if wanted and name.count(".") != (not is_visible):
            unnamed[name] = None
        elif wanted:
            tables.setdefault(name, {})[column] = CatalogueColumn(kind)
        else:
            elsewhere.setdefault(schema, {})[table] = None
    found = {name: CatalogueTable(columns) for name, columns in tables.items()}
    others = {schema: tuple(names) for schema, names in elsewhere.items()}
    return Catalogue(found, others, unnamed=tuple(unnamed))


def _duckdb_rows(path: Path) -> list[_Row]:
    try:
        with closing(duckdb.connect(str(path), read_only=True)) as connection:
            rows = connection.execute(_DUCKDB).fetchall()
    except duckdb.Error as failure:
        raise ConfigError(f"the DuckDB file {path} can't be opened", hint=str(failure).splitlines()[0]) from None
    return [(is_visible, schema, table, column, _duckdb_name(kind)) for is_visible, schema, table, column, kind in rows]


def _columns_of(path: Path) -> Mapping[str, CatalogueColumn]:
    """Return a file's columns; those of a CSV file are texts, because only its records could tell more."""
    if not path.is_file():
        raise ConfigError(f"there is no file {path}")
    try:
        with closing(duckdb.connect()) as connection:
            if not path.name.lower().endswith(PARQUET):
                return {name: CatalogueColumn("text") for name in CsvForm.of(connection, [path]).columns}
            source = f"read_parquet({duckdb_literal(str(path))})"
            rows = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608
    except duckdb.Error:
        # DuckDB's own words quote parts of the file.
        raise ConfigError(f"the file {path} can't be read as Parquet") from None
    return {row[0]: CatalogueColumn(_duckdb_name(row[1])) for row in rows}


def _duckdb_name(kind: str) -> str:
    # An enumeration's labels may have been made of values.
    return "enum" if kind.startswith("ENUM(") else _DUCKDB_NAMES.get(kind, kind.lower())
