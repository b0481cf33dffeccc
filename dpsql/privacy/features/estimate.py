"""Counts, means, variances and covariances from noisy features: formulas only, no data and no randomness.

With N rows, U = Σ u and Q = Σ (2u² − 1), x = m + h·u: Σ x = m·N + h·U, and Σ (x − x̄)² = h²·((Q + N)/2 − U²/N).
"""

from dataclasses import dataclass
from functools import lru_cache

from dpsql.policy.interval import Interval
from dpsql.privacy.features.gradient import count_weights
from dpsql.privacy.features.readout import FIRST, ArgumentSums, Estimates, PartialSum, Readout


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
