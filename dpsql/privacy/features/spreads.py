"""VARIANCE and STDDEV of one argument, in the population or by a sample."""

import math
from dataclasses import dataclass
from typing import ClassVar

from dpsql.privacy.features.estimate import mean, row_count, scale, unclamped_variance, variance
from dpsql.privacy.features.gradient import MeanAndVariance, Values, Weights, mean_weights, variance_weights
from dpsql.privacy.features.inversion import inverted_width
from dpsql.privacy.features.readout import FIRST, Estimates, PartialSum, Readout
from dpsql.privacy.features.statistic import Reach, Statistic

_PAIR = 1.5
"""The least noisy count that is taken for two rows, which a sample's variance needs."""
_SQUARE = 0.25
"""The limit of the square of a mean's error, as a share of the square of how far it reaches."""


@dataclass(frozen=True, slots=True)
class Variance(Statistic):
    """The variance of one argument, or its root."""

    hides: ClassVar[bool] = True

    sample: bool
    root: bool = False

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return the sums of values and squares."""
        return (FIRST.value, FIRST.square)

    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the noisy variance or deviation, clamped to what is possible."""
        n = row_count(readout, estimates)
        if n < least_rows(sample=self.sample):
            return None
        factor = n / (n - 1) if self.sample else 1
        found_variance = variance(readout, estimates, n) * scale(readout).half ** 2 * factor
        return math.sqrt(found_variance) if self.root else found_variance

    def is_hidden(self, readout: Readout, estimates: Estimates) -> bool:
        """Return whether noise has made it 0: it is smaller than noise, and need not be nothing."""
        n = row_count(readout, estimates)
        return n >= least_rows(sample=self.sample) and unclamped_variance(readout, estimates, n) <= 0

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the variance, also for its root."""
        return variance_weights(readout, at.of(FIRST))

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return the half-width by inversion: for which variances s noise could have made Σ (u − μ)² − s·N what it is.

        The error of the mean μ counts by its square, which makes variances of small groups too small.
        """
        n, whole = row_count(readout, estimates), scale(readout).half ** (1 if self.root else 2)
        if n < 1:
            return whole
        mu, factor = mean(readout, estimates, n), n / max(n - 1, 0.5) if self.sample else 1.0
        less = _SQUARE * (reach(mean_weights(readout, mu)) / n) ** 2

        def reached(s: float) -> float:
            return reach(variance_weights(readout, MeanAndVariance(mu, s))) / n + less

        at, root = unclamped_variance(readout, estimates, n), math.sqrt if self.root else None
        return inverted_width(at, reached, (0.0, 1.0), root) * whole * (math.sqrt(factor) if self.root else factor)

    def spread(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return how far noise moves it, about a variance that is possible."""
        n, width = row_count(readout, estimates), self.half_width(readout, estimates, reach)
        if n < 1:
            return width
        whole, shown = scale(readout).half ** (1 if self.root else 2), math.sqrt if self.root else float
        mu, s = mean(readout, estimates, n), variance(readout, estimates, n)
        further = s + reach(variance_weights(readout, MeanAndVariance(mu, s))) / n
        return max(width, (shown(further) - shown(s)) * whole)

    def deviation(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return how far noise moves it where it seems to be."""
        n = row_count(readout, estimates)
        if n < least_rows(sample=self.sample):
            return None
        whole, shown = scale(readout).half ** (1 if self.root else 2), math.sqrt if self.root else float
        mu, s = mean(readout, estimates, n), variance(readout, estimates, n)
        further = s + reach(variance_weights(readout, MeanAndVariance(mu, s))) / n
        return (shown(further) - shown(s)) * whole


def least_rows(*, sample: bool) -> float:
    """Return from how many noisy rows on there is a variance or covariance."""
    return _PAIR if sample else 1
