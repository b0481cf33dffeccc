"""How a statistic answers to small changes of its features' sums: the weights of their noise in its own.

With N rows, U = Σ u, V = Σ v, Q = Σ (2u² − 1), P = Σ u·v, of means μ = U/N and ν = V/N, and the variance s of u:

    AVG       d(U/N)                 = (dU − μ·dN) / N
    VARIANCE  d((Q/N + 1)/2 − U²/N²) = (½·dQ − 2μ·dU + (μ² − s + ½)·dN) / N
    COVAR     d(P/N − U·V/N²)        = (dP − ν·dU − μ·dV + (2μν − P/N)·dN) / N
"""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.privacy.features.feature import ONE, Feature, Scaled, Shape
from dpsql.privacy.features.statistic import Reading

Number = Fraction | float
Weights = Mapping[Feature, Number]
_HALF = Fraction(1, 2)


def weights(reading: Reading, mean: Number, variance: Number) -> Weights:
    """Return the weights of the features where u has this mean and variance.

    Counts and sums are in units of their own; means, in u's units, and variances, in those of u², are times the count.
    Two columns are taken for alike and independent, and correlations for covariances.
    """
    name = reading.moment.name
    if name == "count":
        return count_weights(reading)
    x = _there(reading.x)
    interval = scaled(x).interval
    if x.shape is Shape.SIGNED:
        return {x: interval.magnitude}
    if name == "sum":
        return _added(_times(count_weights(reading), middle(interval)), {x: half(interval)})
    if name == "avg":
        return mean_weights(reading, mean)
    if reading.y is not None:
        ends = {_there(reading.xy): 1, reading.y: -mean}
        return _added(_times(count_weights(reading), mean**2), {x: -mean}, ends)
    count = _times(count_weights(reading), mean**2 - variance + _HALF)
    return _added(count, {x: -2 * mean}, {_there(reading.xx): _HALF})


def count_weights(reading: Reading) -> Weights:
    """Return the weights of the features in the number of rows that a statistic counts."""
    feature = _there(reading.count)
    if feature.shape is Shape.ONE:
        return {feature: Fraction(1)}
    return {ONE.within(feature.block): _HALF, feature: _HALF}


def mean_weights(reading: Reading, mean: Number) -> Weights:
    """Return the weights of the features in the mean of u."""
    return _added(_times(count_weights(reading), -mean), {_there(reading.x): 1})


def scaled(feature: Feature) -> Scaled:
    """Return what a feature is about."""
    if feature.x is None:
        raise LookupError(feature)
    return feature.x


def middle(interval: Interval) -> Fraction:
    """Return the middle of an interval."""
    return (interval.low + interval.high) / 2


def half(interval: Interval) -> Fraction:
    """Return half the width of an interval."""
    return interval.width / 2


def _there(feature: Feature | None) -> Feature:
    if feature is None:
        raise LookupError(feature)
    return feature


def _times(weights: Weights, factor: Number) -> Weights:
    return {feature: weight * factor for feature, weight in weights.items()}


def _added(*several: Mapping[Feature, Number]) -> Weights:
    """Return the sum; two columns may be one."""
    total: Counter[Feature] = Counter()
    for one in several:
        for feature, weight in one.items():
            total[feature] += weight  # type: ignore[assignment]  # counters count in any numbers
    return total
