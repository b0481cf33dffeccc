"""The half-width of the 95 % interval of one released statistic, for `dpsql.margin()`: from noisy values alone.

Beside noise it covers the rows that a C takes off, as far as somebody knows how many these are. With κ their share, a the
mean that is measured and a' theirs, the true mean is a + κ·(a' − a), exactly, where all rows of a unit weigh the same. Of 0/1
values nothing has to be assumed: their mean is 0 at least and 1 at most. Of other features of rows, which lie in [−1, 1], it
is assumed that the means of the rows that are taken off lie within `UNLIKE` of the others'.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from dpsql.privacy.features.chosen_end import ChosenEnd
from dpsql.privacy.features.feature import (
    ONE,
    Estimates,
    Feature,
    Number,
    Reach,
    Readout,
    Shape,
    Weights,
    count_weights,
    readable_features,
    row_count,
)
from dpsql.privacy.features.known_statistics import coordinate_weights, statistic
from dpsql.privacy.features.lattice import on_lattice
from dpsql.privacy.measurement.contribution import foreseen
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.privacy.mechanisms.law import Law, Reals
from dpsql.rewrite.translate.rows.aggregates import Moment

# How far one draw of noise reaches: quantiles of weighted sums of its coordinates.
#
# The laws are public, so nothing here costs privacy.

LEVEL = 0.95
"""The share of all releases whose error is within the margin."""
_NEGLIGIBLE, _PRODUCT = 1e-3, 1e-9
"""Weights below this share of the largest are raised to it, as are those whose product would cost the closed form its digits.

Of two weights that widens a margin by less than 1e-5 of itself, of eight by less than a hundredth.
"""
_ROUNDS, _QUANTILE_POINTS = 8, 64


def noise_quantile(law: Law, weights: Sequence[float], level: float = LEVEL) -> float:
    """Return x with P(|Σ wᵢ·zᵢ| ≤ x) = `level` at scale 1."""
    size = np.abs(np.asarray(weights, dtype=np.float64))
    largest = float(size.max(initial=0.0))
    if not largest:
        return 0.0
    least = max(_NEGLIGIBLE, _PRODUCT ** (1 / max(len(size) - 1, 1)))
    shape = np.maximum(size / largest, least)
    low, high = 0.0, law.far * len(size)
    # Each round keeps one of 64 parts: eight leave one in 2⁴⁸ of the first range. Its upper end is returned.
    for _ in range(_ROUNDS):
        grid = np.linspace(low, high, _QUANTILE_POINTS + 1)
        passed = int(np.count_nonzero(law.tail(grid[1:-1], shape) > 1 - level))
        low, high = float(grid[passed]), float(grid[passed + 1])
    return high * largest


# How far noise reaches that was drawn in several independent pieces: by convolution of their laws.
#
# Everything is rounded outwards: a margin is never too small but by
# the rounding of floating-point numbers.

_POINTS = 2**12
_SHARES = 2**9
"""Weights are rounded up to so many parts of the largest."""
_REACH = 16
"""In standard deviations; what lies beyond has a probability below e^-20 for one Laplace, and less for all else."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A weighted sum of some coordinates of one draw; weights are positive, as laws are symmetric."""

    law: Law
    weights: tuple[float, ...]
    times: int = 1
    """How many such sums there are, each of a draw of its own."""

    @property
    def variance(self) -> float:
        """Return its variance at scale 1."""
        return self.times * sum(w**2 for w in self.weights) * float(self.law.variance)


def reach(pieces: Sequence[Piece], scale: float, level: float = LEVEL) -> float:
    """Return x with P(|Σ pieces| ≤ x) = `level`, where all have noise of one scale."""
    if not pieces:
        return 0.0
    largest = max(w for piece in pieces for w in piece.weights)
    # Larger weights reach further (Anderson's inequality); few different ones are soon all known.
    shapes = (
        replace(piece, weights=tuple(math.ceil(w / largest * _SHARES) / _SHARES for w in piece.weights))
        for piece in pieces
    )
    sorted_shapes = tuple(sorted(shapes, key=lambda piece: (repr(piece.law), piece.weights)))
    return _unit_reach(sorted_shapes, level) * largest * scale


@lru_cache(maxsize=4096)
def _unit_reach(pieces: tuple[Piece, ...], level: float) -> float:
    if len(pieces) == 1 and pieces[0].times == 1:
        return noise_quantile(pieces[0].law, pieces[0].weights, level)
    step = 2 * _REACH * math.sqrt(sum(piece.variance for piece in pieces)) / _POINTS
    spectrum = np.ones(_POINTS // 2 + 1, dtype=np.complex128)
    # The transform of a sum of independent draws is the product of theirs, and of n alike a power.
    for piece, number in Counter(pieces).items():
        spectrum *= np.fft.rfft(_masses(piece, step)) ** (number * piece.times)
    law = np.fft.irfft(spectrum, _POINTS)[: _POINTS // 2]
    within = law[0] + 2 * np.cumsum(law[1:])
    first = int(np.argmax(within >= level)) + 1
    # Masses are of values rounded to whole steps: what is in a step may lie half a step further out.
    return (first + 0.5) * step


def _masses(piece: Piece, step: float) -> Reals:
    """Return the probabilities of a piece's value rounded to whole steps, those of negative ones at the end."""
    edges: Reals = np.arange(0.5, _POINTS // 2 + 1) * step
    beyond = np.clip(piece.law.tail(edges, np.array(piece.weights)), 0, 1) / 2
    positive = np.maximum(beyond[:-1] - beyond[1:], 0)
    masses = np.zeros(_POINTS)
    masses[0] = 1 - 2 * beyond[0]
    masses[1 : _POINTS // 2] = positive[:-1]
    masses[_POINTS // 2 + 1 :] = positive[:-1][::-1]
    return masses


_COUNT = Moment("count", ())
UNLIKE = 0.25
"""How far the mean of a feature over the rows that a C takes off is from its mean over the others, at most: of the range
from −1 to 1, so that for values it is an eighth of their bounds' width. With a 32nd it was not true of medical records."""
_COUNTED = frozenset({Shape.ONE, Shape.SIGN})
_LARGER = 4
"""How many times as many rows as on average a group has, in which most rows are."""

_SEEN = 0.1
"""The share of the noise from which on a margin counts what rounding may do: lattices are chosen so that it stays below."""


@dataclass(frozen=True, slots=True)
class Margins:
    """The common part of the margins of all statistics and groups of one measurement."""

    laws: tuple[tuple[Law, tuple[int, ...]], ...]
    """Of each draw: its law, and the places of its coordinates."""
    unit: float
    """The noise's scale, in rows."""
    readable: Mapping[Feature, Mapping[int, Number]]
    rounded: Mapping[Feature, float]
    """By how much, in rows, a row is off in each sum whose values are rounded, if all are to the same side."""
    rows: int
    """How many rows there are thought to be where none are counted."""
    cut: float = 0.0
    """How many rows of a group its C may take off, as far as that is known."""
    cut_of_all: float = 0.0
    """The same of all groups together."""
    missing: float | None = None
    """The share of all rows that C takes off; None where C was declared, since nobody says it then."""
    end: ChosenEnd | None = None
    """The end of the bounds of a unit's number, if C was chosen for that."""

    @classmethod
    def of(cls, measurement: Sums, cut: float = 0.0, missing: float | None = None, groups: int = 1) -> "Margins":
        """Build from a measurement, and what its C takes off all of so many groups together."""
        laws = tuple(law for block in measurement.blocks for law in mechanism(measurement.mechanism).laws(block))
        unit, readable = measurement.scale / measurement.steps_per_row, measurement.readable
        rows = foreseen(measurement.relation.expected_rows)
        of_group = cut / largest_share(groups)
        return cls(laws, unit, readable, _rounded(measurement), rows, of_group, cut, missing, measurement.end)

    def cutting(self, cut: float) -> "Margins":
        """Return those of a group of which C may take off so many rows."""
        return self if cut == self.cut else replace(self, cut=cut)

    def cut_of_groups(self, groups: int) -> float:
        """Return how many rows C may take off so many groups together, of which this is one."""
        return min(self.cut * largest_share(groups), self.cut_of_all)

    def times(self, factor: Fraction) -> "Margins":
        """Return those of so many times the noise."""
        return replace(self, unit=self.unit * float(factor))

    def half_width(self, readout: Readout, estimates: Estimates, level: float = LEVEL) -> float | None:
        """Return half the width of the interval in which the statistic lies with `level`; None where nothing can be said.

        It covers the clamped, bounded relation, not the bias of clamping.
        """
        readout, estimates = self.own(readout, estimates)
        return statistic(readout.moment.name).half_width(readout, estimates, self.reached(estimates, level))

    def spread(self, readout: Readout, estimates: Estimates, level: float) -> float | None:
        """Return how far noise moves the statistic with `level`, also where part of that is outside of what is possible."""
        readout, estimates = self.own(readout, estimates)
        return statistic(readout.moment.name).spread(readout, estimates, self.reached(estimates, level))

    def own(self, readout: Readout, estimates: Estimates) -> tuple[Readout, Estimates]:
        """Return how a statistic is read: in the bounds of what was chosen, if an end of them was."""
        return (readout, estimates) if self.end is None else self.end.own(readout, estimates)

    def reached(self, estimates: Estimates, level: float = LEVEL) -> Reach:
        """Return the function to how far noise, and rounding where it is seen, moves a weighted sum of features."""
        rows = max(estimates.get(ONE, 0.0), 0.0) if ONE in estimates else self.rows

        def reached(weighted: Weights) -> float:
            wide = weighted if self.end is None else self.end.onto_wide(weighted)
            noise = self.reach(coordinate_weights(wide, self.readable), level)
            each = weighted if self.end is None else {self.end.widened(f): w for f, w in weighted.items()}
            rounding = rows * sum(abs(float(w)) * self.rounded[f] for f, w in each.items() if f in self.rounded)
            return noise + rounding if rounding > noise * _SEEN else noise

        return reached

    def shown(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the half-width at 95 % of a statistic in its shown form, which for whole numbers is rounded.

        It is of noise and of what the C takes off, as far as that is known.
        """
        width, kind = self.half_width(readout, estimates), statistic(readout.moment.name)
        if width is None:
            return None
        return math.hypot(width, self.cut_off(readout, estimates)) + kind.rounding(readout)

    def cut_off(self, readout: Readout, estimates: Estimates) -> float:
        """Return by how much a statistic may be off for the rows that its C takes off."""
        kind = statistic(readout.moment.name)
        if not self.cut:
            return 0.0
        if self.end is None and not kind.located:
            return self.cut * abs(kind.worth(readout, estimates))
        value = kind.estimate(readout, estimates)
        if value is None:
            return 0.0
        whole = (
            [self.end.with_cut(estimates, self.cut)]
            if self.end is not None
            else with_rows(readout, estimates, self.cut)
        )
        return max(abs(value - (kind.estimate(readout, sums) or value)) for sums in whole)

    def reach(self, onto: Mapping[int, Number], level: float = LEVEL) -> float:
        """Return how far the noise of a weighted sum of coordinates reaches, in rows."""
        return reach(self._drawn(onto), self.unit, level)

    def pieces(self, weighted: Weights, groups: int) -> list[Piece]:
        """Return the draws of a weighted sum of features, of each of so many groups."""
        wide = weighted if self.end is None else self.end.onto_wide(weighted)
        return self._drawn(coordinate_weights(wide, self.readable), groups)

    def _drawn(self, onto: Mapping[int, Number], groups: int = 1) -> list[Piece]:
        pieces = []
        for law, places in self.laws:
            sizes = tuple(abs(float(onto[i])) for i in places if onto.get(i))
            pieces += [Piece(law, sizes, groups)] if sizes else []
        return pieces


def with_rows(readout: Readout, estimates: Estimates, rows: float) -> Iterator[Estimates]:
    """Yield the sums if there were so many rows more, at the ends of where the means of their features may be."""
    counted = {feature: estimates[feature] + rows for feature in readout.features if feature.shape in _COUNTED}
    n, parts = max(row_count(readout, estimates), 1.0), [feature for _, feature in readout.sums]
    ends = [mean_ends(feature, estimates[feature] / n) for feature in parts]
    for means in product(*ends):
        added = {feature: estimates[feature] + rows * mean for feature, mean in zip(parts, means, strict=True)}
        yield {**estimates, **counted, **added}


def mean_ends(feature: Feature, mean: float) -> tuple[float, float]:
    """Return between what the mean of a feature lies over rows that C takes off, if over the others it is `mean`."""
    if feature.shape is Shape.SIGNED and feature.x is not None:  # a sum by itself: they may all be the largest
        interval = feature.x.interval
        size = float(interval.magnitude) or 1.0
        return min(float(interval.low) / size, 0.0), max(float(interval.high) / size, 0.0)
    mean = min(max(mean, -1.0), 1.0)
    return (-1.0, 1.0) if _is_share(feature) else (max(mean - UNLIKE, -1.0), min(mean + UNLIKE, 1.0))


def rests_on_nothing(readout: Readout) -> bool:
    """Return whether nothing is assumed of rows that are taken off: of shares they may all be the one thing or the other."""
    return all(_is_share(feature) for _, feature in readout.sums)


def _is_share(feature: Feature) -> bool:
    """Return whether a feature has one of two values, so that nothing is between them: its mean is a share of the rows."""
    return feature.shape is Shape.VALUE and feature.x is not None and feature.x.own_points == 1


def largest_share(groups: int) -> float:
    """Return how many groups there are as large as those in which most rows are."""
    return max(groups / _LARGER, 1.0)


def _rounded(measurement: Sums) -> Mapping[Feature, float]:
    """Return how far a row is off at most in each feature whose values are rounded.

    A value that is rounded by half a step of u, 1/2S, is off by that in u and by up to four times that in 2u² and in
    u·v.
    """
    rounded, points, end = dict[Feature, float](), measurement.lattice, measurement.end
    for feature in readable_features(measurement.features):
        values = [scaled for scaled in (feature.x, feature.y) if scaled is not None]
        if not all(on_lattice(feature, scaled, points) for scaled in values):
            off = (1 if feature.shape in {Shape.VALUE, Shape.SIGNED} else 4) / (2 * points)
            rounded[feature if end is None else end.widened(feature)] = off
    return rounded


def distinct_half_width(measurement: Sums, cut: float = 0.0) -> float:
    """Return the half-width at 95 % of a distinct count, a whole number like any count.

    Each pair of a unit and a group that a chosen C takes off is a unit less; values that it takes off others may have. `cut`
    is what it takes off one group.
    """
    margins = Margins.of(measurement)
    if measurement.distinct is CountOf.UNITS:
        margins = replace(margins, cut=cut)
    return margins.shown(Readout(_COUNT, ONE), {ONE: 0.0}) or 0.0


def first_width(measurement: Sums) -> float:
    """Return the half-width of the noisiest coordinate by itself, in rows."""
    margins = Margins.of(measurement)
    return max(margins.reach({block.places[0]: 1}) for block in measurement.blocks)


# Groups that may have no rows, and of which nothing is told: their noisy count is within the reach of noise alone.

MayBeEmpty = Callable[[Sequence[Mapping[Feature, float]]], bool]
"""Whether a group may be empty, by the noisy sums of each part."""

_HALF_A_ROW = 0.5
"""Less than this is no row, however little noise there is."""


def within_noise(plan: MeasurementPlan, groups: int, margins: Mapping[int, Margins] | None = None) -> float | None:
    """Return the count up to which a group may be empty, in rows; None where no count is measured.

    `margins` are those of the parts, where they are not what the measurement alone has.

    The counts of so many empty groups are all below it in 95 of 100 answers or more: each is with probability
    1 − (1 − 0.95)/groups at least, and none of it depends on data but through the released counts.
    """
    sums = None if plan.count is None or plan.count.part is None or not plan.parts else plan.parts[plan.count.part]
    if plan.count is None or not isinstance(sums, Sums):
        return None
    of_count = (margins or {}).get(plan.count.part or 0) or Margins.of(sums)
    return least_told(of_count, plan.count.readout, groups)


def is_told(margins: Margins, readout: Readout, estimates: Estimates) -> bool:
    """Return whether anything is told of where values lie: that there are rows is known with 95 %."""
    if not statistic(readout.moment.name).located:
        return True
    return row_count(readout, estimates) > margins.reached(estimates)(count_weights(readout))


def least_told(margins: Margins | None, readout: Readout, groups: int) -> float:
    """Return the noisy count above which some row is counted, in all of so many groups together with 95 %."""
    nothing = dict.fromkeys(readout.features, 0.0)
    width = None if margins is None else margins.half_width(readout, nothing, 1 - (1 - LEVEL) / max(groups, 1))
    return max(width or 0.0, _HALF_A_ROW)


def emptiness(plan: MeasurementPlan, groups: int, margins: Mapping[int, Margins] | None = None) -> MayBeEmpty:
    """Return the test of one of so many groups; where no row can be in any of them, all may be empty."""
    least, count = within_noise(plan, groups, margins), plan.count

    def may_be_empty(estimates: Sequence[Mapping[Feature, float]]) -> bool:
        if least is None or count is None or count.part is None:
            return True
        value = statistic(count.readout.moment.name).estimate(count.readout, estimates[count.part])
        return value is None or value <= least

    return may_be_empty
