"""Statistics of one row: numbers in [−1, 1], on an integer lattice, whose sums are all that is ever measured.

Every feature of a row lies in [−1, 1] for all contents of the row, so the vector of d features lies in the cube [−1,
1]^d: the claim on which the sensitivity rests (Hardt and Talwar, STOC 2010, with the cube as the ball of the norm).
The three cells of a value are otherwise: they are shares of the row, never negative, and add up to one.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from dpsql.errors import InternalError
from dpsql.frozen import HashedOnce, ShownOnce, hashed_once, quickly_made, shown_once
from dpsql.policy.interval import Interval
from dpsql.privacy.mechanisms.block import Block, Norm
from dpsql.rewrite.ir.expr import TRUE, Expr
from dpsql.rewrite.translate.rows.aggregates import Moment


class Shape(Enum):
    """How a feature is made of a row; u(x) = 2(x − L)/(U − L) − 1, and 0 where x is NULL or the condition fails.

    In the cells t = (u + 1)/2: the three Bernstein polynomials of degree 2.
    """

    # Why all are in [−1, 1]: then one row moves each coordinate by 1 at most, and one scale of noise is right for all
    # of them. A mean of fares is read off two: Σ u of the fares brought to [−1, 1], and the count.
    ONE = "1"
    SIGN = "2·1[condition] − 1"
    VALUE = "u(x)"
    SIGNED = "x / max(|L|, |U|)"
    SQUARE = "2·u(x)² − 1[condition]"
    PRODUCT = "u(x)·u(y)"
    LOW = "(1 − t)²"
    BETWEEN = "2t(1 − t)"
    HIGH = "t²"


# The three are never negative and add up to 1, so that a row's sum over them is 1 and not 3: the total is the norm that
# they are small in. Count, mean and variance are all sums of them.
CELLS = (Shape.LOW, Shape.BETWEEN, Shape.HIGH)


@hashed_once
@quickly_made
@dataclass(frozen=True, slots=True)
class ScaledExpr(HashedOnce):
    """An expression with the interval that its values are clamped to."""

    expr: Expr
    interval: Interval
    step: Fraction | None = None
    """All values are whole multiples of it, and both ends of the interval; any other value counts as the nearest."""

    @property
    def own_points(self) -> int:
        """Return how many steps there are from end to end; 0 where there is no step."""
        return int(self.interval.width / self.step) if self.step else 0


@shown_once
@hashed_once
@quickly_made
@dataclass(frozen=True, slots=True)
class Feature(ShownOnce):
    """One coordinate of a row's vector."""

    shape: Shape
    where: Expr = TRUE
    """The condition of the rows that it counts; TRUE is all of them."""
    x: ScaledExpr | None = None
    y: ScaledExpr | None = None
    block: int | None = None
    """The block whose rows it is about; None for all rows."""

    def within(self, block: int | None) -> "Feature":
        """Return the same feature of one block's rows, or of all."""
        return self if block == self.block else Feature(self.shape, self.where, self.x, self.y, block)


ONE = Feature(Shape.ONE)


# The features' sums that a statistic is read off.

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

    def scaled(self, argument: ArgumentSums) -> ScaledExpr:
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


# How a statistic moves with small changes of its features' sums: the weights with which their noise enters its own.
#
# With N rows, U = Σ u, V = Σ v, Q = Σ (2u² − 1), P = Σ u·v, of means μ = U/N and ν = V/N, the variance s of u and the
# covariance c:
#
#     AVG       d(U/N)                 = (dU − μ·dN) / N
#     VARIANCE  d((Q/N + 1)/2 − U²/N²) = (½·dQ − 2μ·dU + (μ² − s + ½)·dN) / N
#     COVAR     d(P/N − U·V/N²)        = (dP − ν·dU − μ·dV + (μν − c)·dN) / N
#
# Weights here are N times these.

Number = Fraction | float
Weights = Mapping[Feature, Number]
_WHOLE, _HALF = Fraction(1), Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class MeanAndVariance:
    """Where the values of one argument lie in [−1, 1]."""

    mean: Number
    variance: Number


@dataclass(frozen=True, slots=True)
class Values:
    """Where the values of a statistic's arguments lie."""

    first: MeanAndVariance
    second: MeanAndVariance
    covariance: Number = 0

    @classmethod
    def alike(cls, place: MeanAndVariance) -> "Values":
        """Build for arguments with one law that are independent."""
        return cls(place, place)

    def of(self, argument: ArgumentSums) -> MeanAndVariance:
        """Return where the values of one argument lie."""
        return self.first if argument == FIRST else self.second


def count_weights(readout: Readout) -> Weights:
    """Return the weights of the features in the number of rows that a statistic counts."""
    feature = readout.count
    if feature is None:
        raise InternalError
    # SIGN is 2·[condition] − 1, which uses all of [−1, 1] where a plain [condition] would use half: the number of rows
    # for which it holds is (all + Σ SIGN)/2.
    if feature.shape is Shape.ONE:
        return {feature: _WHOLE}
    return {ONE.within(feature.block): _HALF, feature: _HALF}


def mean_weights(readout: Readout, mean: Number, argument: ArgumentSums = FIRST) -> Weights:
    """Return the weights of the features in the mean of u, or of v."""
    return add_weights(scale_weights(count_weights(readout), -mean), {readout.at(argument.value): 1})


def variance_weights(readout: Readout, at: MeanAndVariance, argument: ArgumentSums = FIRST) -> Weights:
    """Return the weights of the features in the variance of u, or of v."""
    # The line VARIANCE above, times N.
    count = scale_weights(count_weights(readout), at.mean**2 - at.variance + _HALF)
    return add_weights(count, {readout.at(argument.value): -2 * at.mean}, {readout.at(argument.square): _HALF})


def covariance_weights(readout: Readout, at: Values) -> Weights:
    """Return the weights of the features in the covariance of u and v."""
    mu, nu = at.of(FIRST).mean, at.of(SECOND).mean
    ends = {readout.at(PartialSum.UV): 1, readout.at(PartialSum.V): -mu}
    return add_weights(
        scale_weights(count_weights(readout), mu * nu - at.covariance), {readout.at(PartialSum.U): -nu}, ends
    )


def scale_weights(weights: Weights, factor: Number) -> Weights:
    """Return the weights multiplied by a number."""
    return {feature: weight * factor for feature, weight in weights.items()}


def add_weights(*several: Weights) -> Weights:
    """Return the sum of weights; two arguments may be one."""
    total: dict[Feature, Number] = {}
    for weights in several:
        for feature, weight in weights.items():
            total[feature] = total[feature] + weight if feature in total else weight
    return total


# Counts, means, variances and covariances from noisy features: formulas only, no data and no randomness.
#
# With N rows, U = Σ u and Q = Σ (2u² − 1), x = m + h·u: Σ x = m·N + h·U, and Σ (x − x̄)² = h²·((Q + N)/2 − U²/N).


@dataclass(frozen=True, slots=True)
class Scale:
    """How an argument's values come from u: x = middle + half·u."""

    middle: float
    half: float
    size: float
    """The largest of them, without its sign."""

    @classmethod
    def of(cls, interval: Interval) -> "Scale":
        """Build from the interval that values are clamped to."""
        return cls(float(interval.middle), float(interval.half), float(interval.magnitude))


def scale(readout: Readout, argument: ArgumentSums = FIRST) -> Scale:
    """Return how the values of an argument come from u."""
    return _scale(readout.scaled(argument).interval)


@lru_cache(maxsize=256)  # each statistic of each group asks
def _scale(interval: Interval) -> Scale:
    return Scale.of(interval)


def row_count(readout: Readout, estimates: Estimates) -> float:
    """Return the noisy number of rows that a statistic counts."""
    return sum(float(weight) * estimates[feature] for feature, weight in count_weights(readout).items())


def mean(readout: Readout, estimates: Estimates, n: float, argument: ArgumentSums = FIRST) -> float:
    """Return the mean of u, clamped to what is possible."""
    return _clamped(unclamped_mean(readout, estimates, n, argument), -1.0)


def unclamped_mean(readout: Readout, estimates: Estimates, n: float, argument: ArgumentSums = FIRST) -> float:
    """Return the mean of u as the noisy sums have it."""
    return estimates[readout.at(argument.value)] / n


def variance(readout: Readout, estimates: Estimates, n: float, argument: ArgumentSums = FIRST) -> float:
    """Return the variance of u in the population, clamped to what is possible."""
    return _clamped(unclamped_variance(readout, estimates, n, argument), 0.0)


def unclamped_variance(readout: Readout, estimates: Estimates, n: float, argument: ArgumentSums = FIRST) -> float:
    """Return the variance of u in the population as the noisy sums have it."""
    return (estimates[readout.at(argument.square)] / n + 1) / 2 - unclamped_mean(readout, estimates, n, argument) ** 2


def covariance(readout: Readout, estimates: Estimates, n: float) -> float:
    """Return the covariance of u and v in the population, clamped to what is possible."""
    u, v, uv = (estimates[readout.at(part)] / n for part in (PartialSum.U, PartialSum.V, PartialSum.UV))
    return _clamped(uv - u * v, -1.0)


def _clamped(value: float, least: float) -> float:
    # To clamp a released value is post-processing: it can take an impossible value away, and reveals nothing.
    return min(max(value, least), 1.0)


# The record of a statistic that is read off noisy sums: the one place that has all of it.
#
# A new statistic is a name in `rewrite/syntax/named/aggregate_names.py`, a class in `known_statistics.py`, and its line in
# the table there, without which nothing type-checks.

Reach = Callable[[Weights], float]
"""Returns how far the noise of a weighted sum of features reaches in 95 % of all releases, in rows."""


class Statistic(ABC):
    """One statistic, or several that differ by little."""

    counts: ClassVar[bool] = False
    """Whether it is a number of rows: 0 of none, never negative, and the same wherever the values lie."""
    hides: ClassVar[bool] = False
    """Whether noise may put it at an end of its range, where it looks like an answer."""
    adds_up: ClassVar[bool] = False
    """Whether it is a sum of its argument: a row of 0 is as good as none, and the noise is the same wherever values lie."""

    @property
    @abstractmethod
    def parts(self) -> tuple[PartialSum, ...]:
        """Return the sums that it is read off, besides the count of its rows."""

    @abstractmethod
    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the statistic, None for NULL: ratios have no value where the noisy count is below one row."""

    @abstractmethod
    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the features' noise in its own, as means and variances times the count.

        Units do not matter, as long as they are the same for all ways to measure it.
        """

    @abstractmethod
    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return half the width of the interval in which it lies with 95 %; None where nothing can be said.

        It covers the clamped, bounded relation, not the bias of clamping.
        """

    def spread(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return how far noise moves it, as the half-width says unless that is cut off by what is possible.

        A mean that noise has made less than its bound is known to be near the bound, and its margin is short; how far it
        would be off with other noise is not.
        """
        return self.half_width(readout, estimates, reach)

    def deviation(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return about how far noise moves it, by how far that of sums deviates; None where nothing can be said."""
        return self.spread(readout, estimates, reach)

    def widest(self, readout: Readout) -> float:
        """Return how far apart two values of it may be."""
        _ = readout
        return math.inf

    def is_hidden(self, readout: Readout, estimates: Estimates) -> bool:
        """Return whether what is shown is where noise has put it at the end of what is possible, and says nothing else."""
        _ = readout, estimates
        return False

    def worth(self, readout: Readout, estimates: Estimates) -> float:
        """Return by how much it is less for each row that does not count, where it adds up over rows."""
        _ = readout, estimates
        return 0.0

    def rounding(self, readout: Readout) -> float:
        """Return how far it is off at most by the type that it is shown in; 0 for all but whole numbers."""
        _ = readout
        return 0.0

    def typical(self, readout: Readout, rows: float) -> float | None:
        """Return the size that it would have for values in the middle of their interval; None where none can be said."""
        _ = readout, rows
        return None

    def clamped(self, readout: Readout, value: float) -> float:
        """Return a value inside what is possible, for roles that want no negative counts and accept the bias."""
        _ = readout
        return value

    @property
    def located(self) -> bool:
        """Return whether its noise depends on where the values lie."""
        return not (self.counts or self.adds_up)


# How the coordinates of a measurement hang together: blocks, the norm of each, and what can be read off them.
#
# A row lies in one block of its group and moves that block's coordinates alone. So the norm of the whole is the sum of the
# blocks' norms, and each block's noise is drawn by itself, for no more coordinates than the block has.

Combination = Mapping[int, Number]
"""Places of coordinates, and how many times each is to be taken."""

# In a cube of d coordinates each has a variance of (d + 1)(d + 2)/3 · t², t being the scale: of 40 each has 17 times the
# deviation of one by itself, where noise of its own for each part of ε would have 40 times.
MOST_FEATURES, _MOST_IN_BLOCKS = 40, 400
"""How many coordinates one block may have, and all of them together."""


def limit_passed(features: Sequence[Feature]) -> int | None:
    """Return which limit features pass, of those in one cube or of all; None if they keep to both."""
    if len(features) <= MOST_FEATURES:
        return None
    if max((len(block.places) for block in blocks(tuple(features))), default=0) > MOST_FEATURES:
        return MOST_FEATURES
    return _MOST_IN_BLOCKS if len(features) > _MOST_IN_BLOCKS else None


@lru_cache(maxsize=1024)
def blocks(features: tuple[Feature, ...]) -> tuple[Block, ...]:
    """Return the blocks of a measurement, in the order in which they first occur.

    The sum of coordinates is a norm in which a row is small only for the three cells of one value over the same rows:
    any other block with cells is a mistake.
    """
    places: dict[int | None, list[int]] = {}
    for place, feature in enumerate(features):
        places.setdefault(feature.block, []).append(place)
    return tuple(Block(tuple(at), _norm([features[i] for i in at])) for at in places.values())


def _norm(features: Sequence[Feature]) -> Norm:
    if not any(feature.shape in CELLS for feature in features):
        return Norm.LARGEST
    first = features[0]
    if first.x is None or tuple(features) != cells(first.x, first.block):
        raise InternalError
    return Norm.TOTAL


def weighed_by_value(features: Sequence[Feature]) -> frozenset[Feature]:
    """Return the features whose rows may be weighed by what they add to them: sums from 0, for which a row of 0 is no row."""
    return frozenset(feature for feature in features if feature.shape is Shape.SIGNED)


def cells(x: ScaledExpr, block: int | None = None) -> tuple[Feature, ...]:
    """Return the three cells of a value."""
    return tuple(Feature(shape, x=x, block=block) for shape in CELLS)


def readable_features(features: Sequence[Feature]) -> Mapping[Feature, Combination]:
    """Return every feature whose sum is a sum of coordinates: measured ones, those in cells, and those of all blocks.

    With the cells c₀, c₁, c₂ of t = (u + 1)/2: 1 = c₀ + c₁ + c₂, u = c₂ − c₀ and 2u² − 1 = c₀ − 3·c₁ + c₂.
    """
    return _readable(tuple(features))


@lru_cache(maxsize=32)  # each statistic of a measurement asks, and there may be hundreds
def _readable(features: tuple[Feature, ...]) -> Mapping[Feature, Combination]:
    each = [_of_block(features, block) for block in blocks(features)]
    combined = {feature: combination for combinations in each for feature, combination in combinations.items()}
    if len(each) > 1:
        for feature in each[0]:
            parts = [
                {f.within(None): c for f, c in combinations.items()}.get(feature.within(None)) for combinations in each
            ]
            if all(parts):
                combined[feature.within(None)] = {i: n for part in parts if part for i, n in part.items()}
    return combined


def _of_block(features: Sequence[Feature], block: Block) -> Mapping[Feature, Combination]:
    if block.norm is Norm.LARGEST:
        return {features[i]: {i: 1} for i in block.places}
    low, between, high = block.places
    first = features[low]
    return {
        ONE.within(first.block): {low: 1, between: 1, high: 1},
        Feature(Shape.VALUE, x=first.x, block=first.block): {low: -1, high: 1},
        Feature(Shape.SQUARE, x=first.x, block=first.block): {low: 1, between: -3, high: 1},
    }
