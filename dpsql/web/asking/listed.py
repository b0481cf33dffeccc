"""A table and its columns, as their owner has declared them and a visitor may use them."""

from dataclasses import dataclass
from fractions import Fraction

from dpsql.web.curves import Json


@dataclass(frozen=True, slots=True)
class ListedColumn:
    """A column, and what the owner of the data has declared of it."""

    name: str
    sql: str
    """The name as SQL spells it."""
    type: str
    low: str | None
    high: str | None
    values: tuple[str, ...]
    number_of_values: int
    about: str

    @property
    def is_number(self) -> bool:
        """Return whether values are numbers with declared bounds."""
        return self.low is not None and self.type.startswith(
            ("smallint", "integer", "bigint", "real", "double", "numeric")
        )

    @property
    def is_time(self) -> bool:
        """Return whether values are dates or timestamps with declared bounds."""
        return self.low is not None and self.type.startswith(("date", "timestamp"))

    @property
    def asks(self) -> str:
        """Return what may be asked of it."""
        if self.values or self.type == "boolean":
            return "count, GROUP BY, WHERE"
        if self.is_number:
            return "avg, sum, median, stddev, GROUP BY floor(…), WHERE"
        if self.is_time:
            return "min, max, GROUP BY date_trunc(…), WHERE"
        return "count(DISTINCT …), JOIN"

    def as_json(self) -> Json:
        """Return it for the page."""
        return {
            "name": self.name, "sql": self.sql, "type": self.type, "low": self.low, "high": self.high,
            "values": self.values, "more": max(0, self.number_of_values - len(self.values)), "about": self.about,
            "asks": self.asks,
        }  # fmt: skip

    def span(self) -> Fraction:
        """Return how long the declared range of numbers is."""
        return Fraction(self.high or 0) - Fraction(self.low or 0)


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table that the visitor may use."""

    name: str
    sql: str
    kind: str
    """`protected`, `view` or `public`."""
    about: str
    columns: tuple[ListedColumn, ...]
    references: tuple[str, ...]

    def as_json(self) -> Json:
        """Return it for the page."""
        protected = self.kind == "protected"
        return {
            "name": self.name, "sql": self.sql, "kind": self.kind, "about": self.about, "references": self.references,
            "columns": [{**column.as_json(), "asks": column.asks if protected else ""} for column in self.columns],
        }  # fmt: skip
