"""Several releases of one quantity as one estimate, and totals that agree with their parts: post-processing.

*Inverse variance.* Noise of different releases is independent, so that their mean with weights 1/v has the least variance of
all that are right on average: 1/Σ(1/v), below each of theirs.

*Least squares.* Where groups are parts of coarser ones that were released too, with an estimate T of variance τ for their
total (their own sum being in it), a part y of variance v among parts of V together becomes y + (v/V)·(T − Σy), of variance
v − v²/V + (v/V)²·τ. Upwards and then downwards a tree of groups that is the solution in least squares (Hay, Rastogi, Miklau,
Suciu, *Boosting the accuracy of differentially private histograms through consistency*, VLDB 2010), nearly: what is further
down than the next level weighs there as if all its groups were of one size.

A variance is that of the noise and the square of what a C takes off: where nobody knows that, nothing is put together.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.mechanisms.law import Law
from dpsql.privacy.release.draws import Draws, Found
from dpsql.privacy.reuse.derived import Derived
from dpsql.privacy.reuse.lens import Lens

_LEAST = 1e-30


def may_agree(measured: Sums) -> bool:
    """Return whether releases of sums may be put together with others: it is known what a C takes off.

    Of numbers of units it may be known, but how noisy they are, which depends on the C that was chosen, is no variance of
    the features that are read.
    """
    certain = measured.bound.form is Form.UNIQUE or measured.bound.up_to is not None
    return certain and measured.end is None and measured.distinct is CountOf.ROWS and not measured.delta


@dataclass(frozen=True)
class TreeEstimates:
    """Estimates of the same sums in the same groups, by releases whose noise is independent, as one."""

    sources: tuple[Derived, ...]
    needed: tuple[Feature, ...]
    """The sums that are wanted; each source has them."""
    above: "tuple[TreeEstimates, Lens] | None" = None
    """The coarser groups whose totals these have to agree with, and how they are made of these."""

    @cached_property
    def groups(self) -> int:
        """Return how many groups there are."""
        return self.sources[0].groups

    @cached_property
    def each_variances(self) -> Sequence[Sequence[float]]:
        """Return by source the variance of each group."""
        return [source.variances(self.needed) for source in self.sources]

    @cached_property
    def best(self) -> Derived:
        """Return the source with the least noise."""
        return min(zip(self.sources, self.each_variances, strict=True), key=lambda source: sum(source[1]))[0]

    @cached_property
    def weights(self) -> Sequence[Sequence[float]]:
        """Return for each group the sources' weights, which add up to 1."""
        weights = []
        for group in range(self.groups):
            inverse = [1 / max(variances[group], _LEAST) for variances in self.each_variances]
            whole = sum(inverse)
            weights.append([precision / whole for precision in inverse])
        return weights

    @cached_property
    def own_variances(self) -> Sequence[float]:
        """Return the variance of each group's estimate, before it is made to agree."""
        return [
            1 / sum(1 / max(variances[group], _LEAST) for variances in self.each_variances)
            for group in range(self.groups)
        ]

    @cached_property
    def own(self) -> Sequence[Found]:
        """Return each group's sums, before they are made to agree."""
        readers = [source.reader() for source in self.sources]
        combined = []
        for group in range(self.groups):
            read = [reader(group) for reader in readers]
            combined.append(
                {
                    f: sum(w * estimates[f] for w, estimates in zip(self.weights[group], read, strict=True))
                    for f in self.needed
                }
            )
        return combined

    @cached_property
    def parts(self) -> Sequence[tuple[int, float, float]]:
        """Return for each group the coarser one that it is part of, its share of the variance there, and that variance."""
        if self.above is None:
            return []
        lines, parts = self.above[1].lines[0], [(-1, 0.0, 0.0)] * self.groups
        for total, line in enumerate(lines):
            whole = sum(self.own_variances[group] for group in line)
            for group in line:
                parts[group] = (total, self.own_variances[group] / max(whole, _LEAST), whole)
        return parts

    @cached_property
    def estimates(self) -> Sequence[Found]:
        """Return each group's sums."""
        if self.above is None:
            return self.own
        totals, lines = self.above[0].estimates, self.above[1].lines[0]
        missing = [
            {f: totals[total][f] - sum(self.own[group][f] for group in line) for f in self.needed}
            for total, line in enumerate(lines)
        ]
        return [
            own if total < 0 else {f: own[f] + share * missing[total][f] for f in self.needed}
            for own, (total, share, _) in zip(self.own, self.parts, strict=True)
        ]

    @cached_property
    def variances(self) -> Sequence[float]:
        """Return the variance of each group's estimate."""
        if self.above is None:
            return self.own_variances
        of_totals = self.above[0].variances
        return [
            own if total < 0 else max(own - own * share + share**2 * min(of_totals[total], whole), 0.0)
            for own, (total, share, whole) in zip(self.own_variances, self.parts, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Agreed(Draws):
    """The mean of several releases of a measurement, as `Draws`; `drawn` is the best of them."""

    estimates: TreeEstimates | None = None

    @classmethod
    def of_estimates(cls, estimates: TreeEstimates) -> "Agreed":
        """Build from estimates."""
        return cls(estimates.best.drawn, estimates.best.profile, estimates=estimates)

    @property
    def _all(self) -> TreeEstimates:
        assert self.estimates is not None
        return self.estimates

    @property
    def groups(self) -> int:
        """Return how many groups there are."""
        return self._all.groups

    def reader(self) -> Callable[[int], Found]:
        """Return the function from a group's place to its sums."""
        return self._all.estimates.__getitem__

    def chosen(self) -> Sequence[Sequence[int]]:
        """Return nothing: sums have no buckets."""
        return [[] for _ in range(self.groups)]

    def margins_by_place(self, *, missing: bool) -> Callable[[int | None], Margins | None]:
        """Return the function to the margins of a group; see `Draws`."""
        estimates, remembered = self._all, dict[object, Margins]()
        each = [source.margins_by_place(missing=missing) for source in estimates.sources]
        widest = max(range(self.groups), key=estimates.variances.__getitem__, default=0)

        def margins(place: int | None) -> Margins:
            group = widest if place is None else place
            weights = estimates.weights[group]
            parts = [
                (weight, part) for weight, of in zip(weights, each, strict=True) if (part := of(group)) is not None
            ]
            own = estimates.own_variances[group]
            less = math.sqrt(estimates.variances[group] / own) if own else 1.0
            key = (less, *((weight, id(part_margins)) for weight, part_margins in parts))
            if key not in remembered:
                remembered[key] = _together(parts, less, estimates.needed)
            return remembered[key]

        return margins


def _together(parts: Sequence[tuple[float, Margins]], less: float, needed: Sequence[Feature]) -> Margins:
    """Return the margins of a weighted mean of independent estimates, whose noise is then so many times as large."""
    laws, readable = list[tuple[Law, tuple[int, ...]]](), {feature: dict[int, float]() for feature in needed}
    first = 0
    for weight, part in parts:
        size = weight * part.unit * less
        laws += [(law, tuple(first + place for place in places)) for law, places in part.laws]
        for feature in needed:
            readable[feature] |= {first + place: float(times) * size for place, times in part.readable[feature].items()}
        first += 1 + max((place for _, places in part.laws for place in places), default=-1)
    rounded: Mapping[Feature, float] = {
        feature: sum(weight * part_margins.rounded.get(feature, 0.0) for weight, part_margins in parts)
        for feature in needed
    }
    return replace(
        parts[0][1],
        laws=tuple(laws),
        unit=1.0,
        readable=readable,
        rounded={feature: off for feature, off in rounded.items() if off},
        rows=max(part_margins.rows for _, part_margins in parts),
        cut=sum(weight * part_margins.cut for weight, part_margins in parts),
    )
