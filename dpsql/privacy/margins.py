"""The half-width of the 95 % interval of one released statistic, for `dpsql.margin()`: from noisy values alone."""

from collections.abc import Mapping

import numpy as np

from dpsql.policy.model import Mechanism
from dpsql.privacy.feature import Feature, Shape
from dpsql.privacy.law import Cube, Laplaces, Noise
from dpsql.privacy.law import half_width as law_half_width
from dpsql.privacy.reading import count
from dpsql.privacy.statistics import Reading, half, middle
from dpsql.privacy.sums import Sums

_ONE = Feature(Shape.ONE)


def half_width(measurement: Sums, reading: Reading, found: Mapping[Feature, float]) -> float | None:
    """Return half the width of the interval in which the statistic lies with 95 %; None where nothing can be said.

    It covers the clamped, bounded relation, not the bias of clamping. A mean's is read off Y − θ·N at the reported θ.
    """
    law = noise(measurement)
    weights = dict.fromkeys(measurement.features, 0.0)
    name = reading.moment.name
    if name == "count":
        return float(law_half_width(law, _row(_count(reading, weights))))
    x = reading.x
    if x is None or x.x is None or name not in {"sum", "avg"}:
        return None
    if x.shape is Shape.SIGNED:
        weights[x] = float(x.x.interval.magnitude)
        return float(law_half_width(law, _row(weights)))
    if name == "sum":
        counted = _count(reading, weights, float(middle(x.x.interval)))
        counted[x] += float(half(x.x.interval))
        return float(law_half_width(law, _row(counted)))
    n = count(reading, found)
    if n < 1:
        return float(half(x.x.interval))
    counted = _count(reading, weights, -min(max(found[x] / n, -1.0), 1.0))
    counted[x] += 1.0
    return min(float(law_half_width(law, _row(counted))) / n, 2.0) * float(half(x.x.interval))


def noise(measurement: Sums) -> Noise:
    """Return the law of the measurement's noise, in rows."""
    scale = measurement.scale / measurement.unit
    d = len(measurement.features)
    return Cube(d, scale) if measurement.mechanism is Mechanism.CUBE else Laplaces((scale,) * d)


def _count(reading: Reading, weights: dict[Feature, float], factor: float = 1.0) -> dict[Feature, float]:
    """Add the weights of a statistic's count."""
    added = dict(weights)
    if reading.count is None or reading.count.shape is Shape.ONE:
        added[_ONE] += factor
    else:
        added[_ONE] += factor / 2
        added[reading.count] += factor / 2
    return added


def _row(weights: Mapping[Feature, float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array(list(weights.values()), dtype=np.float64)
