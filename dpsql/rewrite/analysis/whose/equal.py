"""Columns that have one value in each row for which a condition holds.

a.x = b.y AND b.y = c.z   →  a.x, b.y and c.z are one class

Claim: in a row for which the condition holds, columns of one class have the same value, and it is not NULL. Proof: each
equation of two columns holds there, since it is a part of a conjunction. Whole numbers are compared with whole numbers,
texts with texts of their type, and a unit's decimals with decimals or whole numbers by their texts, all of them exactly.
Each column is read in the same way in all places. So equality is transitive here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpsql.rewrite.functions.comparisons import are_exact_numbers, equation
from dpsql.rewrite.ir.expr import Expr, Ref, conjuncts

_Place = tuple[int, str]
"""A column, by its source and its name."""


@dataclass(frozen=True, slots=True)
class EqualColumns:
    """The columns that are equal, by a condition."""

    classes: Mapping[_Place, Sequence[Ref]]
    """By column, those of its class in order of first appearance."""

    @classmethod
    def of(cls, condition: Expr) -> "EqualColumns":
        """Return what a condition says."""
        classes: dict[_Place, list[Ref]] = {}
        for part in conjuncts(condition):
            column, other = equation(part) or (part, part)
            if isinstance(column, Ref) and isinstance(other, Ref) and _compared_exactly(column, other):
                _merge(classes, column, other)
        return cls(classes)

    def to(self, index: int, name: str) -> Sequence[Ref]:
        """Return the columns that are equal to that of a source, that itself among them; none if it is equal to none."""
        return self.classes.get((index, name), ())

    def sources_of(self, index: int, name: str) -> frozenset[int]:
        """Return the other sources that have a column which is equal to that of a source."""
        return frozenset(ref.source for ref in self.to(index, name)) - {index}

    def are_equal(self, index: int, names: Sequence[str], other: int, others: Sequence[str]) -> bool:
        """Return whether columns of a source are equal to as many of another one, each to that in its place."""
        return all(
            any((ref.source, ref.name) == (other, theirs) for ref in self.to(index, mine))
            for mine, theirs in zip(names, others, strict=True)
        )


def _compared_exactly(ref: Ref, other: Ref) -> bool:
    both_whole = ref.type.is_integer and other.type.is_integer
    return both_whole or (ref.type.is_text and ref.type is other.type) or are_exact_numbers(ref, other)


def _merge(classes: dict[_Place, list[Ref]], column: Ref, other: Ref) -> None:
    mine, others = (classes.setdefault((ref.source, ref.name), [ref]) for ref in (column, other))
    if mine is not others:
        mine += others
        classes.update(dict.fromkeys(((ref.source, ref.name) for ref in others), mine))
