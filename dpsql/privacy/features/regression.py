"""REGR_SXX, REGR_SYY and REGR_SXY: sums of squares and products about the means, over the rows that have both arguments.

As in PostgreSQL the dependent value y comes first: here it is FIRST, scaled to u, and x is SECOND, scaled to v.
"""

from dataclasses import dataclass

from dpsql.privacy.features.estimate import mean, row_count, scale, variance
from dpsql.privacy.features.gradient import (
    MeanAndVariance,
    Values,
    Weights,
    added,
    count_weights,
    covariance_weights,
    mean_weights,
    times,
    variance_weights,
)
from dpsql.privacy.features.pairs import both_halves, ends, reach_of_means
from dpsql.privacy.features.readout import ArgumentSums, Estimates, PartialSum, Readout
from dpsql.privacy.features.statistic import Reach, Statistic


@dataclass(frozen=True, slots=True)
class SumOfSquares(Statistic):
    """REGR_SXX, REGR_SYY: the sum of one argument's squared differences from its mean."""

    of: ArgumentSums

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return the sums of values and squares."""
        return (self.of.value, self.of.square)

    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the noisy sum, clamped to what is possible."""
        n = row_count(readout, estimates)
        return None if n < 1 else n * variance(readout, estimates, n, self.of) * scale(readout, self.of).half ** 2

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the variance, with the count's where the variance is multiplied by it."""
        own = at.of(self.of)
        return added(variance_weights(readout, own, self.of), times(count_weights(readout), own.variance))

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return the half-width off Σ (u − μ)² at the reported μ, whose own error counts by its square."""
        n, whole = row_count(readout, estimates), scale(readout, self.of).half ** 2
        if n < 1:
            return whole
        at = MeanAndVariance(mean(readout, estimates, n, self.of), variance(readout, estimates, n, self.of))
        width = reach(self.gradient(readout, Values.alike(at)))
        return (width + reach(mean_weights(readout, at.mean, self.of)) ** 2 / n) * whole


@dataclass(frozen=True, slots=True)
class SumOfProducts(Statistic):
    """REGR_SXY: the sum of the products of both arguments' differences from their means."""

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return the sums of both arguments and of their product."""
        return (PartialSum.U, PartialSum.V, PartialSum.UV)

    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the noisy sum, clamped to what is possible."""
        n = row_count(readout, estimates)
        return None if n < 1 else n * float(ends(readout, estimates, n).covariance) * both_halves(readout)

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the covariance, with the count's where the covariance is multiplied by it."""
        return added(covariance_weights(readout, at), times(count_weights(readout), at.covariance))

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return the half-width off Σ (u − μ)(v − ν) at the reported means, whose own errors count by their product."""
        n, whole = row_count(readout, estimates), both_halves(readout)
        if n < 1:
            return whole
        at = ends(readout, estimates, n)
        return (reach(self.gradient(readout, at)) + n * reach_of_means(readout, at, reach, n)) * whole
