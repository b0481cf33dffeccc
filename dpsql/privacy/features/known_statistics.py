"""Every statistic by its name; one without a line here does not type-check."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import ClassVar, assert_never

from dpsql.policy.model import MechanismName, SqlType
from dpsql.privacy.features.feature import (
    FIRST,
    SECOND,
    ArgumentSums,
    Combination,
    Estimates,
    Feature,
    MeanAndVariance,
    Number,
    PartialSum,
    Reach,
    Readout,
    ScaledExpr,
    Shape,
    Statistic,
    Values,
    Weights,
    add_weights,
    blocks,
    count_weights,
    covariance,
    covariance_weights,
    mean,
    mean_weights,
    readable_features,
    row_count,
    scale,
    scale_weights,
    unclamped_mean,
    unclamped_variance,
    variance,
    variance_weights,
    weighed_by_value,
)
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.rewrite.ir.expr import Apply
from dpsql.rewrite.syntax.named.aggregate_names import StatisticName

# COUNT and SUM: weighted sums of the features themselves.

_MORE = 1.5
"""How many times as large as others values of rows may be that do not count: who has more of them may have larger ones."""
_ROUNDING = 0.5
"""How far a number may be from the whole number that it is shown as."""
ANYWHERE = Values.alike(MeanAndVariance(0.0, 0.0))
"""Sums and counts are as noisy wherever their values lie."""


@dataclass(frozen=True, slots=True)
class RowCount(Statistic):
    """The number of rows that a statistic is about."""

    counts: ClassVar[bool] = True

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return none."""
        return ()

    def estimate(self, readout: Readout, estimates: Estimates) -> float:
        """Return the noisy number of rows."""
        return row_count(readout, estimates)

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the count."""
        _ = at
        return count_weights(readout)

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return how far the count's noise reaches."""
        _ = estimates
        return reach(count_weights(readout))

    def worth(self, readout: Readout, estimates: Estimates) -> float:
        """Return that it is one less for each."""
        _ = readout, estimates
        return 1.0

    def rounding(self, readout: Readout) -> float:
        """Return a half: counts are shown as whole numbers."""
        _ = readout
        return _ROUNDING

    def typical(self, readout: Readout, rows: float) -> float:
        """Return the rows."""
        _ = readout
        return rows

    def clamped(self, readout: Readout, value: float) -> float:
        """Return no less than no rows."""
        _ = readout
        return max(value, 0.0)


@dataclass(frozen=True, slots=True)
class Sum(Statistic):
    """The sum of one argument, from the middle of its interval or, by itself, from 0."""

    adds_up: ClassVar[bool] = True

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return the sum of the argument."""
        return (PartialSum.U,)

    def estimate(self, readout: Readout, estimates: Estimates) -> float:
        """Return the noisy sum."""
        x = readout.at(PartialSum.U)
        if x.shape is Shape.SIGNED:
            return scale(readout).size * estimates[x]
        by = scale(readout)
        return by.middle * row_count(readout, estimates) + by.half * estimates[x]

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the sum."""
        _ = at
        x, interval = readout.at(PartialSum.U), readout.scaled(FIRST).interval
        if x.shape is Shape.SIGNED:
            return {x: interval.magnitude}
        return add_weights(scale_weights(count_weights(readout), interval.middle), {x: interval.half})

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return how far the sum's noise reaches."""
        _ = estimates
        return reach(self.gradient(readout, ANYWHERE))

    def worth(self, readout: Readout, estimates: Estimates) -> float:
        """Return the largest size of a mean: of the rows that do not count it may be larger than of the others.

        Of a sum by itself, where what does not count is told in the size of the largest value, it is that.
        """
        largest, rows = scale(readout).size, 0.0
        if readout.at(PartialSum.U).shape is not Shape.SIGNED:
            rows = row_count(readout, estimates)
        if rows < 1:
            return largest
        mean = abs(self.estimate(readout, estimates)) / rows
        return min(mean * _MORE, largest)

    def rounding(self, readout: Readout) -> float:
        """Return a half where PostgreSQL's sum is a bigint, or may be: what is computed of an integer is one there."""
        (arg,) = readout.moment.args
        whole = arg.type.is_integer and (arg.type is not SqlType.BIGINT or isinstance(arg, Apply))
        return _ROUNDING if whole else 0.0

    def typical(self, readout: Readout, rows: float) -> float:
        """Return the sum of so many values in the middle of their interval."""
        return typical_value(readout.scaled(FIRST)) * rows

    def clamped(self, readout: Readout, value: float) -> float:
        """Return a sum of the sign that values have, where they have one."""
        interval = readout.scaled(FIRST).interval
        return max(value, 0.0) if interval.low >= 0 else min(value, 0.0) if interval.high <= 0 else value


def typical_value(scaled: ScaledExpr) -> float:
    """Return the size of a value in the middle of its interval, or a quarter of its width, if that is more."""
    return float(max(abs(scaled.interval.middle), scaled.interval.width / 4))


# Intervals by inversion (Fieller 1954): of all values that noise could have made what was released.

_ROUNDS, _NEAR = 16, 0.02
_HALF, _MORE_STEPS, _MOST = 0.5, 0.1, 0.7
"""See `_share`: by the equation that its law gives, from equal sides to one four times the other."""
_OF_SPREADS = 1 / 16
"""The share of how far noise reaches of which a margin is at least where a variance is shown at an end of what is possible:
it is too small in small groups, and margins of all of it would cover too much."""
_TINY = 1e-300
"""It stands for a side without length."""
_SHOWN_FROM, _HELD_FROM = 2.0, 0.7
"""See `selected`."""
_STEPS = 2
"""Of the search for the end of a slope's interval."""


def inverted_width(
    at: float,
    reached: Callable[[float], float],
    possible: tuple[float, float],
    root: Callable[[float], float] | None = None,
    least_share: float = 1.0,
    *,
    longer: bool = False,
) -> float:
    """Return how far the values that could have been released as `at` are from what is shown.

    A value θ could have been if |at − θ| ≤ reached(θ), how far noise reaches about θ. Of two sides it is the mean, which
    covers as much as both together, and a little more where the `root` is shown, of which the sides differ by much; where
    one is cut off, what is not `possible` not being shown, it is the longer. It is then as far as noise reaches about what
    is shown, too: of what was released beyond the possible few values could have been it, or none, and who sees the end of
    the bounds would take it for exact. Of Laplace noise it covers there as much as elsewhere, for values all as likely.
    `least_share` is of what has other noise. The `longer` side is that of answers of which noise chose those on one side.
    """
    shown = root or _itself
    least, most = possible
    ends = [_end(at, reached, possible, side) for side in (-1, 1)]
    nearest = _within(at, possible)
    value, (low, high) = shown(nearest), map(shown, ends)
    if longer:
        return max(value - low, high - value)
    # Neither end was cut off by what is possible: the interval has two sides.
    if least < ends[0] <= at <= ends[1] < most:
        short, long = sorted((value - low, high - value))
        return short + (long - short) * (0.5 if root is None else _share(long / max(short, _TINY)))
    noise = reached(nearest)
    around = (_within(end, possible) for end in (nearest - noise, nearest + noise))
    least_ends = (shown(nearest + (end - nearest) * least_share) for end in around)
    return max(value - low, high - value, *(abs(end - value) for end in least_ends))


def selected(doubt: float) -> float | None:
    """Return how many times as far as it does noise is to be thought to reach in a quotient; None where none is shown.

    `doubt` is how far noise reaches in its divisor with 95 %, as a share of the divisor.

    Quotients whose divisors may be nothing but noise have no margin, so that those that have one are those whose noise made
    the divisor large. Of these more are off than of all: where one in ten has a margin, ten times as many. Take d for the
    divisor in such reaches, each of three scales of Laplace noise, and D for the true one. There is a margin from d = 2 on.
    If D is less, d − 2 is noise as it is without a choice, above 1 in 5 of 100. So below 3 the interval holds each D
    from 0.7 on: smaller ones are shown in one of 100 answers at most, ½·e^(−3·1.3). From 3 on it holds d − 1, as any.
    """
    if doubt * _SHOWN_FROM >= 1:
        return None
    return max(1 / doubt - _HELD_FROM, 1.0) if doubt * (_SHOWN_FROM + 1) > 1 else 1.0


def _share(ratio: float) -> float:
    """Return how far from the shorter side to the longer a root's margin reaches, such that it covers as much as both.

    Beyond a side of length L noise has the probability 2.5 %·e^(−3(x/L − 1)) or so, and of both together there must be 5 %.
    """
    return min(_HALF + _MORE_STEPS * (ratio - 1), _MOST)


def _end(at: float, reached: Callable[[float], float], possible: tuple[float, float], side: int) -> float:
    """Return the end of the interval on one side, by repeated substitution."""
    # How far noise reaches depends on where the value is, and the end on how far noise reaches. A few rounds settle it.
    end = _within(at, possible)
    for _ in range(_ROUNDS):
        width = reached(end)
        further = _within(at + side * width, possible)
        if abs(further - end) <= _NEAR * width:
            return further
        end = further
    return end


def _itself(value: float) -> float:
    return value


def _within(value: float, possible: tuple[float, float]) -> float:
    return min(max(value, possible[0]), possible[1])


# AVG: the mean of one argument.


@dataclass(frozen=True, slots=True)
class Mean(Statistic):
    """The mean of one of the arguments over the rows that have all of them."""

    of: ArgumentSums

    @property
    def parts(self) -> tuple[PartialSum, ...]:
        """Return the sum of the argument."""
        return (self.of.value,)

    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the noisy mean, inside the argument's interval."""
        n, by = row_count(readout, estimates), scale(readout, self.of)
        return None if n < 1 else by.middle + by.half * mean(readout, estimates, n, self.of)

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the mean."""
        return mean_weights(readout, at.of(self.of).mean, self.of)

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return the half-width by inversion; all that is possible where noise may have chosen the count to be shown."""
        n, by = row_count(readout, estimates), scale(readout, self.of)
        # A mean is shown where the count is above its noise. Of few rows it is so by noise alone, which in 5 of 100 of
        # these is above twice as much (see `selected`).
        if n < 1 or n <= _SHOWN_FROM * reach(count_weights(readout)):
            return by.half * (1 + abs(mean(readout, estimates, n, self.of)) if n >= 1 else 1)
        return self._inverted(readout, estimates, reach, n)

    def spread(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return how far noise moves the mean, about one that is possible."""
        n, by = row_count(readout, estimates), scale(readout, self.of)
        if n < 1:
            return by.half
        about = reach(mean_weights(readout, mean(readout, estimates, n, self.of), self.of)) / n * by.half
        return max(self._inverted(readout, estimates, reach, n), about)

    def _inverted(self, readout: Readout, estimates: Estimates, reach: Reach, n: float) -> float:
        """Return the half-width by inversion: for which means θ noise could have made U − θ·N what it is."""

        def reached(mean: float) -> float:
            return reach(mean_weights(readout, mean, self.of)) / n

        at, half = unclamped_mean(readout, estimates, n, self.of), scale(readout, self.of).half
        return inverted_width(at, reached, (-1.0, 1.0)) * half

    def deviation(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return how far noise moves the mean where it seems to be."""
        n, by = row_count(readout, estimates), scale(readout, self.of)
        return (
            None if n < 1 else reach(mean_weights(readout, mean(readout, estimates, n, self.of), self.of)) / n * by.half
        )

    def widest(self, readout: Readout) -> float:
        """Return how far apart two means may be."""
        return 2 * scale(readout, self.of).half

    def typical(self, readout: Readout, rows: float) -> float:
        """Return a value in the middle of the interval."""
        _ = rows
        return typical_value(readout.scaled(self.of))


# VARIANCE and STDDEV of one argument, in the population or by a sample.

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
        # The noisy n may be 1 or just above it, and n − 1 nothing: a factor of 2·n at most.
        mu, factor = mean(readout, estimates, n), n / max(n - 1, 0.5) if self.sample else 1.0
        less = _SQUARE * (reach(mean_weights(readout, mu)) / n) ** 2

        def reached(s: float) -> float:
            return reach(variance_weights(readout, MeanAndVariance(mu, s))) / n + less

        at, root = unclamped_variance(readout, estimates, n), math.sqrt if self.root else None
        return (
            inverted_width(at, reached, (0.0, 1.0), root, _OF_SPREADS)
            * whole
            * (math.sqrt(factor) if self.root else factor)
        )

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


# COVAR and CORR: how two arguments vary together, over the rows that have both.


def both_halves(readout: Readout) -> float:
    """Return the unit of products of u and v."""
    return scale(readout, FIRST).half * scale(readout, SECOND).half


def means_and_covariance(readout: Readout, estimates: Estimates, n: float) -> Values:
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
        at = means_and_covariance(readout, estimates, n)
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
        # The derivative has 1/s and 1/t in it. Where noise could have made s what it is, s may as well be 0, and
        # nothing is known.
        if any(reach(weights) / n >= own for weights, own in zip(spreads, (s, t), strict=True)):
            return 1 + abs(r)
        less = [
            scale_weights(weights, -r / 2 * math.sqrt(s * t) / own)
            for weights, own in zip(spreads, (s, t), strict=True)
        ]
        width = reach(add_weights(covariance_weights(readout, at), *less)) / n + reach_of_means(readout, at, reach, n)
        return min(width / math.sqrt(s * t), 1 + abs(r))


# REGR_SLOPE, REGR_INTERCEPT and REGR_R2: the least squares line of the first argument on the second.
#
# As in PostgreSQL the dependent value y comes first: here it is FIRST, scaled to u, and x is SECOND, scaled to v, so that
# y = m + h·u and x = k + l·v. With the variance t of v and the covariance c of both, the slope of u on v is b = c/t, and
#
#     SLOPE      h/l·b,                    d(c/t) = (dc − b·dt)/t
#     INTERCEPT  m + h·(μ − b·(ν + k/l)),  of which the bracket moves by dμ − b·dν − (ν + k/l)·db

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
        """Return the half-width by inversion; None where noise alone could be all that x varies, or nearly."""
        at, ratio = _line(readout, estimates), _ratio(readout)
        error = None if at is None else _slope_error(readout, at, reach, row_count(readout, estimates))
        return None if error is None or ratio is None else error.half_width * ratio

    def spread(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return how far noise moves it off the derivative; None where noise alone could be all that x varies."""
        at, ratio, n = _line(readout, estimates), _ratio(readout), row_count(readout, estimates)
        if at is None or ratio is None or _varies_by_noise(readout, at, reach, n):
            return None
        return _moved_slope(readout, at, reach, n) * ratio

    def deviation(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return how far noise moves it where it seems to be, also where it has no margin."""
        at, ratio = _line(readout, estimates), _ratio(readout)
        moved = None if at is None else _moved_slope(readout, at, reach, row_count(readout, estimates))
        return None if moved is None or ratio is None else moved * ratio


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
        means = [
            mean_weights(readout, at.first.mean, FIRST),
            scale_weights(mean_weights(readout, at.second.mean, SECOND), -b),
        ]
        return add_weights(*means, scale_weights(_slope_weights(readout, at), -(at.second.mean + away)))

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return the half-width off the derivative, as many times as the slope's; None where a slope has none."""
        at, n = _line(readout, estimates), row_count(readout, estimates)
        error = None if at is None else _slope_error(readout, at, reach, n)
        return None if at is None or error is None else self._moved(readout, at, reach, n, error)

    def spread(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return how far noise moves it off the derivative; None where noise alone could be all that x varies."""
        at, n = _line(readout, estimates), row_count(readout, estimates)
        if at is None or _varies_by_noise(readout, at, reach, n):
            return None
        return self._moved(readout, at, reach, n, _SlopeError(_moved_slope(readout, at, reach, n)))

    def deviation(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return how far noise moves it where it seems to be, also where it has no margin."""
        at, n = _line(readout, estimates), row_count(readout, estimates)
        if at is None:
            return None
        return self._moved(readout, at, reach, n, _SlopeError(_moved_slope(readout, at, reach, n)))

    def _moved(self, readout: Readout, at: Values, reach: Reach, n: float, error: "_SlopeError") -> float | None:
        """Return how far it is off where the slope is; the product of the errors of b and ν counts beside it."""
        if _away(readout) is None:
            return None
        second = reach(mean_weights(readout, at.second.mean, SECOND)) / n * error.half_width
        return (reach(self.gradient(readout, at)) / n * error.times + second) * scale(readout, FIRST).half


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
    less = scale_weights(variance_weights(readout, at.second, SECOND), -_slope(at))
    return scale_weights(add_weights(covariance_weights(readout, at), less), 1 / at.second.variance)


@dataclass(frozen=True, slots=True)
class _SlopeError:
    """How far the slope of u on v may be off, also as many times what its derivative says."""

    half_width: float
    times: float = 1.0


def _slope_error(readout: Readout, at: Values, reach: Reach, n: float) -> _SlopeError | None:
    """Return how far the slope of u on v may be off; None where the variance t of v may be nothing but noise, or nearly.

    A slope b could have been if noise of c − b·t made it what it is. That grows with b, so that the interval reaches further
    on one side, and it is that. The errors of the means count by their products in the covariance and in the variance.
    """
    spread, slope = float(at.second.variance), float(_slope(at))
    of_spread = variance_weights(readout, at.second, SECOND)
    of_mean, of_means = _mean_reach(readout, at, reach, n), reach_of_means(readout, at, reach, n)

    doubt = (reach(of_spread) / n + of_mean**2) / spread
    times = selected(doubt)
    if times is None:
        return None
    share = times / spread

    def reached(b: float) -> float:
        # Of a line with the slope b the covariance is b·t.
        of_covariance = covariance_weights(readout, replace(at, covariance=b * spread))
        noise = reach(add_weights(of_covariance, scale_weights(of_spread, -b))) / n
        return share * (noise + of_means + abs(b) * of_mean**2)

    first = reached(slope)
    # No sum of noise reaches further than its parts together. What that gives is too far, and each step is nearer.
    off = first / (1 - times * doubt)
    longer = max((-off, off), key=lambda off: reached(slope + off))
    for _ in range(_STEPS):
        off = min(off, reached(slope + math.copysign(off, longer)))
    return _SlopeError(off, times * off / first if first else 1.0)


def _moved_slope(readout: Readout, at: Values, reach: Reach, n: float) -> float:
    """Return how far noise moves the slope of u on v off its derivative."""
    of_mean = _mean_reach(readout, at, reach, n)
    products = reach_of_means(readout, at, reach, n) + abs(float(_slope(at))) * of_mean**2
    return reach(_slope_weights(readout, at)) / n + products / float(at.second.variance)


def _varies_by_noise(readout: Readout, at: Values, reach: Reach, n: float) -> bool:
    """Return whether noise alone could have made the variance of v what it is."""
    noise = reach(variance_weights(readout, at.second, SECOND)) / n + _mean_reach(readout, at, reach, n) ** 2
    return noise >= float(at.second.variance)


def _mean_reach(readout: Readout, at: Values, reach: Reach, n: float) -> float:
    return reach(mean_weights(readout, at.second.mean, SECOND)) / n


def _ratio(readout: Readout) -> float | None:
    """Return what a slope of u on v is multiplied by; None where x can have one value only."""
    x = scale(readout, SECOND).half
    return scale(readout, FIRST).half / x if x else None


def _away(readout: Readout) -> float | None:
    """Return how far 0 is from the middle of x's interval, in its halves; None where x can have one value only."""
    x = scale(readout, SECOND)
    return x.middle / x.half if x.half else None


# REGR_SXX, REGR_SYY and REGR_SXY: sums of squares and products about the means, over the rows that have both arguments.
#
# As in PostgreSQL the dependent value y comes first: here it is FIRST, scaled to u, and x is SECOND, scaled to v.


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
        return add_weights(variance_weights(readout, own, self.of), scale_weights(count_weights(readout), own.variance))

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
        return (
            None if n < 1 else n * float(means_and_covariance(readout, estimates, n).covariance) * both_halves(readout)
        )

    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the covariance, with the count's where the covariance is multiplied by it."""
        return add_weights(covariance_weights(readout, at), scale_weights(count_weights(readout), at.covariance))

    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return the half-width off Σ (u − μ)(v − ν) at the reported means, whose own errors count by their product."""
        n, whole = row_count(readout, estimates), both_halves(readout)
        if n < 1:
            return whole
        at = means_and_covariance(readout, estimates, n)
        return (reach(self.gradient(readout, at)) + n * reach_of_means(readout, at, reach, n)) * whole


@cache
def statistic(name: StatisticName) -> Statistic:
    """Return the record of a statistic."""
    match name:
        case "count" | "regr_count":
            return RowCount()
        case "sum":
            return Sum()
        case "avg" | "regr_avgy":
            return Mean(FIRST)
        case "var_pop":
            return Variance(sample=False)
        case "var_samp":
            return Variance(sample=True)
        case "stddev_pop":
            return Variance(sample=False, root=True)
        case "stddev_samp":
            return Variance(sample=True, root=True)
        case "covar_pop":
            return Covariance(sample=False)
        case "covar_samp":
            return Covariance(sample=True)
        case "corr":
            return Correlation()
        case "regr_avgx":
            return Mean(SECOND)
        case "regr_sxx":
            return SumOfSquares(SECOND)
        case "regr_syy":
            return SumOfSquares(FIRST)
        case "regr_sxy":
            return SumOfProducts()
        case "regr_slope":
            return Slope()
        case "regr_intercept":
            return Intercept()
        case "regr_r2":
            return Determination()
        case _:
            assert_never(name)


# How noisy the statistics of a design will be, from the statement alone: what designs are compared by.
#
# One measure for all: the logarithm of a statistic's variance, added up over the statistics, so that no unit of any of them
# matters; for means and variances averaged over where in their bounds the values could lie (`_CASES`). To the variance of
# counts and sums is added the square of what weights are expected to take off them, where the design lets them.

_MEANS = (Fraction(12, 13), Fraction(5, 13))
_CASES = tuple(Values.alike(MeanAndVariance(sign * mean, (1 - mean**2) / 8)) for mean in _MEANS for sign in (-1, 1))
"""Means of u in [−1, 1], each equally likely, and the variance beside it.

Nothing is known of the mean's place t in the bounds, so it has Jeffreys' prior for a share, the arcsine law: four equally
likely values, sin²(kπ/16) for k = 1, 3, 5, 7, are the middles of its quarters (5/13 and 12/13 in u, to 1 part in 200). It
favours the ends, as bounds do that are to cut off nothing: most values are then near one of them. The same bounds make the
variance small: an eighth of the most that a mean allows, 1 − μ² (an exponential law with its mean at a tenth has a ninth).

So of one column's variance the cube has (20/3)·E[¼ + 4μ² + (μ² − s + ½)²]/16 and the cells 2·[a² + (a − t)² + (a + 1 − 2t)²],
a = 2t² − E t², in units of b²·(U − L)⁴/N²: in the outer quarters of the bounds the cells' is less, elsewhere more.
"""
_LEAST_SPREAD = Fraction(1, 10**12)
_NOTHING = Fraction(0)


def predicted_error(
    features: Sequence[Feature], readouts: Sequence[Readout], name: MechanismName, loss: Fraction = _NOTHING
) -> tuple[Fraction, int]:
    """Return what is to be least: the exponential of the sum of logarithms, exactly; then the number of features.

    `loss` is the number of rows, in units of b, that weights by the number of rows take off.
    """
    # In whole numbers, since the design is part of what a release is found again by: rounding that differs from one
    # machine to the next could choose another one, and have the same question paid for twice.
    variances, read = coordinate_variances(features, name), readable_features(features)
    numerator, denominator = 1, 1
    for readout in readouts:
        kind, lost = statistic(readout.moment.name), _lost(readout, loss)
        cases, times = (_CASES, 1) if kind.located else (_CASES[:1], len(_CASES))
        for case in cases:
            noise = sum_variance(kind.gradient(readout, case), read, variances)
            a, b = (noise + lost**2 if lost else noise).as_integer_ratio()
            # A variance of 0 would make the product 0, and all designs with it equally good.
            if a * _LEAST_SPREAD.denominator < b:
                a, b = 1, _LEAST_SPREAD.denominator
            numerator, denominator = numerator * a**times, denominator * b**times
    return Fraction(numerator, denominator), len(features)


def _lost(readout: Readout, loss: Fraction) -> Fraction:
    """Return what rows that are left out take off a count or a sum.

    A mean or a spread loses next to nothing by them, nor does a sum whose rows have weights of their own.
    """
    kind, spared = statistic(readout.moment.name), weighed_by_value(readout.features)
    if kind.located or not loss or spared.issuperset(readout.features):
        return _NOTHING
    return loss * Fraction(kind.typical(readout, 1) or 0)


def sum_variance(weighted: Weights, read: Mapping[Feature, Combination], variances: Sequence[Fraction]) -> Fraction:
    """Return the variance of a weighted sum of features; coordinates are uncorrelated, by either law."""
    numerator, denominator = 0, 1  # a fraction would look for common factors with every term
    for place, weight in coordinate_weights(weighted, read).items():
        if weight:  # most are 0, of what does not move a statistic
            (a, b), (c, d) = weight.as_integer_ratio(), variances[place].as_integer_ratio()
            each = b * b * d
            common = denominator if each == denominator else math.lcm(denominator, each)
            numerator = numerator * (common // denominator) + a * a * c * (common // each)
            denominator = common
    return Fraction(numerator, denominator)


def coordinate_weights(weighted: Weights, read: Mapping[Feature, Mapping[int, Number]]) -> Mapping[int, Number]:
    """Return the weights of the coordinates, by place, in a weighted sum of features."""
    onto: dict[int, Number] = {}
    for feature, weight in weighted.items():
        for place, factor in read[feature].items():
            share = weight if factor == 1 else weight * factor
            onto[place] = onto[place] + share if place in onto else share
    return onto


def coordinate_variances(features: Sequence[Feature], name: MechanismName) -> list[Fraction]:
    """Return the variance of the noise of every coordinate, in units of b² = (C/ε)²."""
    variances = [Fraction(0)] * len(features)
    together = blocks(tuple(features))
    for block in together:
        for place in block.places:
            variances[place] = mechanism(name).variance(block, together)
    return variances


def noise_ratio(variance: Fraction) -> Fraction:
    """Return how many times the noise of a lone count a variance is, a little more rather than less."""
    return Fraction(math.isqrt(math.ceil(variance * 10**12 / 2)) + 1, 10**6)
