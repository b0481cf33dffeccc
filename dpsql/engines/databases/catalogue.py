"""A database by what its catalogue says: what it is, its tables, what their types hold, and one state of all of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dpsql.engines.databases.client import fixed_error, pool_of, quiet, reflection, sqlalchemy
from dpsql.errors import ConfigError

# The columns of a database, by what SQLAlchemy says of their types: what they hold, and how `dpsql init` drafts them.
#
# int unsigned      →  whole numbers, bigint
# tinyint(1)        →  whole numbers, boolean
# timestamp (MySQL) →  moments of UTC's clock, timestamptz
# a column of SQLite's  →  anything, since its types bind nobody


class Family(StrEnum):
    """What a column holds."""

    WHOLE = "whole numbers"
    NUMBER = "decimals"
    FLOAT = "numbers in double precision"
    BOOLEAN = "booleans"
    BITS = "bits"
    TEXT = "texts"
    LABELS = "labels"
    JSON = "JSON"
    UUID = "UUIDs"
    BYTES = "bytes"
    DATE = "days"
    MOMENT = "moments without a zone"
    ZONED = "moments"
    TIME = "times"
    SPAN = "spans"
    OTHER = "something else"


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """One column of a database."""

    name: str
    family: Family
    written: str
    """The type in the database's own words."""
    drafted: str
    """The type of PostgreSQL's that holds most; nothing where there is none."""
    nullable: bool = True
    description: str | None = None
    free: bool = False
    """Whether a value of any kind may stand in it."""
    single: bool = False
    """Whether the driver would give fewer digits than the column has, unless it is asked in double precision."""
    labels: tuple[str, ...] = ()
    length: int | None = None
    """Bytes, of a column that has as many in each row."""


_MYSQL_KINDS = {
    "BIT": (Family.BITS, ""), "YEAR": (Family.WHOLE, "smallint"), "TINYINT": (Family.WHOLE, "smallint"),
    "MEDIUMINT": (Family.WHOLE, "integer"), "SMALLINT": (Family.WHOLE, "smallint"), "SET": (Family.TEXT, "text"),
}  # fmt: skip
_UNSIGNED = {
    "TINYINT": "smallint",
    "SMALLINT": "integer",
    "MEDIUMINT": "integer",
    "INTEGER": "bigint",
    "BIGINT": "numeric(20,0)",
}
_SINGLE = frozenset({"mysql", "mariadb", "postgresql", "mssql"})
"""Databases that have numbers in single precision; SQLite's REAL is double."""
_ZONED = frozenset({"DATETIMEOFFSET", "TIMESTAMP_TZ", "TIMESTAMP_LTZ"})


def source_column(described: Mapping[str, Any], backend: str) -> SourceColumn:
    """Return a column as SQLAlchemy describes it, of a database of a kind: `mysql`, `sqlite`."""
    kind = described["type"]
    family, drafted = _family(kind, backend)
    name, nullable = str(described["name"]), bool(described.get("nullable", True))
    words = _words(kind)
    if backend == "sqlite":
        drafted = "text" if family is Family.OTHER else drafted
        return SourceColumn(name, family, words, drafted, nullable, free=True)
    labels = tuple(map(str, kind.enums)) if family is Family.LABELS else ()
    return SourceColumn(
        name,
        family,
        words,
        drafted,
        nullable,
        described.get("comment"),
        free=family is Family.TEXT,
        single=family is Family.FLOAT and drafted == "real",
        labels=labels,
        length=getattr(kind, "length", None) if type(kind).__name__ == "BINARY" else None,
    )


def _words(kind: Any) -> str:
    try:
        return str(kind).lower()
    except Exception:  # noqa: BLE001  of some types SQLAlchemy has no words
        return type(kind).__name__.lower()


def _family(kind: Any, backend: str) -> tuple[Family, str]:
    """Return what a type holds, and how it is drafted."""
    sa, name = sqlalchemy(), type(kind).__name__
    if backend in {"mysql", "mariadb"}:
        if name == "BIT":
            return Family.BITS, "boolean" if (
                kind.length or 1
            ) == 1 else "bigint" if kind.length < 64 else "numeric(20,0)"
        if name == "TINYINT" and kind.display_width == 1:  # the name that it gives to boolean
            return Family.WHOLE, "boolean"
        if getattr(kind, "unsigned", False) and name in _UNSIGNED:
            return Family.WHOLE, _UNSIGNED[name]
        if name in _MYSQL_KINDS:
            return _MYSQL_KINDS[name]
        if name == "TIMESTAMP":
            return Family.ZONED, "timestamptz"
    if name in _ZONED:
        return Family.ZONED, "timestamptz"
    if isinstance(kind, sa.Enum):
        return Family.LABELS, "enum"
    if isinstance(kind, sa.Integer):
        of = (
            "bigint"
            if isinstance(kind, sa.BigInteger)
            else "smallint"
            if isinstance(kind, sa.SmallInteger)
            else "integer"
        )
        return Family.WHOLE, of
    if isinstance(kind, sa.Float):
        single = name == ("FLOAT" if backend in {"mysql", "mariadb"} else "REAL") and backend in _SINGLE
        return Family.FLOAT, "real" if single else "double precision"
    if isinstance(kind, sa.Numeric):
        return Family.NUMBER, "numeric" if kind.precision is None else f"numeric({kind.precision},{kind.scale or 0})"
    return _other_family(kind, name)


def _other_family(kind: Any, name: str) -> tuple[Family, str]:
    sa = sqlalchemy()
    known: tuple[tuple[Any, Family, str], ...] = (
        (sa.Boolean, Family.BOOLEAN, "boolean"),
        (sa.DateTime, Family.MOMENT, "timestamp"),
        (sa.Date, Family.DATE, "date"),
        (sa.Interval, Family.SPAN, "interval"),
        (sa.Uuid, Family.UUID, "uuid"),
        (sa.JSON, Family.JSON, "jsonb"),
        (sa.types._Binary, Family.BYTES, ""),  # noqa: SLF001  what BINARY, VARBINARY and BLOB have in common
    )
    if isinstance(kind, sa.DateTime) and kind.timezone:
        return Family.ZONED, "timestamptz"
    if isinstance(kind, sa.Time):
        return (Family.OTHER, "") if kind.timezone else (Family.TIME, "time")
    for of, family, drafted in known:
        if isinstance(kind, of):
            return family, drafted
    if name == "INTERVAL":
        return Family.SPAN, "interval"
    if isinstance(kind, sa.String):
        length = kind.length
        of_length = {"CHAR": "character", "NCHAR": "character"}.get(name, "character varying")
        return Family.TEXT, "text" if length is None or isinstance(kind, sa.Text) else f"{of_length}({length})"
    return Family.OTHER, ""


_MYSQL = (
    "SET time_zone = '+00:00'",
    "SET SESSION sql_mode = REPLACE(@@sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', '')",
    "SET SESSION net_write_timeout = 3600",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
_POSTGRES = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'postgres'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL extra_float_digits = 1",
    "SELECT 1",
)
_BEGIN: Mapping[str, Sequence[str]] = {
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "postgresql": _POSTGRES,
    # The state is that of the first reading.
    "sqlite": ("BEGIN", "SELECT count(*) FROM sqlite_master"),
    "mssql": ("SET TRANSACTION ISOLATION LEVEL SNAPSHOT",),
    "oracle": ("SET TRANSACTION READ ONLY", "ALTER SESSION SET TIME_ZONE = 'UTC'"),
}
"""What begins a transaction in which all that is read is of one moment."""
_PRODUCT_NAMES = {
    "postgresql": "PostgreSQL",
    "sqlite": "SQLite",
    "mysql": "MySQL",
    "mssql": "SQL Server",
    "oracle": "Oracle",
}
_TRIED = frozenset({"MariaDB", "SQLite", "PostgreSQL"})
_LOCAL = frozenset({None, "", "localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Product:
    """A database by its name and its version."""

    name: str
    version: str

    def require_tried(self, *, unverified: bool) -> None:
        """See that somebody has copied such a database, unless the configuration says that it need not be.

        Raises:
            ConfigError: nobody has.
        """
        if self.name not in _TRIED and not unverified:
            raise ConfigError(
                f"engine: nobody has tried to copy a database of {self.name}",
                hint=f"Tried were {', '.join(sorted(_TRIED))}. engine: {{…, unverified: true}} lets any pass; "
                "docs/databases.md says what to look at.",
            )

    def notes(self, connection: Any, backend: str, places: Mapping[str, tuple[str, str | None]]) -> Iterator[str]:
        """Yield what the operator should know: whether the copy is of one state, and whether others may read along."""
        yield f"the database is {self.name} {self.version}"
        if backend not in _BEGIN:
            yield f"{self.name} has no one state of several tables here: make copies while nobody writes"
        url = connection.engine.url
        if backend in {"mysql", "mariadb"}:
            loose = sorted(name for name, place in places.items() if _is_unsafe(connection, *place))
            if loose:
                yield f"no tables of InnoDB's, and so of no one state: {', '.join(loose)}; copy while nobody writes there"
            (encrypted,) = (row[1] for row in connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Ssl_cipher'"))
            if not encrypted and url.host not in _LOCAL:
                yield "records come unencrypted from another machine: ?ssl_ca=/path/to/ca.pem in engine.from"
        if backend == "postgresql":
            (encrypted,) = connection.exec_driver_sql("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").one()
            if not encrypted and url.host not in _LOCAL:
                yield "records come unencrypted from another machine: ?sslmode=verify-full in engine.from"


def product_of(connection: Any, backend: str) -> Product:
    """Return what a database says that it is."""
    dialect = connection.dialect
    name = "MariaDB" if getattr(dialect, "is_mariadb", False) else _PRODUCT_NAMES.get(backend, backend)
    version = ".".join(str(part) for part in dialect.server_version_info or () if isinstance(part, int))
    return Product(name, version)


def begin(connection: Any, backend: str) -> None:
    """Begin a transaction in which all that is read is of one moment, where there is one."""
    if backend == "sqlite":  # whose driver begins none by itself
        connection.connection.driver_connection.isolation_level = None
    for statement in _BEGIN.get(backend, ()):
        connection.exec_driver_sql(statement)


def _is_unsafe(connection: Any, name: str, schema: str | None) -> bool:
    """Return whether a table is of a kind that takes no part in transactions."""
    sa = sqlalchemy()
    asked = sa.text(
        "SELECT engine FROM information_schema.tables "
        "WHERE table_name = :name AND table_schema = coalesce(:schema, database())"
    )
    engine = connection.execute(asked, {"name": name, "schema": schema}).scalar()
    return engine is not None and engine.lower() != "innodb"


# What a database's catalogue says of its tables, for `dpsql init`: names, types, comments, keys; never a record.

_OWN_SCHEMAS = frozenset(
    """information_schema mysql performance_schema sys pg_catalog pg_toast guest db_owner db_accessadmin db_securityadmin
    db_ddladmin db_backupoperator db_datareader db_datawriter db_denydatareader db_denydatawriter temp""".split()
)
"""Schemas that are the database's own."""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """One table or view."""

    columns: Sequence[SourceColumn]
    key: tuple[str, ...]
    """The columns of its primary key."""
    references: Sequence[tuple[tuple[str, ...], str | None, str, tuple[str, ...]]]
    """Foreign keys: own columns, the schema and the table that they point to, and the columns there."""
    description: str | None


@dataclass(frozen=True, slots=True)
class FoundTables:
    """All that there is, by schema and name; a schema of None is where the account's connection is."""

    product: str
    tables: Mapping[tuple[str | None, str], FoundTable]
    elsewhere: Mapping[str, Sequence[str]]
    """The tables of schemas that were not asked for."""


def find_tables(url: str, schemas: Collection[str] | None) -> FoundTables:
    """Ask a database for its tables, and for those of more `schemas`, or of all where that is None.

    Raises:
        ConfigError: it can't be asked.
    """
    pool = pool_of(url)
    backend = pool.url.get_backend_name()
    with fixed_error("the database can't be asked"), closing(pool.connect()) as connection, quiet():
        product = product_of(connection, backend)
        inspector = reflection()(connection)
        others = [
            name for name in _schemas(inspector) if name != inspector.default_schema_name and name not in _OWN_SCHEMAS
        ]
        wanted = [None, *(name for name in others if schemas is None or name in schemas)]
        names = [(schema, name) for schema in wanted for name in _names(inspector, schema)]
        tables = {(schema, name): _table(inspector, schema, name, backend) for schema, name in names}
        elsewhere = {name: _names(inspector, name) for name in others if name not in wanted}
    pool.dispose()
    return FoundTables(product.name, tables, {name: tables for name, tables in elsewhere.items() if tables})


def _schemas(inspector: Any) -> Sequence[str]:
    return list(inspector.get_schema_names())


def _names(inspector: Any, schema: str | None) -> Sequence[str]:
    return sorted({*inspector.get_table_names(schema=schema), *inspector.get_view_names(schema=schema)})


def _table(inspector: Any, schema: str | None, name: str, backend: str) -> FoundTable:
    columns = [source_column(each, backend) for each in inspector.get_columns(name, schema=schema)]
    key = (inspector.get_pk_constraint(name, schema=schema) or {}).get("constrained_columns") or ()
    pointing = [
        (
            tuple(each["constrained_columns"]),
            # Some name the schema that they are in themselves.
            None if each["referred_schema"] == inspector.default_schema_name else each["referred_schema"],
            str(each["referred_table"]),
            tuple(each["referred_columns"]),
        )
        for each in inspector.get_foreign_keys(name, schema=schema)
    ]
    description = None
    with suppress(NotImplementedError):  # not every database has comments
        description = (inspector.get_table_comment(name, schema=schema) or {}).get("text")
    return FoundTable(columns, tuple(key), pointing, description)
