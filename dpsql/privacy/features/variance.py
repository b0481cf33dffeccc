"""How noisy the statistics of a design will be, from the statement alone: what designs are compared by.

One measure for all: the logarithm of a statistic's variance, added up over the statistics, so that no unit of any of them
matters; for means and variances averaged over where in their bounds the values could lie (`_CASES`). To the variance of
counts and sums is added the square of what weights are expected to take off them, where the design lets them.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpsql.policy.model import MechanismName
from dpsql.privacy.features.feature import (
    Combination,
    Feature,
    MeanAndVariance,
    Number,
    Readout,
    Values,
    Weights,
    blocks,
    readable_features,
    weighed_by_value,
)
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.mechanisms.known_mechanisms import mechanism

_MEANS = (Fraction(12, 13), Fraction(5, 13))
_CASES = tuple(Values.alike(MeanAndVariance(sign * mean, (1 - mean**2) / 8)) for mean in _MEANS for sign in (-1, 1))
"""Means of u in [−1, 1], each equally likely, and the variance beside it.

Nothing is known of the mean's place t in the bounds, so it has Jeffreys' prior for a share, the arcsine law: four equally
likely values, sin²(kπ/16) for k = 1, 3, 5, 7, are the middles of its quarters (5/13 and 12/13 in u, to 1 part in 200). It
favours the ends, as bounds do that are to cut off nothing: most values are then near one of them. The same bounds make the
variance small: an eighth of the most that a mean allows, 1 − μ² (an exponential law with its mean at a tenth has a ninth).

So of one column's variance the cube has (20/3)·E[¼ + 4μ² + (μ² − s + ½)²]/16 and the cells 2·[a² + (a − t)² + (a + 1 − 2t)²],
a = 2t² − E t², in units of b²·(U − L)⁴/N²: in the outer quarters of the bounds the cells' is less, elsewhere more.
"""
_LEAST = Fraction(1, 10**12)
_NOTHING = Fraction(0)


def predicted(
    features: Sequence[Feature], readouts: Sequence[Readout], name: MechanismName, loss: Fraction = _NOTHING
) -> tuple[Fraction, int]:
    """Return what is to be least: the exponential of the sum of logarithms, exactly; then the number of features.

    `loss` is the number of rows, in units of b, that weights by the number of rows take off.
    """
    variances, read = coordinate_variances(features, name), readable_features(features)
    numerator, denominator = 1, 1
    for readout in readouts:
        kind, lost = statistic(readout.moment.name), _lost(readout, loss)
        cases, times = (_CASES, 1) if kind.located else (_CASES[:1], len(_CASES))
        for case in cases:
            noise = spread(kind.gradient(readout, case), read, variances)
            a, b = (noise + lost**2 if lost else noise).as_integer_ratio()
            if a * _LEAST.denominator < b:
                a, b = 1, _LEAST.denominator
            numerator, denominator = numerator * a**times, denominator * b**times
    return Fraction(numerator, denominator), len(features)


def _lost(readout: Readout, loss: Fraction) -> Fraction:
    """Return what rows that are left out take off a count or a sum.

    A mean or a spread loses next to nothing by them, nor does a sum whose rows have weights of their own.
    """
    kind, spared = statistic(readout.moment.name), weighed_by_value(readout.features)
    if kind.located or not loss or spared.issuperset(readout.features):
        return _NOTHING
    return loss * Fraction(kind.typical(readout, 1) or 0)


def spread(weighted: Weights, read: Mapping[Feature, Combination], variances: Sequence[Fraction]) -> Fraction:
    """Return the variance of a weighted sum of features; coordinates are uncorrelated, by either law."""
    numerator, denominator = 0, 1  # a fraction would look for common factors with every term
    for place, weight in combined(weighted, read).items():
        if weight:  # most are 0, of what does not move a statistic
            (a, b), (c, d) = weight.as_integer_ratio(), variances[place].as_integer_ratio()
            each = b * b * d
            common = denominator if each == denominator else math.lcm(denominator, each)
            numerator = numerator * (common // denominator) + a * a * c * (common // each)
            denominator = common
    return Fraction(numerator, denominator)


def combined(weighted: Weights, read: Mapping[Feature, Mapping[int, Number]]) -> Mapping[int, Number]:
    """Return the weights of the coordinates, by place, in a weighted sum of features."""
    onto: dict[int, Number] = {}
    for feature, weight in weighted.items():
        for place, times in read[feature].items():
            share = weight if times == 1 else weight * times
            onto[place] = onto[place] + share if place in onto else share
    return onto


def coordinate_variances(features: Sequence[Feature], name: MechanismName) -> list[Fraction]:
    """Return the variance of the noise of every coordinate, in units of b² = (C/ε)²."""
    variances = [Fraction(0)] * len(features)
    together = blocks(features)
    for block in together:
        for place in block.places:
            variances[place] = mechanism(name).variance(block, together)
    return variances


def noise_ratio(variance: Fraction) -> Fraction:
    """Return how many times the noise of a lone count a variance is, a little more rather than less."""
    return Fraction(math.isqrt(math.ceil(variance * 10**12 / 2)) + 1, 10**6)
