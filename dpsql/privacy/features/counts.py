"""COUNT and SUM: weighted sums of the features themselves."""

from dataclasses import dataclass
from typing import ClassVar

from dpsql.policy.model import SqlType
from dpsql.privacy.features.estimate import row_count, scale
from dpsql.privacy.features.feature import Scaled, Shape
from dpsql.privacy.features.gradient import MeanAndVariance, Values, Weights, added, count_weights, times
from dpsql.privacy.features.readout import FIRST, Estimates, PartialSum, Readout
from dpsql.privacy.features.statistic import Reach, Statistic
from dpsql.rewrite.ir.expr import Apply

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
        return added(times(count_weights(readout), interval.middle), {x: interval.half})

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


def typical_value(scaled: Scaled) -> float:
    """Return the size of a value in the middle of its interval, or a quarter of its width, if that is more."""
    return float(max(abs(scaled.interval.middle), scaled.interval.width / 4))
