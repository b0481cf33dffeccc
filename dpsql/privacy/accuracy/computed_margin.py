"""The half-width of the 95 % interval of what is computed of statistics: quotients, differences, shares of a total.

All of them are read off the same noisy sums, so that noise moves them together:

- A sum or a difference of counts and sums, and a constant times one, is itself a weighted sum of coordinates, whose noise has
  a known law: its margin is exact.
- Of a quotient a/b the interval has all r for which noise could have made a − r·b what it is (Fieller 1954, "Some problems
  in interval estimation"): exact where a and b are counts and sums. Where b may be 0 there is none but what is possible, and
  what is possible may be all: then there is none below twice the noise of b, and near that it holds more (`selected`).
- An average enters with the interval of its own, along its gradient. Differences of averages then have the interval that
  MOVER gives them (Zou and Donner 2008, "Construction of confidence limits about effect measures"), with the covariances of
  their sums by the delta method.
- A product moves by the delta method, and by the product of both reaches, which is all that this leaves out.
- The half-widths of other statistics, as variances, are added up, as if all of them were off at once.
- What C takes off is tried at its ends: all of it in each condition or in none, with small values and large.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import assert_never

from dpsql.privacy.accuracy.margin import Margins, Piece, is_told, mean_ends, reach
from dpsql.privacy.features.feature import (
    ONE,
    Estimates,
    Feature,
    Readout,
    Shape,
    Weights,
    add_weights,
    mean,
    mean_weights,
    row_count,
    scale,
    scale_weights,
)
from dpsql.privacy.features.known_statistics import ANYWHERE, Mean, Variance, inverted_width, selected, statistic
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import Possible
from dpsql.privacy.mechanisms.extreme import BEYOND
from dpsql.rewrite.ir.expr import TRUE, Expr
from dpsql.rewrite.translate.rows.computed_statistics import (
    Arithmetic,
    Formula,
    Number,
    RoundedNumber,
    StatisticRef,
    Total,
)

_MOST_ENDS = 256
"""Ways in which rows that C takes off may lie that are tried one by one."""
_INFINITE = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Peers:
    """The groups of a total: their sums, and how many others there are, by how many times the noise of this one they have."""

    sums: Estimates
    cut: float
    """How many rows C may take off all of them."""


@dataclass(frozen=True, slots=True)
class _Moved:
    """A value, and what moves it."""

    value: float
    along: Mapping[Total | None, Weights] = field(default_factory=dict)
    """How noise does: of this group's sums, and of those of each total."""
    beside: float = 0.0
    """By how much it may be off otherwise."""
    is_root: bool = False
    """Whether it is a root, whose margin is the mean of two sides: the lower one is longer."""

    @property
    def is_constant(self) -> bool:
        return not self.along and not self.beside


@dataclass(frozen=True)
class ComputedMargin:
    """One group's part of the margin of what is computed."""

    formula: Formula
    readouts: Sequence[Readout]
    margins: Margins
    estimates: Estimates
    totals: Mapping[Total, Peers] = field(default_factory=dict)
    others: Mapping[tuple[frozenset[Total], float], int] = field(default_factory=dict)
    """How many other groups are in the same totals, and have as many times the noise of this one."""
    off: Sequence[float] = ()
    """How far each statistic is shown from what is measured, at most."""

    def half_width(self) -> float | None:
        """Return it; None where nothing can be said, or double precision has no room for it."""
        try:
            return self._half_width()
        except OverflowError:
            return None

    def _half_width(self) -> float | None:
        moved = self._moved(self.formula)
        if moved is None:
            return None
        width = self._reach(moved.along) + moved.beside
        value = self._value(self.formula, self.estimates, {})
        # Noise moves a value along its gradient. What C takes off may be many rows, all of one kind: the whole formula
        # is computed again with these rows, and the largest difference counts.
        cut = [self._value(self.formula, own, sums) for own, sums in self._with_cut()]
        lost = max((abs(value - other) for other in cut if value is not None and other is not None), default=0.0)
        width = math.hypot(width, lost)
        return width if math.isfinite(width) else None

    def _moved(self, formula: Formula) -> _Moved | None:
        match formula:
            case Number():
                return _Moved(float(formula.value))
            case StatisticRef(place=place):
                return self._statistic(place)
            case Total(place=place):
                readout, sums = self.readouts[place], self.totals[formula].sums
                own, estimates = self.margins.own(readout, sums)
                kind, groups = (
                    statistic(own.moment.name),
                    1 + sum(n for (of, _), n in self.others.items() if formula in of),
                )
                return _Moved(
                    kind.estimate(own, estimates) or 0.0,
                    {formula: kind.gradient(own, ANYWHERE)},
                    self.off[place] * math.sqrt(groups),
                )
            case RoundedNumber(of=of, step=step, off=off):
                moved = self._moved(of)
                return None if moved is None else _beside(moved, float(step * off))
            case Arithmetic(operator=operator, left=one, right=other, ends=ends):
                left, right = self._moved(one), self._moved(other)
                if left is None or right is None:
                    return None
                match operator:
                    case "+":
                        return _sum(left, right, 1.0)
                    case "-":
                        return _sum(left, right, -1.0)
                    case "*":
                        return self._product(left, right)
                    case "/":
                        possible = _INFINITE if ends is None else (float(ends.low), float(ends.high))
                        return self._quotient(left, right, possible)
                assert_never(operator)
        assert_never(formula)

    def _statistic(self, place: int) -> _Moved | None:
        readout, estimates = self.margins.own(self.readouts[place], self.estimates)
        kind, off = statistic(readout.moment.name), self.off[place]
        value = kind.estimate(readout, estimates)
        if value is None or not is_told(self.margins, readout, estimates):
            return None
        if not kind.located:
            return _Moved(value, {None: kind.gradient(readout, ANYWHERE)}, off)
        width = kind.half_width(readout, estimates, self.margins.reached(estimates))
        if width is None:
            return None
        if not isinstance(kind, Mean):
            return _Moved(value, {}, width + off, isinstance(kind, Variance) and kind.root)
        n = row_count(readout, estimates)
        along = scale_weights(
            mean_weights(readout, mean(readout, estimates, n, kind.of), kind.of), scale(readout, kind.of).half / n
        )
        return _beside(self._as_far(_Moved(value, {None: along}), width), off)

    def _product(self, left: _Moved, right: _Moved) -> _Moved:
        if left.is_constant or right.is_constant:
            factor, other = (left, right) if left.is_constant else (right, left)
            return _times(other, factor.value)
        moved = _sum(_times(left, right.value), _times(right, left.value), 1.0)
        both = self._off(left) * self._off(right)
        return _Moved(left.value * right.value, moved.along, moved.beside + both)

    def _quotient(self, left: _Moved, right: _Moved, possible: tuple[float, float]) -> _Moved | None:
        if not right.value:
            return None
        if right.is_constant:
            return _times(left, 1 / right.value)
        at = left.value / right.value

        doubt, times = self._off(right) / abs(right.value), 1.0
        if possible == _INFINITE:
            # What a root is taken of has twice the doubt, as a share of itself.
            chosen = selected(2 * doubt if right.is_root else doubt)
            if chosen is None:
                return None
            # (1 − √(1 − 2·c·d)) / d, in which nothing is lost where the doubt d is next to none.
            times = 2 * chosen / (1 + math.sqrt(1 - chosen * 2 * doubt)) if right.is_root else chosen

        def reached(quotient: float) -> float:
            return times * self._off(_sum(left, right, -quotient)) / abs(right.value)

        shown = min(max(at, possible[0]), possible[1])
        if doubt >= 1:  # it may be 0: then all that is possible could be
            return _Moved(shown, {}, max(shown - possible[0], possible[1] - shown))
        # For a quotient r the noise of a − r·b counts, whose value is (at − r)·b. Divided by |b| it is compared with
        # |at − r|.
        width = inverted_width(at, reached, possible, longer=times > 1)
        return self._as_far(_times(_sum(left, right, -shown), 1 / right.value), width)

    def _as_far(self, moved: _Moved, width: float) -> _Moved:
        """Return a value that is moved as it is by noise, as far as its own interval reaches."""
        reached = self._reach(moved.along)
        if not reached:  # as 0 of a deviation is, divided by an average: no noise of sums moves it to first order
            return _Moved(moved.value, {}, width)
        along = {total: scale_weights(weights, width / reached) for total, weights in moved.along.items()}
        return _Moved(moved.value, along)

    def _off(self, moved: _Moved) -> float:
        return self._reach(moved.along) + moved.beside

    def _reach(self, along: Mapping[Total | None, Weights]) -> float:
        """Return how far noise moves a value with 95 %: that of this group, and of each other in the totals."""
        if not along:
            return 0.0
        if not all(math.isfinite(weight) for weights in along.values() for weight in weights.values()):
            return math.inf
        if along.keys() <= {None}:
            # Of a group by itself: `Margins` also counts what rounding to the lattice may do, where it is seen.
            return self.margins.reached(self.estimates)(along[None])
        # This group is in all of its totals: its noise enters them and its own sums at once, so that weights are added
        # before their reach is taken. Share of a total: what raises the part raises the whole. Other groups enter by
        # the totals alone.
        pieces = self._pieces(add_weights(*along.values()), 1, 1.0)
        for (within, noise), number in self.others.items():
            weights = [weights for total, weights in along.items() if total in within]
            pieces += self._pieces(add_weights(*weights), number, noise) if weights else []
        return reach(pieces, self.margins.unit)

    def _pieces(self, weights: Weights, number: int, noise: float) -> list[Piece]:
        return self.margins.pieces(scale_weights(weights, noise), number)

    def _value(self, formula: Formula, own: Estimates, totals: Mapping[Total, Estimates]) -> float | None:
        """Return what is computed of other sums."""
        match formula:
            case Number(value=value):
                return float(value)
            case StatisticRef(place=place):
                return self._estimate(place, own)
            case Total(place=place):
                return self._estimate(place, totals.get(formula, self.totals[formula].sums))
            case RoundedNumber(of=of):
                return self._value(of, own, totals)
            case Arithmetic(operator=operator, left=one, right=other, ends=ends):
                left, right = self._value(one, own, totals), self._value(other, own, totals)
                if left is None or right is None or (operator == "/" and not right):
                    return None
                match operator:
                    case "+":
                        return left + right
                    case "-":
                        return left - right
                    case "*":
                        return left * right
                    case "/":
                        low, high = _INFINITE if ends is None else (float(ends.low), float(ends.high))
                        return min(max(left / right, low), high)
                assert_never(operator)
        assert_never(formula)

    def _estimate(self, place: int, sums: Estimates) -> float | None:
        readout, estimates = self.margins.own(self.readouts[place], sums)
        return statistic(readout.moment.name).estimate(readout, estimates)

    @cached_property
    def _features(self) -> tuple[Feature, ...]:
        return tuple(dict.fromkeys(feature for readout in self.readouts for feature in readout.features))

    def _with_cut(self) -> Iterator[tuple[Estimates, Mapping[Total, Estimates]]]:
        """Yield the sums of this group, and of the totals, if rows counted that C may take off."""
        if self.margins.cut:
            for own in self._ends(self.estimates, self.margins.cut):
                more = {f: own[f] - self.estimates[f] for f in self._features}
                yield own, {total: {f: peers.sums[f] + more[f] for f in more} for total, peers in self.totals.items()}
        for total, peers in self.totals.items():
            for sums in self._ends(peers.sums, peers.cut) if peers.cut else ():
                yield self.estimates, {total: sums}

    def _ends(self, estimates: Estimates, rows: float) -> Iterator[Estimates]:
        """Yield the sums if there were so many rows more, of each kind of row that there may be."""
        if self.margins.end is not None:
            yield self.margins.end.with_cut(estimates, rows)
            return
        blocks = {feature.block for feature in self._features} - {None} or {None}
        for block in blocks:
            here = [feature for feature in self._features if feature.block in {None, block}]
            conditions = list(dict.fromkeys(f.where for f in here if f.shape is Shape.SIGN))
            values = [feature for feature in here if feature.shape not in {Shape.ONE, Shape.SIGN}]
            ways = list(product((False, True), repeat=len(conditions) + len(values)))
            # Each way says of every condition whether the rows that were cut off fulfil it, and of every value at which
            # end it is. Of too many, the two ends are left: nothing holds and all is small, or all holds and is large.
            for way in ways if len(ways) <= _MOST_ENDS else (ways[0], ways[-1]):
                holds = dict(zip(conditions, way, strict=False))
                high = dict(zip(values, way[len(conditions) :], strict=True))
                yield {**estimates, **{f: estimates[f] + rows * self._of_row(f, estimates, holds, high) for f in here}}

    def _of_row(
        self, feature: Feature, estimates: Estimates, holds: Mapping[Expr, bool], high: Mapping[Feature, bool]
    ) -> float:
        if feature.shape is Shape.ONE:
            return 1.0
        if feature.shape is Shape.SIGN:
            return 1.0 if holds[feature.where] else -1.0
        if feature.where != TRUE and not holds.get(feature.where, True):
            return 0.0
        rows = estimates.get(ONE.within(feature.block), 0.0)
        sign = Feature(Shape.SIGN, feature.where, block=feature.block)
        if feature.where != TRUE and sign in estimates:
            rows = (rows + estimates[sign]) / 2
        return mean_ends(feature, estimates[feature] / max(rows, 1.0))[high[feature]]


def _sum(left: _Moved, right: _Moved, factor: float) -> _Moved:
    along = dict(left.along)
    for total, weights in right.along.items():
        along[total] = (
            add_weights(along[total], scale_weights(weights, factor))
            if total in along
            else scale_weights(weights, factor)
        )
    return _Moved(left.value + factor * right.value, along, left.beside + abs(factor) * right.beside)


def _times(moved: _Moved, factor: float) -> _Moved:
    along = {total: scale_weights(weights, factor) for total, weights in moved.along.items()}
    return replace(moved, value=moved.value * factor, along=along, beside=moved.beside * abs(factor))


def _beside(moved: _Moved, more: float) -> _Moved:
    return replace(moved, beside=moved.beside + more)


# How far a chosen bucket's value may be from the quantile, or from the extreme: from what was chosen alone.

_SECOND = 10**6


def point_half_width(
    measurement: Histogram, chosen: Sequence[int], cut: float = 0.0, possible: Possible | None = None
) -> float | None:
    """Return the half-width of the 95 % interval, of dates in days, of timestamps in seconds; None where there is no point.

    An extreme may be anywhere between the bucket and its end of the interval: that a single row is there changes no answer
    by much, so that nothing narrower is true of all data. The bucket may lie beyond it by a few.

    `cut` is how many rows a C may take off. If all of these lay on one side, the rank of a quantile q would be off
    by max(q, 1 − q) times as many. The values around it are taken to be as dense as those that noise may reach.
    `possible` are the values of which one is returned. Nothing is further off than the further end of the bounds.
    """
    bucket = chosen[0]
    if bucket >= measurement.number:
        return None
    ends, point = measurement.x.interval, measurement.points[0]
    value = measurement.value(bucket) if possible is None else possible.of_bucket(measurement, bucket, point)
    if measurement.extremes:
        # points[0] is 1 of MAX and 0 of MIN: the truth may be on the far side of the bucket, up to the end of the
        # bounds.
        inside = ends.high - value if point else value - ends.low
        width = max(inside, _half_width(measurement, min(BEYOND, measurement.number - 1), bucket, possible))
    else:
        width = _half_width(measurement, chosen[1], bucket, possible) * _widened(measurement, cut)
        width = min(width, max(ends.high - value, value - ends.low))
    return float(width / (_SECOND if measurement.x.expr.type.is_moment else 1))


def _half_width(measurement: Histogram, buckets: int, at: int, possible: Possible | None) -> Fraction:
    if possible is None:
        return measurement.half_width(buckets, at)
    return possible.half_width(measurement, buckets, at, measurement.points[0])


def _widened(measurement: Histogram, cut: float) -> Fraction:
    """Return how many times as far off a point may be for what a C takes off, as by noise alone."""
    (q,) = measurement.points
    ranks = measurement.ranks(q)
    off = float(max(q, 1 - q)) * cut / ranks if ranks else 0.0
    return Fraction(math.hypot(1.0, off))
