"""Tables as a catalogue has them."""

from collections.abc import Mapping
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
