"""COVAR and CORR: how two arguments vary together, over the rows that have both."""

import math
from dataclasses import dataclass

from dpsql.privacy.features.estimate import covariance, mean, row_count, scale, variance
from dpsql.privacy.features.gradient import (
    MeanAndVariance,
    Values,
    Weights,
    added,
    covariance_weights,
    mean_weights,
    times,
    variance_weights,
)
from dpsql.privacy.features.readout import FIRST, SECOND, Estimates, PartialSum, Readout
from dpsql.privacy.features.spreads import least_rows
from dpsql.privacy.features.statistic import Reach, Statistic


def both_halves(readout: Readout) -> float:
    """Return the unit of products of u and v."""
    return scale(readout, FIRST).half * scale(readout, SECOND).half


def ends(readout: Readout, estimates: Estimates, n: float) -> Values:
    """Return the means and the covariance; variances, for which squares would be needed, are left at 0."""
    first, second = (MeanAndVariance(mean(readout, estimates, n, argument), 0.0) for argument in (FIRST, SECOND))
    return Values(first, second, covariance(readout, estimates, n))


def both_places(readout: Readout, estimates: Estimates, n: float) -> Values:
    """Return where the values of both arguments lie, by all noisy sums."""
    first, second = (
        MeanAndVariance(mean(readout, estimates, n, argument), variance(readout, estimates, n, argument))
        for argument in (FIRST, SECOND)
    )
    return Values(first, second, covariance(readout, estimates, n))


def coefficient(at: Values) -> float | None:
    """Return the coefficient of correlation; None where an argument does not vary."""
    together = float(at.first.variance) * float(at.second.variance)
    return min(max(float(at.covariance) / math.sqrt(together), -1.0), 1.0) if together > 0 else None


def reach_of_means(readout: Readout, at: Values, reach: Reach, n: float) -> float:
    """Return how far the errors of both means reach in a covariance: by their product, which matters in small groups."""
    first, second = (mean_weights(readout, at.of(argument).mean, argument) for argument in (FIRST, SECOND))
    return reach(first) / n * reach(second) / n


@dataclass(frozen=True, slots=True)
class Covariance(Statistic):
    """The covariance in the population or by a sample."""

    sample: bool

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return the sums of both arguments and of their product."""
        return (PartialSum.U, PartialSum.V, PartialSum.UV)

    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the noisy covariance, clamped to what is possible."""
        n = row_count(readout, estimates)
        if n < least_rows(sample=self.sample):
            return None
        factor = n / (n - 1) if self.sample else 1
        return covariance(readout, estimates, n) * both_halves(readout) * factor

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the covariance."""
        return covariance_weights(readout, at)

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return the half-width off Σ (u − μ)(v − ν) − c·N at the reported μ, ν and c."""
        n, whole = row_count(readout, estimates), both_halves(readout)
        if n < 1:
            return whole
        at = ends(readout, estimates, n)
        width = reach(covariance_weights(readout, at)) / n + reach_of_means(readout, at, reach, n)
        return min(width, 2.0) * whole * (n / max(n - 1, 0.5) if self.sample else 1.0)


@dataclass(frozen=True, slots=True)
class Correlation(Statistic):
    """The coefficient of correlation; NULL where an argument does not vary."""

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return all sums."""
        return tuple(PartialSum)

    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the noisy coefficient, clamped to what is possible."""
        n = row_count(readout, estimates)
        if n < least_rows(sample=False) or not both_halves(readout):
            return None
        return coefficient(both_places(readout, estimates, n))

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the covariance, which are those of the coefficient where there is no correlation."""
        return covariance_weights(readout, at)

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return the half-width off the derivative at the reported values, dc/√(s·t) − ½·r·(ds/s + dt/t).

        Where noise alone could make the variances s and t what they are it is all that a coefficient can be off.
        """
        n = row_count(readout, estimates)
        at = both_places(readout, estimates, n) if n >= 1 else None
        r = None if at is None else coefficient(at)
        if at is None or r is None:
            return 2.0
        s, t = float(at.first.variance), float(at.second.variance)
        spreads = [variance_weights(readout, at.first, FIRST), variance_weights(readout, at.second, SECOND)]
        if any(reach(weights) / n >= own for weights, own in zip(spreads, (s, t), strict=True)):
            return 1 + abs(r)
        less = [times(weights, -r / 2 * math.sqrt(s * t) / own) for weights, own in zip(spreads, (s, t), strict=True)]
        width = reach(added(covariance_weights(readout, at), *less)) / n + reach_of_means(readout, at, reach, n)
        return min(width / math.sqrt(s * t), 1 + abs(r))
