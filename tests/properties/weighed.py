"""What a statement means when no unit weighs more than it may: computed in fractions, by the declared meaning alone.

It shares no code with what it is compared to. Numbers that are not whole are multiples of 1/1024 of their interval, where
rounding changes nothing, if a statement has columns of one kind only.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from hypothesis import assume
from hypothesis import strategies as st

from dpsql.policy.model import Column, Table
from tests.support.records import Cell, Row, clamped

W = 2**16
Key = tuple[object, ...]
Predicate = Callable[[Mapping[str, object]], bool | None]


def _of(name: str, test: Callable[[object], bool]) -> Predicate:
    return lambda row: None if row[name] is None else test(row[name])


CONDITIONS: Mapping[str, Predicate] = {
    "fare > 20": _of("fare", lambda x: x > 20),  # type: ignore[operator]
    "tip <= 0": _of("tip", lambda x: x <= 0),  # type: ignore[operator]
    "weight * 2 >= 0.5": _of("weight", lambda x: x * 2 >= 0.5),  # type: ignore[operator]
    "paid = 'cash'": _of("paid", lambda x: x == "cash"),
    "paid IS NULL": lambda row: row["paid"] is None,
    "late IS NOT TRUE": lambda row: row["late"] is not True,
    "NOT late": _of("late", lambda x: not x),
    "age BETWEEN 18 AND 65": _of("age", lambda x: 18 <= x <= 65),  # type: ignore[operator]
    "seats IN (1, 2, 6)": _of("seats", lambda x: x in (1, 2, 6)),
    "to_zone IN (1, 77)": _of("to_zone", lambda x: x == 1),
    "note LIKE 'a%'": _of("note", lambda x: str(x).startswith("a")),
}
STEPS = 1024
KEYS = ("paid", "shared", "late", "stars", "to_zone", "seats")
DOUBLES, WHOLE = ("fare", "tip", "price", "weight"), ("seats", "age", "stars")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A call, perhaps over some of the rows."""

    name: str
    column: str = "*"
    filter: str | None = None

    @property
    def sql(self) -> str:
        """Return the call as SQL."""
        return f"{self.name}({self.column})" + (f" FILTER (WHERE {self.filter})" if self.filter else "")

    def of(self, rows: Iterable[tuple[Fraction, Row]]) -> Fraction | None:
        """Return its value for rows with weights."""
        pairs = list(self._counted(rows))
        n, total, squares = (sum((w * x**p for w, x in pairs), Fraction(0)) for p in range(3))
        if self.name in ("count", "sum"):
            return n if self.name == "count" else total
        if n < 1:
            return None
        return total / n if self.name == "avg" else squares / n - (total / n) ** 2

    def _counted(self, rows: Iterable[tuple[Fraction, Row]]) -> Iterator[tuple[Fraction, Fraction]]:
        for weight, row in rows:
            cell = 1 if self.column == "*" else row[self.column]
            if cell is not None and (self.filter is None or CONDITIONS[self.filter](row)):
                yield weight, Fraction(0 if isinstance(cell, str) else cell)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A statement that this module can compute too."""

    aggregates: tuple[Aggregate, ...]
    key: str | None = None
    where: str | None = None

    @property
    def sql(self) -> str:
        """Return the statement."""
        outputs = ", ".join([*([self.key] if self.key else []), *(a.sql for a in self.aggregates)])
        where = f" WHERE {self.where}" if self.where else ""
        return f"SELECT {outputs} FROM rides{where}{' GROUP BY 1' if self.key else ''}"

    @property
    def names(self) -> set[str]:
        """Return all words of the statement, its columns among them."""
        return set(re.findall(r"\w+", self.sql))

    def groups(self, rows: Sequence[Row], table: Table, most: int) -> Mapping[Key, Sequence[Fraction | None]]:
        """Return the aggregates of every group that has rows, a unit of m rows giving each ⌊W·C / max(m, C)⌋ / W."""
        kept = list(self._kept(rows, table))
        number = Counter(row["rider"] for row in kept)
        groups: dict[Key, list[tuple[Fraction, Row]]] = {}
        for row in kept:
            weight = Fraction(W * most // max(number[row["rider"]], most), W)
            groups.setdefault((row[self.key],) if self.key else (), []).append((weight, row))
        return {key: [a.of(members) for a in self.aggregates] for key, members in groups.items()}

    def _kept(self, rows: Sequence[Row], table: Table) -> Iterator[Row]:
        """Yield the rows that somebody's are, that have what is declared to be there, and that satisfy the condition."""
        needed = [name for name in self.names & table.columns.keys() if not table.columns[name].nullable]
        for row in (clamped(row, table) for row in rows):
            complete = row["rider"] is not None and all(row[name] is not None for name in needed)
            if complete and (self.where is None or CONDITIONS[self.where](row)):
                yield row


def on_lattice(rows: Sequence[Row], table: Table) -> list[Row]:
    """Return the rows with every number inside its bounds moved down to a step."""
    return [{name: _on_step(cell, table.columns[name]) for name, cell in row.items()} for row in rows]


def _on_step(cell: Cell, column: Column) -> Cell:
    bounds = column.bounds
    if bounds is None or not isinstance(cell, (float, Decimal)) or not math.isfinite(cell):
        return cell
    steps = (Fraction(cell) - bounds.low) * STEPS / bounds.width
    if not 0 <= steps <= STEPS:
        return cell
    on = bounds.low + bounds.width * math.floor(steps) / STEPS
    return float(on) if isinstance(cell, float) else Decimal(on.numerator) / Decimal(on.denominator)


def aggregates(columns: Sequence[str]) -> st.SearchStrategy[Aggregate]:
    """Return aggregates of some columns; only counts are of texts."""
    some = st.sampled_from([None, *CONDITIONS])
    numbers = st.builds(Aggregate, st.sampled_from(["sum", "avg", "var_pop", "count"]), st.sampled_from(columns), some)
    return st.one_of(numbers, st.builds(Aggregate, st.just("count"), st.sampled_from(["paid", "late", "*"]), some))


@st.composite
def statements(draw: st.DrawFn) -> Weighed:
    """Return statements; the number of rows is always asked, so that sums are taken from the middle of their bounds.

    None compares what it adds up in double precision: then its bounds would be narrower, and its steps others.
    """
    columns = draw(st.sampled_from([DOUBLES, WHOLE]))
    asked = draw(st.lists(aggregates(columns), min_size=1, max_size=3, unique=True))
    key, where = draw(st.sampled_from([None, *KEYS])), draw(st.sampled_from([None, *CONDITIONS]))
    compared = {word for text in (where, *(a.filter for a in asked)) for word in re.findall(r"\w+", text or "")}
    assume(not compared & {a.column for a in asked} & set(DOUBLES))
    return Weighed(tuple(dict.fromkeys([Aggregate("count"), *asked])), key, where)
