"""What the questions of `benchmarks/peers/everyone.py` ask, for libraries that speak no SQL."""

import re
from dataclasses import dataclass
from itertools import product

_ASKED = re.compile(
    r"SELECT (?:(?P<by>[\w, ]+?), )?(?P<what>\w+)\((?P<of>\*|DISTINCT \w+|\w+)\) AS v FROM (?P<table>\w+)"
    r"(?: GROUP BY [\w, ]+?)?(?: ORDER BY v DESC LIMIT (?P<first>\d+))?"
)


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of one table, by keys; of a ranking the first groups alone."""

    table: str
    what: str
    """count, sum, avg, variance, median or distinct."""
    of: str
    by: tuple
    first: int | None

    @classmethod
    def of_sql(cls, sql: str) -> "Aggregate":
        """Read a question."""
        found = _ASKED.fullmatch(sql)
        of = found["of"].removeprefix("DISTINCT ")
        what = "distinct" if of != found["of"] else found["what"].lower()
        by = tuple(found["by"].split(", ")) if found["by"] else ()
        return cls(found["table"], what, of, by, int(found["first"]) if found["first"] else None)

    def groups(self, table: dict) -> list:
        """Return the declared groups, each a tuple of values."""
        return list(product(*(table["columns"][key]["values"] for key in self.by)))

    def answer(self, values: dict) -> tuple:
        """Return columns and rows for the values of groups; a ranking is made of what was released."""
        rows = [(*group, value) for group, value in values.items()]
        if self.first is not None:
            rows = sorted(rows, key=lambda row: -row[-1])[: self.first]
        return [*self.by, "v"], rows
