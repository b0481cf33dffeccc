"""COVAR and CORR: how two arguments vary together, over the rows that have both."""

import math
from dataclasses import dataclass

from dpsql.privacy.features.estimate import count, covariance, scale, variance
from dpsql.privacy.features.gradient import Values, Weights, covariance_weights
from dpsql.privacy.features.readout import FIRST, SECOND, Estimates, Part, Readout
from dpsql.privacy.features.statistic import Reach, Statistic
from dpsql.privacy.features.variances import least_rows


@dataclass(frozen=True, slots=True)
class Covariance(Statistic):
    """The covariance in the population or by a sample."""

    sample: bool

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the sums of both arguments and of their product."""
        return (Part.U, Part.V, Part.UV)

    def estimate(self, readout: Readout, found: Estimates) -> float | None:
        """Return the noisy covariance, clamped to what is possible."""
        n = count(readout, found)
        if n < least_rows(sample=self.sample):
            return None
        factor = n / (n - 1) if self.sample else 1
        return covariance(readout, found, n) * scale(readout, FIRST).half * scale(readout, SECOND).half * factor

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the covariance."""
        return covariance_weights(readout, at)

    def half_width(self, readout: Readout, found: Estimates, reach: Reach) -> None:
        """Say nothing."""
        _ = readout, found, reach


@dataclass(frozen=True, slots=True)
class Correlation(Statistic):
    """The coefficient of correlation; NULL where an argument does not vary."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return all sums."""
        return tuple(Part)

    def estimate(self, readout: Readout, found: Estimates) -> float | None:
        """Return the noisy coefficient, clamped to what is possible."""
        n = count(readout, found)
        if n < least_rows(sample=False):
            return None
        units = scale(readout, FIRST).half * scale(readout, SECOND).half
        together = variance(readout, found, n, FIRST) * variance(readout, found, n, SECOND) * units**2
        found_covariance = covariance(readout, found, n) * units
        return min(max(found_covariance / math.sqrt(together), -1.0), 1.0) if together > 0 else None

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the covariance, which are those of the coefficient where there is no correlation."""
        return covariance_weights(readout, at)

    def half_width(self, readout: Readout, found: Estimates, reach: Reach) -> None:
        """Say nothing."""
        _ = readout, found, reach
