"""From noisy features to the statistic that was asked: formulas only, no data and no randomness.

With N rows, U = Σ u and Q = Σ (2u² − 1), x = m + h·u: Σ x = m·N + h·U, and Σ (x − x̄)² = h²·((Q + N)/2 − U²/N).
"""

import math
from collections.abc import Mapping

from dpsql.privacy.features.feature import Feature, Scaled, Shape
from dpsql.privacy.features.gradient import count_weights, half, middle
from dpsql.privacy.features.statistic import Reading

Estimates = Mapping[Feature, float]


def read(reading: Reading, found: Estimates) -> float | None:
    """Return the statistic, None for NULL: ratios have no value where the noisy count is below one row."""
    name = reading.moment.name
    if name == "count":
        return count(reading, found)
    if name == "sum":
        return _sum(reading, found)
    n = count(reading, found)
    if n < (1.5 if name.endswith("_samp") else 1):
        return None
    if name == "avg":
        x, scaled = _part(reading.x, found)
        return _within(_middle(scaled) + _half(scaled) * x / n, scaled)
    if name.startswith(("covar", "corr")):
        return _of_two(reading, found, n)
    variance = _variance(reading.x, reading.xx, found, n) * (n / (n - 1) if name.endswith("_samp") else 1)
    return math.sqrt(variance) if name.startswith("stddev") else variance


def count(reading: Reading, found: Estimates) -> float:
    """Return the noisy number of rows that a statistic counts."""
    return sum(float(weight) * found[feature] for feature, weight in count_weights(reading).items())


def _sum(reading: Reading, found: Estimates) -> float:
    x, scaled = _part(reading.x, found)
    if reading.x is not None and reading.x.shape is Shape.SIGNED:
        return float(scaled.interval.magnitude) * x
    return _middle(scaled) * count(reading, found) + _half(scaled) * x


def _variance(x: Feature | None, xx: Feature | None, found: Estimates, n: float) -> float:
    """Return the population variance, clamped to what is possible: [0, h²]."""
    _, scaled = _part(x, found)
    return spread(x, xx, found, n)[1] * _half(scaled) ** 2


def spread(x: Feature | None, xx: Feature | None, found: Estimates, n: float) -> tuple[float, float]:
    """Return the mean and the variance of u, each clamped to what is possible."""
    mean = _part(x, found)[0] / n
    squares = _part(xx, found)[0] / n if xx is not None else 1.0
    return min(max(mean, -1.0), 1.0), min(max((squares + 1) / 2 - mean**2, 0.0), 1.0)


def _of_two(reading: Reading, found: Estimates, n: float) -> float | None:
    (u, x), (v, y), (p, _) = (_part(part, found) for part in (reading.x, reading.y, reading.xy))
    spread = min(max(p / n - (u / n) * (v / n), -1.0), 1.0)
    covariance = spread * _half(x) * _half(y)
    if reading.moment.name == "covar_pop":
        return covariance
    if reading.moment.name == "covar_samp":
        return covariance * n / (n - 1)
    together = _variance(reading.x, reading.xx, found, n) * _variance(reading.y, reading.yy, found, n)
    return min(max(covariance / math.sqrt(together), -1.0), 1.0) if together > 0 else None


def _part(feature: Feature | None, found: Estimates) -> tuple[float, Scaled]:
    if feature is None or feature.x is None:
        raise LookupError(feature)
    return found[feature], feature.x


def _middle(scaled: Scaled) -> float:
    return float(middle(scaled.interval))


def _half(scaled: Scaled) -> float:
    return float(half(scaled.interval))


def _within(value: float, scaled: Scaled) -> float:
    return min(max(value, float(scaled.interval.low)), float(scaled.interval.high))
