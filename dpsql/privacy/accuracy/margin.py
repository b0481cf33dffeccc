"""The half-width of the 95 % interval of one released statistic, for `dpsql.margin()`: from noisy values alone."""

import math
from collections.abc import Mapping

from dpsql.policy.model import Mechanism
from dpsql.privacy.accuracy.convolution import Piece, reach
from dpsql.privacy.features.blocks import Norm, readable
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.features.gradient import Number, Weights, half, mean_weights, scaled, weights
from dpsql.privacy.features.predict import combined
from dpsql.privacy.features.readout import count, spread
from dpsql.privacy.features.statistic import Reading
from dpsql.privacy.measurement.sums import Sums


def half_width(measurement: Sums, reading: Reading, found: Mapping[Feature, float]) -> float | None:
    """Return half the width of the interval in which the statistic lies with 95 %; None where nothing can be said.

    It covers the clamped, bounded relation, not the bias of clamping. A mean's is read off Y − θ·N at the reported θ, a
    variance's off Σ(u − m)² − V·N at the reported m and V.
    """
    name = reading.moment.name
    if name == "count":
        return _reach(measurement, weights(reading, 0.0, 0.0))
    if reading.x is None or reading.y is not None:
        return None
    if name == "sum":
        return _reach(measurement, weights(reading, 0.0, 0.0))
    unit, n = float(half(scaled(reading.x).interval)), count(reading, found)
    if n < 1:
        return unit ** (2 if name.startswith("var") else 1)
    mean, variance = spread(reading.x, reading.xx, found, n)
    width = _reach(measurement, weights(reading, mean, variance)) / n
    if name == "avg":
        return min(width, 2.0) * unit
    # The error of the mean counts by its square, which matters in small groups.
    width += (_reach(measurement, mean_weights(reading, mean)) / n) ** 2
    return _of_spread(name, variance, min(width, 1.0), n) * unit ** (2 if name.startswith("var") else 1)


def _of_spread(name: str, variance: float, width: float, n: float) -> float:
    """Return the half-width for a variance or its root, of a population or a sample."""
    factor = n / max(n - 1, 0.5) if name.endswith("_samp") else 1.0
    if name.startswith("var"):
        return width * factor
    low, high = math.sqrt(max(variance - width, 0.0)), math.sqrt(variance + width)
    return max(math.sqrt(variance) - low, high - math.sqrt(variance)) * math.sqrt(factor)


def first_width(measurement: Sums) -> float:
    """Return the half-width of the noisiest coordinate by itself, in rows."""
    return max(_pieces_reach(measurement, {block.places[0]: 1}) for block in measurement.blocks)


def _reach(measurement: Sums, weighted: Weights) -> float:
    """Return how far the noise of a weighted sum of features reaches, in rows."""
    return _pieces_reach(measurement, combined(weighted, readable(measurement.features)))


def _pieces_reach(measurement: Sums, onto: Mapping[int, Number]) -> float:
    pieces = []
    for block in measurement.blocks:
        sizes = [abs(float(onto[i])) for i in block.places if onto.get(i)]
        if measurement.mechanism is Mechanism.CUBE and block.norm is Norm.LARGEST:
            pieces += [Piece(len(block.places), tuple(sizes))] if sizes else []
        else:
            pieces += [Piece(1, (size,)) for size in sizes]
    return reach(pieces, measurement.scale / measurement.unit)
