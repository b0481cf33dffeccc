"""The features' sums that a statistic is read off."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.frozen import quickly_made
from dpsql.privacy.features.feature import ONE, Feature, Scaled, Shape
from dpsql.rewrite.translate.rows.aggregates import Moment

Estimates = Mapping[Feature, float]
"""Noisy sums of features, in rows."""


class PartialSum(Enum):
    """A sum that a statistic may need besides the count; u and v are its arguments, each scaled to [−1, 1]."""

    U = "Σ u"
    V = "Σ v"
    UU = "Σ (2u² − 1)"
    VV = "Σ (2v² − 1)"
    UV = "Σ u·v"


@dataclass(frozen=True, slots=True)
class ArgumentSums:
    """One argument of a statistic, by the sums of its values and of their squares."""

    value: PartialSum
    square: PartialSum


FIRST, SECOND = ArgumentSums(PartialSum.U, PartialSum.UU), ArgumentSums(PartialSum.V, PartialSum.VV)


@quickly_made
@dataclass(frozen=True, slots=True)
class Readout:
    """Where a statistic's count and its parts stand among the features."""

    moment: Moment
    count: Feature | None = None
    """None: a sum by itself, which needs no count."""
    sums: tuple[tuple[PartialSum, Feature], ...] = ()
    shifts: tuple[Fraction, ...] = ()
    """Of each argument what is added to the value that is measured: `sum(x + 1)` is read off what `sum(x)` is."""

    def at(self, part: PartialSum) -> Feature:
        """Return the feature that a part is the sum of."""
        for summed, feature in self.sums:
            if summed is part:
                return feature
        raise InternalError

    def scaled(self, argument: ArgumentSums) -> Scaled:
        """Return an argument with the interval that it is clamped to."""
        scaled = self.at(argument.value).x
        if scaled is None:
            raise InternalError
        shift = next(iter(self.shifts[argument is SECOND :]), 0)
        return replace(scaled, interval=scaled.interval.shifted(shift)) if shift else scaled

    @property
    def features(self) -> tuple[Feature, ...]:
        """Return the features that it is read from."""
        own = (*(() if self.count is None else (self.count,)), *(feature for _, feature in self.sums))
        signs = [ONE.within(feature.block) for feature in own if feature.shape is Shape.SIGN]
        return (*signs, *own)

    def within(self, block: int) -> "Readout":
        """Return the same readout of one block's rows."""
        count = None if self.count is None else self.count.within(block)
        return replace(self, count=count, sums=tuple((part, feature.within(block)) for part, feature in self.sums))
