"""What a row can add to the sums of a statement, by the statement's own text, and how much that is in a norm."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Self

import sqlglot
from sqlglot import exp

from dpsql.privacy.mechanisms.block import Block, Norm

_TYPES = {"UINT": 2**32 - 1, "USMALLINT": 2**16 - 1, "UTINYINT": 2**8 - 1}
"""The largest values of unsigned types."""


class NotProvedError(Exception):
    """The text is nothing that is read, or does not keep what it has to."""


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """The least and the greatest value of a whole number, which may also be NULL."""

    low: int
    high: int


def is_text(tree: exp.Expr | None, text: str) -> bool:
    """Return whether a part of a statement is this one, but for brackets around it and for how names are written."""
    if tree is None:
        return False
    own = without_parens(tree).sql().lower().replace("double precision", "double")
    return own == without_parens(sqlglot.parse_one(text, dialect="duckdb")).sql().lower() or own == text.lower()


def without_parens(tree: exp.Expr) -> exp.Expr:
    """Return what stands in brackets."""
    while isinstance(tree, (exp.Paren, exp.Subquery)) and not tree.alias:
        tree = tree.this
    return tree


def column_bounds(tree: exp.Expr, columns: Mapping[str, ColumnBounds]) -> ColumnBounds:
    """Return between which values a whole number lies; of what is none it is no bound that is ever used.

    CASE WHEN x <= 9 THEN x WHEN … THEN 9 END, where x is unsigned  →  from 0 to 9
    """
    tree = without_parens(tree)
    match tree:
        case exp.Literal() if tree.is_int:
            return ColumnBounds(int(tree.name), int(tree.name))
        case exp.Column() if tree.name in columns and not tree.table:
            return columns[tree.name]
        case exp.TryCast() | exp.Cast():
            inner, most = column_bounds(tree.this, columns), _TYPES.get(tree.to.this.name)
            if most is not None and not (inner.low >= 0 and inner.high <= most):
                return ColumnBounds(0, most)
            return inner
        case exp.Case() if tree.this is None:
            branches = [_then(one, columns) for one in tree.args["ifs"]]
            default = tree.args.get("default")
            every = [*branches, *([] if default is None else [column_bounds(default, columns)])]
            return ColumnBounds(min(one.low for one in every), max(one.high for one in every))
    return UNKNOWN


UNKNOWN = ColumnBounds(-(10**40), 10**40)
"""Of keys, and of what is not read: a sum of it would prove nothing."""


def _then(branch: exp.Expr, columns: Mapping[str, ColumnBounds]) -> ColumnBounds:
    """Return the bounds of THEN, which those of WHEN make narrower where it compares the same with a number."""
    found = column_bounds(branch.args["true"], columns)
    condition = without_parens(branch.this)
    if (
        isinstance(condition, exp.LTE)
        and without_parens(condition.this).sql() == without_parens(branch.args["true"]).sql()
    ):
        most = without_parens(condition.expression)
        number = without_parens(most.this if isinstance(most, exp.Cast) else most)
        if number.is_int:
            return ColumnBounds(found.low, min(found.high, int(number.name)))
    return found


@dataclass(frozen=True, slots=True)
class Summed:
    """What an output adds up for each row: 1, a column, or the product of two."""

    columns: tuple[str, ...]
    bounds: tuple[ColumnBounds, ...]

    @classmethod
    def of(cls, tree: exp.Expr, columns: Mapping[str, ColumnBounds]) -> Self:
        """Read an aggregate, whatever it is cast to, and whatever weight its rows have."""
        tree = without_parens(tree.unalias())
        while isinstance(tree, exp.Cast):
            tree = without_parens(tree.this)
        if isinstance(tree, exp.Count) and isinstance(tree.this, exp.Star):
            return cls((), ())
        if not isinstance(tree, exp.Sum):
            raise NotProvedError
        factors = [_column(one) for one in _factors(tree.this)]
        names = tuple(sorted(name for name in factors if name not in ("w", "v")))
        if len(names) > 2 or len(names) < len(factors) - 1 or any(name not in columns for name in names):
            raise NotProvedError
        return cls(names, tuple(columns[name] for name in names))


def _factors(tree: exp.Expr) -> Iterable[exp.Expr]:
    tree = without_parens(tree)
    if isinstance(tree, exp.Mul):
        yield from _factors(tree.this)
        yield from _factors(tree.expression)
    else:
        yield tree


def _column(tree: exp.Expr) -> str:
    while isinstance(tree, exp.Cast):
        tree = without_parens(tree.this)
    if not isinstance(tree, exp.Column):
        raise NotProvedError
    return tree.name


def largest(
    read: Callable[[Sequence[int]], Sequence[int]],
    blocks: Sequence[Block],
    sums: Mapping[str, Summed] | Sequence[Summed],
    by_second: Collection[str] | None,
) -> Fraction:
    """Return the most that a row is in the norm of its noise; `read` makes coordinates of sums, and is linear.

    Sums in `by_second` have a weight of their own: no coordinate may be made of both. What is linear in each column is
    largest at the ends of their bounds; what has squares of one also where a coordinate, or their total, turns.
    """
    every = list(sums.values()) if isinstance(sums, Mapping) else list(sums)
    factors = [read([int(i == j) for j in range(len(every))]) for i in range(len(every))]
    if any(read([0] * len(every))):
        raise NotProvedError
    if by_second is not None and isinstance(sums, Mapping):
        second = [name in by_second for name in sums]
        for place in range(len(factors[0])):
            if len({second[i] for i, row in enumerate(factors) if row[place]}) > 1:
                raise NotProvedError
    bounds = {name: bound for one in every for name, bound in zip(one.columns, one.bounds, strict=True)}
    squared = {one.columns[0] for one in every if len(one.columns) > 1 and len(set(one.columns)) == 1}
    if UNKNOWN in bounds.values() or (squared and len(bounds) > 1):
        raise NotProvedError
    points = {name: [bound.low, bound.high] for name, bound in bounds.items()}
    for name in squared:
        points[name] += _turns(factors, every, blocks, bounds[name])
    found = Fraction(0)
    for values in product(*([None, *some] for some in points.values())):
        numbers = [_term(one, dict(zip(points, values, strict=True))) for one in every]
        moved = [sum(n * factors[i][place] for i, n in enumerate(numbers)) for place in range(len(factors[0]))]
        if squared and any(block.norm is Norm.TOTAL and moved[i] < 0 for block in blocks for i in block.places):
            raise NotProvedError  # the sum of their sizes need not be largest where it is looked for
        found = max(found, _norm(moved, blocks))
    return found


def _turns(
    factors: Sequence[Sequence[int]], every: Sequence[Summed], blocks: Sequence[Block], bounds: ColumnBounds
) -> Sequence[int]:
    """Return the values around which a coordinate, or the total of some, turns: of a·x² + b·x + c that is −b/2a."""
    groups = [[place] for place in range(len(factors[0]))]
    groups += [list(block.places) for block in blocks if block.norm is Norm.TOTAL]
    found: list[int] = []
    for places in groups:
        a, b = (
            sum(
                row[place] for one, row in zip(every, factors, strict=True) for place in places if len(one.columns) == n
            )
            for n in (2, 1)
        )
        if a:
            found += [turn for turn in (-b // (2 * a), -b // (2 * a) + 1) if bounds.low <= turn <= bounds.high]
    return found


def _term(one: Summed, row: Mapping[str, int | None]) -> int:
    number = 1
    for name in one.columns:
        value = row[name]
        number = 0 if value is None else number * value
    return number


def _norm(moved: Sequence[int], blocks: Sequence[Block]) -> Fraction:
    parts = ([abs(moved[i]) for i in block.places] for block in blocks)
    norms = (max(own) if block.norm is Norm.LARGEST else sum(own) for block, own in zip(blocks, parts, strict=True))
    return Fraction(sum(norms))
