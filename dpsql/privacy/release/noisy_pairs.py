"""The C that follows from a released ladder of lengths and numbers of rows (`lengths`): post-processing, all of it.

As for the ladder of rows (`noisy_ladder`), units are believed to be at lengths up to the last rung at which they are seen.
How many rows each of a length has is told by the cells beside it, and is between once and √groups times its length. That C is
taken whose square error is least, in a group of the usual size, of what it takes off and of Gaussian noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import hypot, sqrt

from dpsql.accounting.zcdp import rho_of
from dpsql.privacy.accuracy.margin import largest_share
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.lengths import ends_of
from dpsql.privacy.measurement.rows_per_unit import ChosenBound, RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.block import epsilon_parts
from dpsql.privacy.release.noisy_ladder import (
    DOUBT,
    DOUBT_OF_FEW,
    FEW,
    OF_RATIOS,
    SEEN,
    UNSEEN,
    NoisyLadder,
    powers_of_two,
)


def chosen_by(
    search: RowsPerUnit,
    noisy: Sequence[int],
    measurement: Sums | Histogram,
    groups: int,
    *,
    paid: float | None = None,
    aimed: bool = False,
) -> ChosenBound:
    """Return the C for a measurement, by the released cells of the ladder that was made for it."""
    if search.is_by_length and isinstance(measurement, Sums):
        return NoisyPairs.of(search, noisy).chosen(measurement, groups)
    return NoisyLadder.of(search, noisy).chosen(measurement, groups, paid=paid, aimed=aimed)


_NOISE = Fraction(2)
"""How many times as far a sum of two cells deviates as one: √2, and as much again, since a rung too far costs more here.

Looked at on two tables on which it was not chosen (`tests.truth.constants_of_rho`): the median answer is as near as with 1.7,
and those whose C goes too far are fewer.
"""


@dataclass(frozen=True, slots=True)
class NoisyPairs:
    """How many units of a length have how many rows, by rungs of both, as it was released."""

    ladder: NoisyLadder
    """Of lengths alone: its cells are sums of several, and it has as much noise as the largest of these."""
    rows: Sequence[float]
    """How many rows the units at each length have, together."""
    widest: float
    """How many times its length a unit has in rows at most."""

    @classmethod
    def of(cls, search: RowsPerUnit, noisy: Sequence[int]) -> "NoisyPairs":
        """Build from a search and its released cells."""
        rungs, groups = search.rungs, len(search.of.groups.grouped)
        pairs = [(noisy[2 * i] / search.sensitivity, noisy[2 * i + 1] / search.sensitivity) for i in range(len(rungs))]
        ends, widest = ends_of(rungs, groups), sqrt(max(groups, 1))
        told = [few * low + many * high for (few, many), (low, high) in zip(pairs, ends, strict=True)]
        least = [max(few + many, 0.0) * rung for (few, many), rung in zip(pairs, rungs, strict=True)]
        rows = [min(max(n, least_of), least_of * widest) for n, least_of in zip(told, least, strict=True)]
        # The noise of a sum of two cells.
        ladder = NoisyLadder(
            rungs, [few + many for few, many in pairs], search.epsilon / _NOISE, search.relation.expected_rows
        )
        return cls(ladder, rows, widest)

    def chosen(self, measurement: Sums, groups: int) -> ChosenBound:
        """Return the C for a measurement of so many groups, at the ε that it pays."""
        ladder, top = self.ladder, self.ladder.top
        deviation, rungs = ladder.deviation, ladder.rungs
        noise = sqrt(epsilon_parts(measurement.blocks) / (2 * float(rho_of(measurement.epsilon))))
        matters = (OF_RATIOS if measurement.of_ratios else 1.0) / largest_share(groups)
        bounds = powers_of_two(rungs[-1])
        unseen = UNSEEN * deviation * self._each(top) * rungs[min(top + 1, len(rungs) - 1)]
        next_rung = rungs[min(top + 1, len(rungs) - 1)]
        lost = [self._cut(top, c) + unseen * max(1 - c / next_rung, 0.0) for c in bounds]
        errors = [hypot(of * matters, c * noise) for of, c in zip(lost, bounds, strict=True)]
        rows = bounds[errors.index(min(errors))]
        counted = sum(n * min(1.0, rows / rung) for n, rung in zip(self.rows[: top + 1], rungs, strict=False))
        few = counted < FEW * SEEN * deviation * next_rung
        return ChosenBound(
            rows,
            math.ceil(self._cut(top, rows)),
            math.ceil(self._doubted(top, rows, DOUBT_OF_FEW if few else DOUBT)),
            few,
        )

    def _cut(self, top: int, rows: int) -> float:
        """Return how many rows a C takes off units at the lengths that are seen."""
        seen = zip(self.rows[: top + 1], self.ladder.rungs, strict=False)
        return sum(n * max(1 - rows / rung, 0.0) for n, rung in seen)

    def _each(self, top: int) -> float:
        """Return how many times its length a unit has in rows, of the longest that are seen."""
        length = max(self.ladder.cells[top], 0.0) * self.ladder.rungs[top]
        return min(max(self.rows[top] / length, 1.0), self.widest) if length else 1.0

    def _doubted(self, top: int, rows: int, doubt: Sequence[float]) -> float:
        """Return how many rows a C takes off units that may be at the lengths above the last one that has some."""
        cells, rungs, each = self.ladder.cells[top + 1 :], self.ladder.rungs[top + 1 :], self._each(top)
        return sum(
            max(cell + more * self.ladder.deviation, 0.0) * each * max(rung - rows, 0.0)
            for cell, rung, more in zip(cells, rungs, doubt, strict=False)
        )
