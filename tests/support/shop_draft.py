"""A made-up statement over the shop while it is being written."""

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.shop_expressions import compared, key
from tests.support.shop_rows import NUMBERS, TABLES, VIEWS, Kind, Rows, scanned

_VIEWS = 0.12
_KEYS = (*NUMBERS, Kind.LABEL, Kind.FLAG, Kind.MOMENT, Kind.ZONED, Kind.SPAN, Kind.ENUM, Kind.CODE)
"""Kinds of columns of which group keys can be made."""


@dataclass(slots=True)
class Writer:
    """Writes one statement: what it draws from, what the statement has, and the subqueries that wait for their text."""

    draw: random.Random
    has: Counter[str] = field(default_factory=Counter)
    ctes: list[str] = field(default_factory=list)
    _aliases: int = 0
    _late: list[tuple[str, Callable[[set[str]], str]]] = field(default_factory=list)
    """Subqueries in their places, each written when it is known which of its columns are read."""

    def note(self, feature: str) -> None:
        """Write down that the statement has something."""
        self.has[feature] += 1

    def alias(self, letter: str = "t") -> str:
        """Return a new alias."""
        self._aliases += 1
        return f"{letter}{self._aliases}"

    def chance(self, share: float) -> bool:
        """Return True for such a share of statements."""
        return self.draw.random() < share

    def later(self, alias: str, text: Callable[[set[str]], str]) -> str:
        """Return what stands for a subquery's text, which depends on the columns that are read of it."""
        self._late.append((alias, text))
        return f"<{alias}>"

    def completed(self, text: str) -> str:
        """Return the statement with all subqueries written, and its CTEs before it."""
        if self.ctes:
            text = f"WITH {', '.join(f'{alias} AS (<{alias}>)' for alias in self.ctes)} {text}"
        for alias, write in reversed(self._late):
            read = set(re.findall(rf"\b{alias}\.(\w+)", text))
            text = text.replace(f"<{alias}>", write(read))
        return text

    def scan(self, table: str = "") -> Rows:
        """Return the rows of a table, any one or a view unless it is named."""
        if not table and self.chance(_VIEWS):
            self.note("view")
            table = self.draw.choice(list(VIEWS))
        return scanned(table or self.draw.choice(list(TABLES)), self.alias())

    def condition(self, rows: Rows) -> str:
        """Return a condition on one of the columns."""
        return compared(self.draw.choice(rows.columns[1:] or rows.columns), self.draw, self.note)

    def maybe_filtered(self, rows: Rows, share: float) -> Rows:
        """Return the rows, perhaps only some."""
        return rows.filtered(self.condition(rows)) if self.chance(share) else rows

    def key(self, rows: Rows) -> str | None:
        """Return a group key, None if the rows have none."""
        usable = rows.of(*_KEYS)
        return key(self.draw.choice(usable), self.draw, self.note) if usable else None
