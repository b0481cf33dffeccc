"""How a statistic moves with small changes of its features' sums: the weights with which their noise enters its own.

With N rows, U = Σ u, V = Σ v, Q = Σ (2u² − 1), P = Σ u·v, of means μ = U/N and ν = V/N, the variance s of u and the
covariance c:

    AVG       d(U/N)                 = (dU − μ·dN) / N
    VARIANCE  d((Q/N + 1)/2 − U²/N²) = (½·dQ − 2μ·dU + (μ² − s + ½)·dN) / N
    COVAR     d(P/N − U·V/N²)        = (dP − ν·dU − μ·dV + (μν − c)·dN) / N

Weights here are N times these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.privacy.features.feature import ONE, Feature, Shape
from dpsql.privacy.features.readout import FIRST, SECOND, ArgumentSums, PartialSum, Readout

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
