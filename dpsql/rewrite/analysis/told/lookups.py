"""Public rows that rows of a relation find, or are tested for, and their facts once the finding columns have values."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import compress
from operator import itemgetter

from dpsql.policy.model import Value
from dpsql.rewrite.analysis.evaluate import evaluable, evaluate
from dpsql.rewrite.functions.comparisons import compared_ways, equation
from dpsql.rewrite.ir.expr import Expr, Ref, refs
from dpsql.rewrite.ir.relation import Join

FoundRow = Mapping[Ref, Value | None]


@dataclass(frozen=True, eq=False)
class Lookup:
    """A public table beside the rows of a relation, with the conditions by which rows of it are found."""

    source: int
    join: Join
    conditions: tuple[Expr, ...]
    columns: tuple[Ref, ...]
    """Those of its columns that anybody reads."""
    rows: Sequence[tuple[Value | None, ...]]
    """Their values."""
    adds: bool
    """Whether it stands beside the wanted rows alone, and must not make several of one."""

    @property
    def finding(self) -> tuple[Ref, ...]:
        """Return the columns of other tables by which its rows are found."""
        return tuple(ref for ref in refs(*self.conditions) if ref.source != self.source)

    @property
    def is_known(self) -> bool:
        """Return whether it can be told by what is exactly known which rows are found."""
        return all(map(evaluable, self.conditions))

    def joined_rows(self, row: FoundRow) -> Iterator[FoundRow]:
        """Yield a row with each of the rows that it finds."""
        for values in self._candidates(row):
            joined = {**row, **dict(zip(self.columns, values, strict=True))}
            if all(evaluate(condition, joined) is True for condition in self.conditions):
                yield joined

    def _candidates(self, row: FoundRow) -> Sequence[tuple[Value | None, ...]]:
        if self._key is not None:
            _, other = self._key
            return self._by_key.get(evaluate(other, row), ())
        rows, stretches = self._ordered
        first, behind = 0, len(rows)
        for op, keys, other in stretches:
            value = evaluate(other, row)
            if value is None:
                return ()
            low, high = bisect_left(keys, Fraction(value)), bisect_right(keys, Fraction(value))
            first = max(first, {"gt": high, "ge": low, "eq": low}.get(op, 0))
            behind = min(behind, {"lt": low, "le": high, "eq": high}.get(op, behind))
        return rows[first:behind]

    @cached_property
    def _key(self) -> tuple[int, Expr] | None:
        """Return the place of a column that has to be equal to something of the row's, and that."""
        for condition in self.conditions:
            sides = equation(condition)
            for own, other in (sides, sides[::-1]) if sides else ():
                outside = all(ref.source != self.source for ref in refs(other))
                if isinstance(own, Ref) and own in self.columns and outside and own.type is other.type:
                    return self.columns.index(own), other
        return None

    @cached_property
    def _ordered(self) -> tuple[Sequence[tuple[Value | None, ...]], Sequence[tuple[str, Sequence[Fraction], Expr]]]:
        """Return the rows by the first of the numbers that are compared with something of the row's, and such comparisons.

        These are of one order: a comparison leaves the rows from one place on, up to one, or between two.
        """
        compared = [
            (op, own, other)
            for condition in self.conditions
            for op, own, other in compared_ways(condition)
            if {ref.source for ref in refs(own)} == {self.source} and not own.type.is_text
            if all(ref.source != self.source for ref in refs(other))
        ]
        keyed = []
        for values in self.rows:
            row = dict(zip(self.columns, values, strict=True))
            numbers = [evaluate(own, row) for _, own, _ in compared]
            if None not in numbers:  # nothing is less than NULL
                keyed.append(([Fraction(number) for number in numbers if number is not None], values))
        keyed.sort(key=itemgetter(0))
        columns = [[numbers[place] for numbers, _ in keyed] for place in range(len(compared))]
        in_order = [keys == sorted(keys) for keys in columns]
        stretches = [
            (op, keys, other) for (op, _, other), keys in compress(zip(compared, columns, strict=True), in_order)
        ]
        return [values for _, values in keyed], stretches

    @cached_property
    def _by_key(self) -> Mapping[Value | None, Sequence[tuple[Value | None, ...]]]:
        assert self._key is not None
        rows_by_key: dict[Value | None, list[tuple[Value | None, ...]]] = {}
        for values in self.rows:
            rows_by_key.setdefault(values[self._key[0]], []).append(values)
        return rows_by_key
