"""The amount that a row can add to the sums of a statement, by the statement's own text, and its size in a norm."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Self

import sqlglot
from sqlglot import exp

from dpsql.privacy.mechanisms.block import Block, Norm
from dpsql.trial.column_bounds import ColumnBounds, NotProvedError, without_cast, without_parens

_COMPARED = re.compile(r"(\w+) = \d+")
"""A value compared with a number."""
_MOST_CONDITIONS = 4


def is_text(tree: exp.Expr | None, text: str, language: str = "duckdb") -> bool:
    """Return whether a part of a statement is this one, but for brackets."""
    if tree is None:
        return False
    sought = _read(text, language)
    return type(without_parens(tree)) is type(sought) and _plain(tree) == sought


@lru_cache(maxsize=1024)
def _read(text: str, language: str) -> exp.Expr:
    """Return a text in the form that is compared. Most are the same for every statement, and reading takes longest."""
    return _plain(sqlglot.parse_one(text, dialect=language))


def _plain(tree: exp.Expr) -> exp.Expr:
    return without_parens(tree).transform(lambda node: without_parens(node) if isinstance(node, exp.Paren) else node)


@dataclass(frozen=True, slots=True)
class Summed:
    """The number that an output adds up for each row: 1, a column, or the product of two."""

    columns: tuple[str, ...]
    bounds: tuple[ColumnBounds, ...]
    only: str = ""
    """The condition for the rows that it adds up, if not all."""
    weight: str = ""
    """By which each row is multiplied: w, v, or nothing."""

    @classmethod
    def of(cls, tree: exp.Expr, columns: Mapping[str, ColumnBounds], *, distinct: bool = False) -> Self:
        """Read an aggregate, cast to a type that has room for it, and any weight of its rows.

        A number of `distinct` values of a column is read as one of rows: each row is one of either at most.
        """
        tree, only = without_cast(tree.unalias()), ""
        while isinstance(tree, exp.Filter):
            if only:
                raise NotProvedError
            only, tree = tree.expression.this.sql(), without_cast(tree.this)
        if isinstance(tree, exp.Count) and (
            isinstance(tree.this, exp.Star) or (distinct and _is_of_distinct(tree.this))
        ):
            return cls((), (), only)
        if not isinstance(tree, exp.Sum):
            raise NotProvedError
        factors = [_column(factor) for factor in _factors(tree.this)]
        names = tuple(sorted(name for name in factors if name not in ("w", "v")))
        if len(names) > 2 or len(names) < len(factors) - 1 or any(name not in columns for name in names):
            raise NotProvedError
        weight = "".join(name for name in factors if name in ("w", "v"))
        return cls(names, tuple(columns[name] for name in names), only, weight)

    @property
    def decided_by(self) -> set[str]:
        """Return the columns of the condition for the rows that it adds up."""
        return {column.name for column in sqlglot.parse_one(self.only).find_all(exp.Column)} if self.only else set()


def _is_of_distinct(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Distinct) and len(tree.expressions) == 1 and isinstance(tree.expressions[0], exp.Column)


def _factors(tree: exp.Expr) -> Iterable[exp.Expr]:
    tree = without_parens(tree)
    if isinstance(tree, exp.Mul):
        yield from _factors(tree.this)
        yield from _factors(tree.expression)
    else:
        yield tree


def _column(tree: exp.Expr) -> str:
    tree = without_cast(tree)
    if not isinstance(tree, exp.Column) or tree.table:
        raise NotProvedError
    return tree.name


@dataclass(frozen=True, slots=True)
class RowNorm:
    """The size of a row in the norm of its noise; `read` makes coordinates of sums, and is linear."""

    read: Callable[[Sequence[int]], Sequence[int]]
    blocks: Sequence[Block]
    sums: Mapping[str, Summed]

    def largest(self, by_second: Collection[str]) -> Fraction:
        """Return the most that a row can be.

        Sums in `by_second` have a weight of their own: no coordinate may be made of both. A norm that is linear in
        each column is largest at the ends of its bounds; one with squares of a column also where a coordinate, or
        their total, turns.

        Raises:
            NotProvedError: it can't be seen.
        """
        every, factors = list(self.sums.values()), self._factors()
        second = [name in by_second for name in self.sums]
        for place in range(len(factors[0])):
            if len({second[i] for i, row in enumerate(factors) if row[place]}) > 1:
                raise NotProvedError
        bounds = {name: bound for summed in every for name, bound in zip(summed.columns, summed.bounds, strict=True)}
        squared = {summed.columns[0] for summed in every if len(summed.columns) > 1 and len(set(summed.columns)) == 1}
        if not all(bound.is_known for bound in bounds.values()) or (squared and len(bounds) > 1):
            raise NotProvedError
        if squared and len({summed.only for summed in every}) > 1:
            raise NotProvedError  # what turns where depends on which of them a row is in
        points = {name: [int(bound.low), int(bound.high)] for name, bound in bounds.items()}
        for name in squared:
            points[name] += _turns(factors, every, self.blocks, bounds[name])
        most = Fraction(0)
        for values in product(*([None, *some] for some in points.values())):
            for kept in self._kept():
                moved = self._moved(dict(zip(points, values, strict=True)), kept, factors)
                if squared and any(b.norm is Norm.TOTAL and moved[i] < 0 for b in self.blocks for i in b.places):
                    raise NotProvedError  # the sum of their sizes need not be largest where it is looked for
                most = max(most, _norm(moved, self.blocks))
        return most

    def largest_square(self) -> Fraction:
        """Return the most that the square of a row's Euclidean norm can be, or somewhat more.

        Of a block whose largest coordinate is bounded it is looked for in each coordinate by itself, where sums are largest
        at the ends of bounds; of cells their total is taken, which is no less than their length.

        Raises:
            NotProvedError: it can't be seen.
        """
        every, factors = list(self.sums.values()), self._factors()
        bounds = {name: bound for summed in every for name, bound in zip(summed.columns, summed.bounds, strict=True)}
        if not all(bound.is_known for bound in bounds.values()):
            raise NotProvedError
        if any(len(set(summed.columns)) < len(summed.columns) for summed in every):
            raise NotProvedError  # squares are largest elsewhere
        places = {place for block in self.blocks for place in block.places}
        if places != set(range(len(factors[0]))):
            raise NotProvedError
        ends = [[None, int(bound.low), int(bound.high)] for bound in bounds.values()]
        rows = [dict(zip(bounds, values, strict=True)) for values in product(*ends)]
        most = Fraction(0)
        for kept in self._kept():
            moves = [[abs(part) for part in self._moved(row, kept, factors)] for row in rows]
            squares = (
                max(sum(moved[i] for i in block.places) for moved in moves) ** 2
                if block.norm is Norm.TOTAL
                else sum(max(moved[i] for moved in moves) ** 2 for i in block.places)
                for block in self.blocks
            )
            most = max(most, Fraction(sum(squares)))
        return most

    def is_nothing_at(self, centers: Mapping[str, int], of: Collection[str]) -> bool:
        """Return whether a row adds nothing to the coordinates that are made of some sums where columns have these values."""
        if any(set(self.sums[name].columns) - {*centers} for name in of):
            return False
        factors = [row if name in of else [0] * len(row) for name, row in zip(self.sums, self._factors(), strict=True)]
        return not any(any(self._moved(centers, kept, factors)) for kept in self._kept())

    def _factors(self) -> Sequence[Sequence[int]]:
        """Return for each sum how much of it each coordinate is."""
        number = len(self.sums)
        if any(self.read([0] * number)):
            raise NotProvedError
        return [self.read([int(i == j) for j in range(number)]) for i in range(number)]

    def _kept(self) -> Sequence[Collection[str]]:
        """Return which of the conditions of FILTER a row may fulfil together: of `f = 0` and `f = 1` one."""
        apart: dict[str, list[str]] = {}
        for summed in self.sums.values():
            of = _COMPARED.fullmatch(summed.only)
            if summed.only and summed.only not in (own := apart.setdefault(of[1] if of else summed.only, [])):
                own.append(summed.only)
        if len(apart) > _MOST_CONDITIONS:
            raise NotProvedError
        return [set(filter(None, chosen)) for chosen in product(*(["", *own] for own in apart.values()))]

    def _moved(
        self, row: Mapping[str, int | None], kept: Collection[str], factors: Sequence[Sequence[int]]
    ) -> Sequence[int]:
        numbers = [_term(summed, row) if not summed.only or summed.only in kept else 0 for summed in self.sums.values()]
        return [sum(n * of[place] for n, of in zip(numbers, factors, strict=True)) for place in range(len(factors[0]))]


def _turns(
    factors: Sequence[Sequence[int]], every: Sequence[Summed], blocks: Sequence[Block], bounds: ColumnBounds
) -> Sequence[int]:
    """Return the values around which a coordinate, or the total of some, turns: of a·x² + b·x + c that is −b/2a."""
    groups = [[place] for place in range(len(factors[0]))]
    groups += [list(block.places) for block in blocks if block.norm is Norm.TOTAL]
    turns: list[int] = []
    for places in groups:
        a, b = (
            sum(
                row[place]
                for summed, row in zip(every, factors, strict=True)
                for place in places
                if len(summed.columns) == n
            )
            for n in (2, 1)
        )
        if a:
            turns += [turn for turn in (-b // (2 * a), -b // (2 * a) + 1) if bounds.low <= turn <= bounds.high]
    return turns


def _term(summed: Summed, row: Mapping[str, int | None]) -> int:
    number = 1
    for name in summed.columns:
        value = row.get(name)
        number = 0 if value is None else number * value
    return number


def _norm(moved: Sequence[int], blocks: Sequence[Block]) -> Fraction:
    parts = ([abs(moved[i]) for i in block.places] for block in blocks)
    norms = (max(own) if block.norm is Norm.LARGEST else sum(own) for block, own in zip(blocks, parts, strict=True))
    return Fraction(sum(norms))
