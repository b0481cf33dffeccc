"""Public rows that rows of a relation find, or are tested for, and their facts once the finding columns have values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dpsql.policy.model import Value
from dpsql.rewrite.analysis.evaluate import evaluable, evaluate
from dpsql.rewrite.functions.comparisons import equation
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
        if self._key is None:
            return self.rows
        _, other = self._key
        return self._by_key.get(evaluate(other, row), ())

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
    def _by_key(self) -> Mapping[Value | None, Sequence[tuple[Value | None, ...]]]:
        assert self._key is not None
        rows_by_key: dict[Value | None, list[tuple[Value | None, ...]]] = {}
        for values in self.rows:
            rows_by_key.setdefault(values[self._key[0]], []).append(values)
        return rows_by_key
