"""What statements over the shop are written with: its tables' columns by what can be done with them, and how rows are joined.

Every scan of a table is written `orders AS t7` and its columns `t7.total`, each with a number of its own, so that a reader of
the text can tell which columns are read of which scan.
"""

import uuid
from collections.abc import Collection, Mapping, Sequence
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
    ZONED = "a timestamp with a zone within bounds"
    CLOCK = "any time of the day"
    SPAN = "an interval within bounds"
    ENUM = "a value of an enumeration"
    CODE = "a char(n) of few"
    UUID = "any UUID"


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
        Col("tier", Kind.ENUM, ("'low'", "'mid'", "'top'")),
    ),
    "orders": (
        Col("buyer", Kind.NAME, means="unit"),
        Col("order_id", Kind.NAME, means="order"),
        Col("status", Kind.LABEL, ("'open'", "'done'", "'?'")),
        Col("total", Kind.WHOLE, _MID),
        Col("code", Kind.NUMBER, ("1", "2")),
        Col("ticket", Kind.UUID, (f"'{uuid.UUID(int=1)}'", f"'{uuid.UUID(int=2)}'")),
    ),
    "items": (
        Col("of_order", Kind.NAME, means="order"),
        Col("item", Kind.NAME, means="item"),
        Col("part", Kind.KEY, (*_LOW, "3"), means="part"),
        Col("quantity", Kind.WHOLE, _LOW),
        Col("late", Kind.FLAG),
        Col("price", Kind.DECIMAL, ("0", "12.5", "37.75", "50")),
    ),
    "notes": (
        Col("about", Kind.NAME, means="item"),
        Col("mood", Kind.LABEL, ("'good'", "'bad'")),
        Col("grade", Kind.CODE, ("'a'", "'ab'", "'xyz '")),
    ),
    "calls": (
        Col("caller", Kind.NAME, means="unit"),
        Col("minutes", Kind.WHOLE, _LOW),
        Col("began", Kind.MOMENT, _MOMENTS),
        Col("remark", Kind.TEXT, _TEXTS),
        Col("ended", Kind.ZONED, ("timestamptz '2019-03-02 05:00Z'", "'2019-03-09 00:00+02'")),
        Col("clock", Kind.CLOCK, ("'06:00'", "time '12:30:00.5'")),
        Col("waited", Kind.SPAN, ("interval '5 hours'", "'1 day'", "'36:00:00'")),
    ),
}
"""The protected tables."""


@dataclass(frozen=True, slots=True)
class View:
    """A view of the policy: its query by its columns and the rest, over scans that are numbered after its own."""

    columns: Sequence[Col]
    made: Mapping[str, str]
    rest: str

    def query(self, number: str, read: Collection[str]) -> str:
        """Return the query with the columns that are read."""
        outputs = ", ".join(f"{text} AS {name}" for name, text in self.made.items() if name in read) or "1 AS one"
        return f"SELECT {outputs} FROM {self.rest}".replace("#", f"{number}00")


VIEWS: Mapping[str, View] = {
    "big_orders": View(
        (
            Col("buyer", Kind.NAME, means="unit"),
            Col("order_id", Kind.NAME, means="order"),
            Col("status", Kind.LABEL, ("'open'", "'done'")),
            Col("total", Kind.WHOLE, _MID),
            Col("twice", Kind.WHOLE, ("4", "10")),
        ),
        {**{name: f"t#1.{name}" for name in ("buyer", "order_id", "status", "total")}, "twice": "t#1.total * 2"},
        "orders AS t#1 WHERE t#1.total > 1",
    ),
    "sold": View(
        (
            Col("whose", Kind.NAME, means="unit"),
            Col("of_order", Kind.NAME, means="order"),
            Col("item", Kind.NAME, means="item"),
            Col("pieces", Kind.WHOLE, _LOW),
            Col("state", Kind.LABEL, ("'open'", "'done'")),
        ),
        {"whose": "t#2.buyer", "of_order": "t#1.of_order", "item": "t#1.item", "pieces": "t#1.quantity"}
        | {"state": "t#2.status"},
        "items AS t#1 JOIN orders AS t#2 ON t#2.order_id = t#1.of_order",
    ),
}
"""The views of the policy."""
LOOKED_UP: Mapping[str, tuple[str, Sequence[Col]]] = {
    "nation": ("nations", (Col("name", Kind.LABEL, ("'Peru'", "'Fiji'")),)),
    "part": ("parts", (Col("kind", Kind.LABEL, ("'a'", "'b'")), Col("nation", Kind.KEY, _LOW, means="nation"))),
}
"""The public tables by the key that finds them, and what else they have."""


def scanned(table: str, alias: str) -> Rows:
    """Return the rows of a protected table, or of a view."""
    declared = VIEWS[table].columns if table in VIEWS else TABLES[table]
    columns = tuple(replace(c, text=f"{alias}.{c.text}") for c in declared)
    return Rows(f"{table} AS {alias}", columns, plain=table in TABLES)
