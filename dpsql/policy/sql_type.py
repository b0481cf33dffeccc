"""The types that columns may be declared with, and what they have in common."""

from collections.abc import Mapping
from enum import StrEnum


class SqlType(StrEnum):
    """The column types a schema file may declare, by PostgreSQL's own names."""

    BOOLEAN = "boolean"
    SMALLINT = "smallint"
    INTEGER = "integer"
    BIGINT = "bigint"
    NUMERIC = "numeric"
    REAL = "real"
    DOUBLE = "double precision"
    TEXT = "text"
    CHARACTER = "bpchar"
    """char(n): PostgreSQL's own name for it has no length."""
    UUID = "uuid"
    ENUM = "enum"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    TIME = "time"
    INTERVAL = "interval"
    JSON = "jsonb"
    """Read by declared paths alone; no expression is of this type."""

    @property
    def is_integer(self) -> bool:
        """Return whether every value is an integer."""
        return self in _INTEGERS

    @property
    def is_float(self) -> bool:
        """Return whether NaN and ±infinity are values."""
        return self in _FLOATS

    @property
    def is_number(self) -> bool:
        """Return whether arithmetic is defined."""
        return self in _NUMBERS

    @property
    def is_text(self) -> bool:
        """Return whether engines read the values as texts."""
        return self in _TEXTS

    @property
    def spelled(self) -> str:
        """Return the name by which the shadow reads values; labels have no type that all of them are of."""
        return "text" if self is SqlType.ENUM else self.value

    @property
    def is_moment(self) -> bool:
        """Return whether the values are microseconds: of a clock, or of UTC's where the type has a time zone."""
        return self in _MOMENTS

    @property
    def is_span(self) -> bool:
        """Return whether the values are microseconds and no moment: since midnight, or of an interval."""
        return self in _SPANS

    @property
    def is_temporal(self) -> bool:
        """Return whether the values are days or microseconds."""
        return self in _TEMPORAL


# Planning asks for these of every expression again and again.
_INTEGERS = frozenset({SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT})
_FLOATS = frozenset({SqlType.REAL, SqlType.DOUBLE})
_NUMBERS = _INTEGERS | _FLOATS | {SqlType.NUMERIC}
_TEXTS = frozenset({SqlType.TEXT, SqlType.CHARACTER, SqlType.UUID, SqlType.ENUM})
_MOMENTS = frozenset({SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ})
_SPANS = frozenset({SqlType.TIME, SqlType.INTERVAL})
_TEMPORAL = _MOMENTS | {SqlType.DATE}

TYPE_NAMES: Mapping[str, SqlType] = {
    **{type_.value: type_ for type_ in SqlType},
    "bool": SqlType.BOOLEAN,
    "int2": SqlType.SMALLINT,
    "int": SqlType.INTEGER,
    "int4": SqlType.INTEGER,
    "int8": SqlType.BIGINT,
    "decimal": SqlType.NUMERIC,
    "float4": SqlType.REAL,
    "float8": SqlType.DOUBLE,
    "varchar": SqlType.TEXT,
    "character varying": SqlType.TEXT,
    "char": SqlType.CHARACTER,
    "character": SqlType.CHARACTER,
    "timestamp without time zone": SqlType.TIMESTAMP,
    "timestamp with time zone": SqlType.TIMESTAMPTZ,
    "time without time zone": SqlType.TIME,
    "json": SqlType.JSON,
}
"""Every name that PostgreSQL has for them."""
