"""What statements over the shop are written with: its tables' columns by what can be done with them, and how rows are joined.

Every scan of a table is written `orders AS t7` and its columns `t7.total`, each with a number of its own, so that a reader of
the text can tell which columns are read of which scan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum


class Kind(Enum):
    """What can be done with a column."""

    WHOLE = "a whole number within bounds"
    KEY = "a whole number that a public table lists"
    DECIMAL = "a decimal within bounds"
    FLOAT = "a double within bounds"
    LABEL = "a text of few"
    FLAG = "a boolean"
    MOMENT = "a timestamp within bounds"
    TEXT = "any text"
    NUMBER = "any whole number"
    NAME = "a column that names the unit, or a row"


NUMBERS = frozenset({Kind.WHOLE, Kind.KEY, Kind.DECIMAL, Kind.FLOAT})


@dataclass(frozen=True, slots=True)
class Col:
    """A column as a statement writes it."""

    text: str
    kind: Kind
    values: tuple[str, ...] = ()
    """Constants that it may be compared with."""
    means: str = ""
    """Of a name: what it names; of a key: what lists it."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that a statement reads: what stands in FROM, what holds of them, and their columns."""

    text: str
    columns: tuple[Col, ...]
    where: tuple[str, ...] = ()
    plain: bool = True
    """Whether it is one table, of which LEFT JOIN takes any."""

    def of(self, *kinds: Kind) -> list[Col]:
        """Return the columns of some kinds."""
        return [column for column in self.columns if column.kind in kinds]

    @property
    def names(self) -> list[Col]:
        """Return the columns that say whose a row is."""
        return self.of(Kind.NAME)

    def filtered(self, *conditions: str) -> "Rows":
        """Return the rows that satisfy conditions, too."""
        return replace(self, where=(*self.where, *conditions))

    @property
    def text_where(self) -> str:
        """Return FROM and WHERE."""
        return f"FROM {self.text}" + (f" WHERE {' AND '.join(self.where)}" if self.where else "")


_LOW, _MID = ("0", "1", "2"), ("1", "2", "4", "7")
_MOMENTS = ("timestamp '2019-03-02 05:00'", "'2019-03-01'", "date '2019-03-09'")
_TEXTS = ("'abc'", "''", "'a%'", "'zebra'")
TABLES: Mapping[str, Sequence[Col]] = {
    "customers": (
        Col("customer", Kind.NAME, means="unit"),
        Col("nation", Kind.KEY, _LOW, means="nation"),
        Col("segment", Kind.LABEL, ("'home'", "'shop'", "'none'")),
        Col("balance", Kind.WHOLE, ("-4", "-1", "0", "3")),
        Col("rate", Kind.FLOAT, ("0", "0.5", "1.25")),
    ),
    "orders": (
        Col("buyer", Kind.NAME, means="unit"),
        Col("order_id", Kind.NAME, means="order"),
        Col("status", Kind.LABEL, ("'open'", "'done'", "'?'")),
        Col("total", Kind.WHOLE, _MID),
        Col("code", Kind.NUMBER, ("1", "2")),
    ),
    "items": (
        Col("of_order", Kind.NAME, means="order"),
        Col("item", Kind.NAME, means="item"),
        Col("part", Kind.KEY, (*_LOW, "3"), means="part"),
        Col("quantity", Kind.WHOLE, _LOW),
        Col("late", Kind.FLAG),
        Col("price", Kind.DECIMAL, ("0", "12.5", "37.75", "50")),
    ),
    "notes": (Col("about", Kind.NAME, means="item"), Col("mood", Kind.LABEL, ("'good'", "'bad'"))),
    "calls": (
        Col("caller", Kind.NAME, means="unit"),
        Col("minutes", Kind.WHOLE, _LOW),
        Col("began", Kind.MOMENT, _MOMENTS),
        Col("remark", Kind.TEXT, _TEXTS),
    ),
}
"""The protected tables."""
LOOKED_UP: Mapping[str, tuple[str, Sequence[Col]]] = {
    "nation": ("nations", (Col("name", Kind.LABEL, ("'Peru'", "'Fiji'")),)),
    "part": ("parts", (Col("kind", Kind.LABEL, ("'a'", "'b'")), Col("nation", Kind.KEY, _LOW, means="nation"))),
}
"""The public tables by the key that finds them, and what else they have."""


def scanned(table: str, alias: str) -> Rows:
    """Return the rows of a protected table."""
    return Rows(f"{table} AS {alias}", tuple(replace(c, text=f"{alias}.{c.text}") for c in TABLES[table]))
