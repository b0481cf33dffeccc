"""The features' sums that a statistic is read off."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from dpsql.errors import InternalError
from dpsql.frozen import quickly_made
from dpsql.policy.interval import Interval
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
    if feature.shape is Shape.ONE:
        return {feature: _WHOLE}
    return {ONE.within(feature.block): _HALF, feature: _HALF}


def mean_weights(readout: Readout, mean: Number, argument: ArgumentSums = FIRST) -> Weights:
    """Return the weights of the features in the mean of u, or of v."""
    return added(times(count_weights(readout), -mean), {readout.at(argument.value): 1})


def variance_weights(readout: Readout, at: MeanAndVariance, argument: ArgumentSums = FIRST) -> Weights:
    """Return the weights of the features in the variance of u, or of v."""
    count = times(count_weights(readout), at.mean**2 - at.variance + _HALF)
    return added(count, {readout.at(argument.value): -2 * at.mean}, {readout.at(argument.square): _HALF})


def covariance_weights(readout: Readout, at: Values) -> Weights:
    """Return the weights of the features in the covariance of u and v."""
    mu, nu = at.of(FIRST).mean, at.of(SECOND).mean
    ends = {readout.at(PartialSum.UV): 1, readout.at(PartialSum.V): -mu}
    return added(times(count_weights(readout), mu * nu - at.covariance), {readout.at(PartialSum.U): -nu}, ends)


def times(weights: Weights, factor: Number) -> Weights:
    """Return the weights multiplied by a number."""
    return {feature: weight * factor for feature, weight in weights.items()}


def added(*several: Weights) -> Weights:
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
    return min(max(value, least), 1.0)
