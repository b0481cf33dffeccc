"""The record of a statistic that is read off noisy sums: the one place that has all of it.

A new statistic is a name in `rewrite/syntax/aggregate_names.py`, one of the classes in files beside it (`counts`, `means`,
`spreads`, `pairs`, `regression`, `lines`), and its line in `known_statistics.py`, without which nothing type-checks.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from dpsql.privacy.features.readout import Estimates, PartialSum, Readout, Values, Weights

Reach = Callable[[Weights], float]
"""Returns how far the noise of a weighted sum of features reaches in 95 % of all releases, in rows."""


class Statistic(ABC):
    """One statistic, or several that differ by little."""

    counts: ClassVar[bool] = False
    """Whether it is a number of rows: 0 of none, never negative, and the same wherever the values lie."""
    hides: ClassVar[bool] = False
    """Whether noise may put it at an end of its range, where it looks like an answer."""
    adds_up: ClassVar[bool] = False
    """Whether it is a sum of its argument: a row of 0 is as good as none, and the noise is the same wherever values lie."""

    @property
    @abstractmethod
    def parts(self) -> tuple[PartialSum, ...]:
        """Return the sums that it is read off, besides the count of its rows."""

    @abstractmethod
    def estimate(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the statistic, None for NULL: ratios have no value where the noisy count is below one row."""

    @abstractmethod
    def gradient(self, readout: Readout, at: Values) -> Weights:
        """Return the weights of the features' noise in its own, as means and variances times the count.

        Units do not matter, as long as they are the same for all ways to measure it.
        """

    @abstractmethod
    def half_width(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return half the width of the interval in which it lies with 95 %; None where nothing can be said.

        It covers the clamped, bounded relation, not the bias of clamping.
        """

    def spread(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return how far noise moves it, as the half-width says unless that is cut off by what is possible.

        A mean that noise has made less than its bound is known to be near the bound, and its margin is short; how far it
        would be off with other noise is not.
        """
        return self.half_width(readout, estimates, reach)

    def deviation(self, readout: Readout, estimates: Estimates, reach: Reach) -> float | None:
        """Return about how far noise moves it, by how far that of sums deviates; None where nothing can be said."""
        return self.spread(readout, estimates, reach)

    def widest(self, readout: Readout) -> float:
        """Return how far apart two values of it may be."""
        _ = readout
        return math.inf

    def is_hidden(self, readout: Readout, estimates: Estimates) -> bool:
        """Return whether what is shown is where noise has put it at the end of what is possible, and says nothing else."""
        _ = readout, estimates
        return False

    def worth(self, readout: Readout, estimates: Estimates) -> float:
        """Return by how much it is less for each row that does not count, where it adds up over rows."""
        _ = readout, estimates
        return 0.0

    def rounding(self, readout: Readout) -> float:
        """Return how far it is off at most by the type that it is shown in; 0 for all but whole numbers."""
        _ = readout
        return 0.0

    def typical(self, readout: Readout, rows: float) -> float | None:
        """Return the size that it would have for values in the middle of their interval; None where none can be said."""
        _ = readout, rows
        return None

    def clamped(self, readout: Readout, value: float) -> float:
        """Return a value inside what is possible, for roles that want no negative counts and accept the bias."""
        _ = readout
        return value

    @property
    def located(self) -> bool:
        """Return whether its noise depends on where the values lie."""
        return not (self.counts or self.adds_up)
