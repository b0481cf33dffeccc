"""REGR_SLOPE, REGR_INTERCEPT and REGR_R2: the least squares line of the first argument on the second.

As in PostgreSQL the dependent value y comes first: here it is FIRST, scaled to u, and x is SECOND, scaled to v, so that
y = m + h·u and x = k + l·v. With the variance t of v and the covariance c of both, the slope of u on v is b = c/t, and

    SLOPE      h/l·b,                    d(c/t) = (dc − b·dt)/t
    INTERCEPT  m + h·(μ − b·(ν + k/l)),  of which the bracket moves by dμ − b·dν − (ν + k/l)·db
"""

from dataclasses import dataclass

from dpsql.privacy.features.estimate import covariance, mean, row_count, scale, variance
from dpsql.privacy.features.gradient import (
    MeanAndVariance,
    Number,
    Values,
    Weights,
    added,
    covariance_weights,
    mean_weights,
    times,
    variance_weights,
)
from dpsql.privacy.features.pairs import Correlation, both_halves, both_places, coefficient, reach_of_means
from dpsql.privacy.features.readout import FIRST, SECOND, Estimates, PartialSum, Readout
from dpsql.privacy.features.spreads import least_rows
from dpsql.privacy.features.statistic import Reach, Statistic

_OF_LINE = (PartialSum.U, PartialSum.V, PartialSum.VV, PartialSum.UV)


@dataclass(frozen=True, slots=True)
class Slope(Statistic):
    """The line's slope; NULL where the second argument does not vary."""

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return all sums but that of the first argument's squares."""
        return _OF_LINE

    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the noisy slope."""
        at, ratio = _line(readout, estimates), _ratio(readout)
        return None if at is None or ratio is None else float(_slope(at)) * ratio

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the slope."""
        return _slope_weights(readout, at)

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return the half-width off c − b·t at the reported b; None where noise alone could be all that x varies."""
        at, ratio = _line(readout, estimates), _ratio(readout)
        error = None if at is None else _slope_error(readout, at, reach, row_count(readout, estimates))
        return None if error is None or ratio is None else error * ratio


@dataclass(frozen=True, slots=True)
class Intercept(Statistic):
    """The line's value at 0; NULL where the second argument does not vary."""

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return all sums but that of the first argument's squares."""
        return _OF_LINE

    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the noisy value."""
        at, y, away = _line(readout, estimates), scale(readout, FIRST), _away(readout)
        if at is None or away is None:
            return None
        return y.middle + y.half * float(at.first.mean - _slope(at) * (at.second.mean + away))

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the value at 0."""
        away, b = _away(readout) or 0.0, _slope(at)
        means = [mean_weights(readout, at.first.mean, FIRST), times(mean_weights(readout, at.second.mean, SECOND), -b)]
        return added(*means, times(_slope_weights(readout, at), -(at.second.mean + away)))

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return the half-width off the derivative; the product of the errors of b and ν counts beside it."""
        at, away, n = _line(readout, estimates), _away(readout), row_count(readout, estimates)
        error = None if at is None else _slope_error(readout, at, reach, n)
        if at is None or error is None or away is None:
            return None
        second = reach(mean_weights(readout, at.second.mean, SECOND)) / n * error
        return (reach(self.gradient(readout, at)) / n + second) * scale(readout, FIRST).half


@dataclass(frozen=True, slots=True)
class Determination(Statistic):
    """The square of the coefficient of correlation; NULL where x does not vary, else 1 where y does not."""

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return all sums."""
        return tuple(PartialSum)

    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the noisy square."""
        n = row_count(readout, estimates)
        if n < least_rows(sample=True):
            return None
        at = both_places(readout, estimates, n)
        if not at.second.variance or not scale(readout, SECOND).half:
            return None
        r = coefficient(at) if both_halves(readout) else None
        return 1.0 if r is None else r**2

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the covariance: where there is no correlation its square has none of its own."""
        return covariance_weights(readout, at)

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return the half-width of the square of a coefficient in its own interval."""
        r = Correlation().estimate(readout, estimates)
        if r is None:
            return 1.0
        width = Correlation().half_width(readout, estimates, reach)
        low, high = max(abs(r) - width, 0.0), min(abs(r) + width, 1.0)
        return max(high**2 - r**2, r**2 - low**2)


def _line(readout: Readout, estimates: Estimates) -> Values | None:
    """Return where the values lie that a line is drawn through; None where there is no line.

    The variance of the first argument, which no line needs, is left at 0.
    """
    n = row_count(readout, estimates)
    spread = variance(readout, estimates, n, SECOND) if n >= least_rows(sample=True) else 0.0
    if not spread:
        return None
    first, second = (mean(readout, estimates, n, argument) for argument in (FIRST, SECOND))
    return Values(MeanAndVariance(first, 0.0), MeanAndVariance(second, spread), covariance(readout, estimates, n))


def _slope(at: Values) -> Number:
    return at.covariance / at.second.variance


def _slope_weights(readout: Readout, at: Values) -> Weights:
    """Return the weights of the features in the slope of u on v."""
    less = times(variance_weights(readout, at.second, SECOND), -_slope(at))
    return times(added(covariance_weights(readout, at), less), 1 / at.second.variance)


def _slope_error(readout: Readout, at: Values, reach: Reach, n: float) -> float | None:
    """Return how far the slope of u on v may be off; None where the variance of v may be nothing but noise.

    The errors of the means count by their products in the covariance and in the variance.
    """
    spread = float(at.second.variance)
    of_mean = reach(mean_weights(readout, at.second.mean, SECOND)) / n
    if reach(variance_weights(readout, at.second, SECOND)) / n + of_mean**2 >= spread:
        return None
    products = reach_of_means(readout, at, reach, n) + abs(float(_slope(at))) * of_mean**2
    return reach(_slope_weights(readout, at)) / n + products / spread


def _ratio(readout: Readout) -> float | None:
    """Return what a slope of u on v is multiplied by; None where x can have one value only."""
    x = scale(readout, SECOND).half
    return scale(readout, FIRST).half / x if x else None


def _away(readout: Readout) -> float | None:
    """Return how far 0 is from the middle of x's interval, in its halves; None where x can have one value only."""
    x = scale(readout, SECOND)
    return x.middle / x.half if x.half else None
