"""AVG: the mean of one argument."""

from dataclasses import dataclass

from dpsql.privacy.features.counts import typical_value
from dpsql.privacy.features.estimate import mean, row_count, scale, unclamped_mean
from dpsql.privacy.features.gradient import Values, Weights, mean_weights
from dpsql.privacy.features.inversion import inverted_width
from dpsql.privacy.features.readout import ArgumentSums, Estimates, PartialSum, Readout
from dpsql.privacy.features.statistic import Reach, Statistic


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
        """Return the half-width by inversion: for which means θ noise could have made U − θ·N what it is."""
        n, by = row_count(readout, estimates), scale(readout, self.of)
        if n < 1:
            return by.half

        def reached(mean: float) -> float:
            return reach(mean_weights(readout, mean, self.of)) / n

        return inverted_width(unclamped_mean(readout, estimates, n, self.of), reached, (-1.0, 1.0)) * by.half

    def spread(self, readout: Readout, estimates: Estimates, reach: Reach) -> float:
        """Return how far noise moves the mean, about one that is possible."""
        n, by, width = (
            row_count(readout, estimates),
            scale(readout, self.of),
            self.half_width(readout, estimates, reach),
        )
        if n < 1:
            return width
        return max(width, reach(mean_weights(readout, mean(readout, estimates, n, self.of), self.of)) / n * by.half)

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
