"""The columns of a database, by what SQLAlchemy says of their types: what they hold, and how `dpsql init` drafts them.

int unsigned      →  whole numbers, bigint
tinyint(1)        →  whole numbers, boolean
timestamp (MySQL) →  moments of UTC's clock, timestamptz
a column of SQLite's  →  anything, since its types bind nobody
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dpsql.engines.databases.client import sqlalchemy


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


_MYSQL = {
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
        if name in _MYSQL:
            return _MYSQL[name]
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
