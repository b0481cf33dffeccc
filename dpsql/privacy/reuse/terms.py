"""The sums of a measurement, made of the sums that can be read off another release.

The sum of SIGN(c) = 2·1[c] − 1 is 2·N(c) − N. With x = m + h·u, Σ u = (Σ x − m·N)/h for any other m and h of the same values.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.privacy.features.feature import Feature, Scaled, Shape
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.reuse.lines import Conditions, GroupLines, Lines
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.exclusion import exclusion
from dpsql.rewrite.functions.comparisons import number_of
from dpsql.rewrite.functions.logical import only_branch
from dpsql.rewrite.functions.normal_form import normal_form
from dpsql.rewrite.ir.expr import TRUE, Expr, refs


@dataclass(frozen=True, slots=True)
class Term:
    """Some times a sum that can be read of the release, over those of its groups that are in `lines`."""

    factor: Fraction
    lines: int
    feature: Feature


@dataclass(frozen=True, slots=True)
class SumTerms:
    """The terms that sums are made of."""

    groups: GroupLines
    wanted: Sums
    told: Sums
    entries: dict[Conditions, tuple[int, Conditions] | None]
    lines: list[Lines]

    def of(self, feature: Feature) -> tuple[Term, ...] | None:
        """Return what a wanted sum is made of."""
        conditions = self.wanted.block_conditions
        if feature.block is not None and feature.block >= len(conditions):
            return None  # what is in no block that has a condition
        block = TRUE if feature.block is None else conditions[feature.block]
        return _sum_of(self._made(feature, block, self.groups.conditions(block, feature.where)))

    def _made(self, feature: Feature, block: Expr, where: Conditions) -> Iterator[tuple[Term, ...] | None]:
        renamed = {s: replace(s, expr=self.groups.among.renamed(s.expr)) for s in (feature.x, feature.y) if s}
        match feature.shape:
            case Shape.ONE:
                yield self.counted(where)
            case Shape.SIGN:
                yield _times(self.counted(where), 2)
                yield _times(self.counted(self.groups.conditions(block)), -1)
            case Shape.VALUE | Shape.SIGNED:
                assert feature.x is not None
                yield from self._valued(feature.shape, renamed[feature.x], where)
            case _:
                x, y = (None if s is None else renamed[s] for s in (feature.x, feature.y))
                yield self._measured(Feature(feature.shape, x=x, y=y), where)

    def counted(self, where: Conditions) -> tuple[Term, ...] | None:
        """Return the number of rows for which conditions hold."""
        placed = self._at(where)
        if placed is None:
            return None
        lines, left, block = placed
        if not left:
            count_feature = Feature(Shape.ONE, block=block)
            return (Term(Fraction(1), lines, count_feature),) if count_feature in self._readable else None
        half = Fraction(1, 2)
        sign, count_feature = self._feature(Shape.SIGN, left, block), Feature(Shape.ONE, block=block)
        if sign is None or count_feature not in self._readable:
            return None
        return (Term(half, lines, sign), Term(half, lines, count_feature))

    def _valued(self, shape: Shape, x: Scaled, where: Conditions) -> Iterator[tuple[Term, ...] | None]:
        """Yield the terms of a sum of values, from 0 or from the middle, by one of the same values in either form."""
        branch = only_branch(x.expr) if shape is Shape.SIGNED else None
        if (
            branch is not None and number_of(branch[2]) == 0
        ):  # a sum over some rows, as one over all with 0 for the others
            where, x = where | normal_form(branch[0]) - self.groups.among.told, replace(x, expr=branch[1])
        placed = self._at(where)
        if placed is None:
            yield None
            return
        lines, left, block = placed
        signed = shape is Shape.SIGNED or self.told.bound.weighs_alike
        for other in (Shape.SIGNED, Shape.VALUE) if signed else (Shape.VALUE,):
            same = self._scaled_alike(x, left, block, other)
            if same is None or same.x is None:
                continue
            (low, width), (of_low, of_width) = _line(shape, x), _line(other, same.x)
            if not width:
                break  # all values are one
            # x = of_low + of_width·v = low + width·u
            yield (Term(of_width / width, lines, same),)
            if of_low != low:
                yield _times(self.counted(where), (of_low - low) / width)
            return
        yield None

    def _scaled_alike(self, x: Scaled, left: Conditions, block: int | None, shape: Shape) -> Feature | None:
        """Return a released sum of the same values, within bounds that are no narrower."""
        for feature in self._readable:
            alike = feature.shape is shape and feature.block == block and normal_form(feature.where) == left
            if alike and feature.x is not None and feature.x.expr == x.expr:
                within = feature.x.interval.hull(_ZERO) if shape is Shape.SIGNED else feature.x.interval
                return feature if within.low <= x.interval.low and x.interval.high <= within.high else None
        return None

    def _measured(self, feature: Feature, where: Conditions) -> tuple[Term, ...] | None:
        """Return a sum that is released unchanged."""
        placed = self._at(where)
        if placed is None:
            return None
        lines, left, block = placed
        same = self._feature(feature.shape, left, block, feature.x, feature.y)
        return None if same is None else (Term(Fraction(1), lines, same),)

    def _feature(
        self, shape: Shape, left: Conditions, block: int | None, x: Scaled | None = None, y: Scaled | None = None
    ) -> Feature | None:
        for feature in self._readable:
            alike = feature.shape is shape and feature.block == block and (feature.x, feature.y) == (x, y)
            if alike and normal_form(feature.where) == left:
                return feature
        return None

    def _at(self, where: Conditions) -> tuple[int, Conditions, int | None] | None:
        """Return the lines where conditions hold, what of these is left to sums, and the block that says some of that."""
        if where not in self.entries:
            of_rows = self.groups.of_rows(where)
            if of_rows is not None:
                self.lines.append(of_rows[0])
            self.entries[where] = None if of_rows is None else (len(self.lines) - 1, of_rows[1])
        entry = self.entries[where]
        if entry is None:
            return None
        lines, left = entry
        for block, condition in enumerate(self.told.block_conditions):
            said = normal_form(condition)
            if said <= left:
                return lines, left - said, block
        return lines, left, None

    @property
    def _readable(self) -> Iterator[Feature]:
        """Yield the sums that can be read of the release; of blocks together only where each row is in one."""
        every = self._blocks_hold_all()
        return (feature for feature in self.told.readable if every or feature.block is not None)

    def _blocks_hold_all(self) -> bool:
        conditions = self.told.block_conditions
        if not conditions or any(feature.block == len(conditions) for feature in self.told.features):
            return True
        env = self.groups.cells.declared.env(refs(*conditions))
        excluded = exclusion(conditions, lambda expr: facts(expr, env))
        return excluded is not None and excluded.exhaustive


_ZERO = Interval.of(0, 0)


def _line(shape: Shape, x: Scaled) -> tuple[Fraction, Fraction]:
    """Return m and h with x = m + h·u, where u is what is summed."""
    if shape is Shape.SIGNED:
        return Fraction(0), x.interval.magnitude
    return x.interval.middle, x.interval.half


def _times(terms: tuple[Term, ...] | None, factor: Fraction | int) -> tuple[Term, ...] | None:
    return None if terms is None else tuple(replace(term, factor=term.factor * factor) for term in terms)


def _sum_of(parts: Iterator[tuple[Term, ...] | None]) -> tuple[Term, ...] | None:
    """Return terms added up; None where one is missing."""
    factors: dict[tuple[int, Feature], Fraction] = {}
    for part in parts:
        if part is None:
            return None
        for term in part:
            place = term.lines, term.feature
            factors[place] = factors.get(place, Fraction(0)) + term.factor
    return tuple(Term(factor, lines, feature) for (lines, feature), factor in factors.items() if factor)
