"""VARIANCE and STDDEV of one argument, in the population or by a sample."""

import math
from dataclasses import dataclass

from dpsql.privacy.features.estimate import mean, row_count, scale, variance
from dpsql.privacy.features.gradient import MeanAndVariance, Values, Weights, mean_weights, variance_weights
from dpsql.privacy.features.readout import FIRST, Estimates, PartialSum, Readout
from dpsql.privacy.features.statistic import Reach, Statistic

_PAIR = 1.5
"""Noisy rows from which on there are two, which a sample's variance needs."""


@dataclass(frozen=True, slots=True)
class Variance(Statistic):
    """The variance of one argument, or its root."""

    sample: bool
    root: bool = False

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return the sums of values and squares."""
        return (FIRST.value, FIRST.square)

    def estimate(self, readout: Readout, found: Estimates) -> float | None:
        """Return the noisy variance or deviation, clamped to what is possible."""
        n = row_count(readout, found)
        if n < least_rows(sample=self.sample):
            return None
        factor = n / (n - 1) if self.sample else 1
        found_variance = variance(readout, found, n) * scale(readout).half ** 2 * factor
        return math.sqrt(found_variance) if self.root else found_variance

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the variance, also for its root."""
        return variance_weights(readout, at.of(FIRST))

    def half_width(self, readout: Readout, found: Estimates, reach: Reach) -> float:
        """Return the half-width off Σ (u − μ)² − s·N at the reported μ and s."""
        n, whole = row_count(readout, found), scale(readout).half ** (1 if self.root else 2)
        if n < 1:
            return whole
        at = MeanAndVariance(mean(readout, found, n), variance(readout, found, n))
        width = reach(variance_weights(readout, at)) / n
        # The error of the mean counts by its square, which matters in small groups.
        width += (reach(mean_weights(readout, at.mean)) / n) ** 2
        return self._of_result(float(at.variance), min(width, 1.0), n) * whole

    def _of_result(self, variance: float, width: float, n: float) -> float:
        """Return the half-width for a variance or its root, of a population or a sample, from the population's."""
        factor = n / max(n - 1, 0.5) if self.sample else 1.0
        if not self.root:
            return width * factor
        low, high = math.sqrt(max(variance - width, 0.0)), math.sqrt(variance + width)
        return max(math.sqrt(variance) - low, high - math.sqrt(variance)) * math.sqrt(factor)


def least_rows(*, sample: bool) -> float:
    """Return from how many noisy rows on there is a variance or covariance."""
    return _PAIR if sample else 1
