"""Tables as a catalogue has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


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
