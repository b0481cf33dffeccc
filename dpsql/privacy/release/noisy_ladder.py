"""How many units have how many rows, read off a released ladder, and the C that follows: post-processing, all of it.

The cells of `RowsPerUnit` have noise. From the first rung on, units are believed to be at a rung as long as the next cells
add up to more than their noise does, or one cell further up is far above it. Above the last rung with units a quarter of a
deviation of them is allowed for, which are not seen. What each C takes off follows. Of all powers of two that C is taken
whose square error is least, in a group of the usual size: a C between two rungs is judged by the chord between what these
take off, which is never less than it takes off itself.

Ratios and quantiles change less than counts do by the rows that are taken off, since the others are like these, more or less:
a row counts for a sixteenth there. With a 32nd averages of medical records, where who is sicker has more rows and higher
values, erred by three margins; with all of it those that do not depend on how often somebody comes erred 18 times as much as
with the best C.

The constants were chosen on numbers of rows as trips, flights and laboratory results have them, on power laws, lognormal and
equal numbers, and on one row each, for counts, averages and shares at ε = 1, 0.1 and 0.01. Beside the best C in hindsight the
error is 2.4 times as large (the geometric mean), and five times at most in nine of ten cells. Half a deviation more or less
of `SEEN`, or two more of `_FAR`, changed that by a twentieth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, hypot, inf, sqrt

from dpsql.accounting.zcdp import rho_of
from dpsql.privacy.accuracy.margin import largest_share
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.rows_per_unit import SHARE, ChosenBound, RowsPerUnit, ends_of
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.block import epsilon_parts
from dpsql.privacy.mechanisms.known_mechanisms import mechanism

SEEN, _NEXT = 2.25, 3
"""How many standard deviations of noise units are above, to be there; and how many next cells may be added up for it."""
_FAR = 5.5
"""How many by which a cell further up is: of many cells one may be large by chance."""
_ONE_UNIT = 0.5
"""And how many units at least: where a great ε leaves so little noise, a part of a unit is noise all the same."""
_EXPECTED, _ROWS_BELOW = 4, 8
"""How many times as many rows as the policy expects there may be, or as are seen in units that have fewer."""
OF_RATIOS = 1 / 16
"""How much a row that is taken off matters to a ratio or a quantile, beside a count: means of features lie that far off."""
UNSEEN = 0.25
"""How many units there may be above the last rung that has some, in standard deviations of a cell, when C is chosen."""
DOUBT = (0.75, -0.25)
"""For margins: the cells above that rung are taken for units with so many standard deviations more, and none below 0."""
DOUBT_OF_FEW = (1.0, 0.5)
"""The same where few rows count beside those that units at the next rung may have without being seen."""
FEW, _FEW_OF_AIMED = 10, 4.5
"""How many times as many rows as these have to count to be more than few.

With 2 sums of a fortnight's results, of which 40 patients have more than twice C, were outside of their margins in silence in
22 of 100; with 4.5 so were sums over customers by a power law, of whom thirty have most rows, in 63 of 100. Where an error is
aimed at, the choice of C pays little, and with 10 a third of all answers would say so for nothing.
"""
_TYPICAL = 6
"""How many times as far as typically a chosen point's rank is off at the most, with 95 %: a bound over all buckets."""
_TWO_SIDED = 1.96
"""How many standard deviations of a sum of noise a margin at 95 % is."""


@dataclass(frozen=True, slots=True)
class NoisyLadder:
    """How many units there are at each rung of a ladder, as it was released."""

    rungs: Sequence[int]
    cells: Sequence[float]
    epsilon: Fraction
    expected_rows: int | None = None
    """What the policy says of the table's size: what would be many times as much is noise."""

    @classmethod
    def of(cls, search: RowsPerUnit, noisy: Sequence[int]) -> "NoisyLadder":
        """Build from a search and its released cells."""
        unit = search.sensitivity
        return cls(search.rungs, [cell / unit for cell in noisy], search.epsilon, search.relation.expected_rows)

    @property
    def deviation(self) -> float:
        """Return the standard deviation of each cell's noise, in units."""
        return sqrt(2) / float(self.epsilon)

    @property
    def top(self) -> int:
        """Return the place of the last rung at which units are seen; the first, if none are."""
        cells, rungs, sd = self.cells, self.rungs, self.deviation
        plausible = inf if self.expected_rows is None else float(_EXPECTED * self.expected_rows)

        def begins(place: int) -> bool:
            sums = (sum(cells[place : place + width]) for width in range(1, min(_NEXT, len(cells) - place) + 1))
            least = (max(SEEN * sd * sqrt(width), _ONE_UNIT) for width in range(1, _NEXT + 1))
            return any(few < units <= plausible / rungs[place] for units, few in zip(sums, least, strict=False))

        top = 0
        while True:
            while top + 1 < len(cells) and begins(top + 1):
                top += 1
            below = sum(max(cell, 0.0) * rung for cell, rung in zip(cells[: top + 1], rungs, strict=False))
            most = max(_ROWS_BELOW * below, 0.0 if self.expected_rows is None else plausible)
            far = [
                place
                for place in range(top + 1, len(cells))
                if max(_FAR * sd, _ONE_UNIT) < cells[place] <= most / rungs[place]
            ]
            if not far:
                return top
            top = far[-1]

    def above(self) -> list[float]:
        """Return how many units are above each rung, as far as they are seen: at no rung more than at the one below."""
        top, number = self.top, len(self.cells)
        above = [0.0] * number
        for place in range(top - 1, -1, -1):
            above[place] = max(above[place + 1] + self.cells[place + 1], above[place + 1])
        return above

    def cut(self, rows: int, keeping: float = 1.0) -> float:
        """Return how many rows a C takes off the units that are seen; `keeping` is the share of each one's that remains."""
        above, first = self.above(), self.rungs[0] * keeping
        units = max(above[0] + self.cells[0], 0.0)
        return self._taken_off(above, rows, keeping) + max(first - rows, 0.0) * units

    def reach(self, rows: int, keeping: float = 1.0) -> float:
        """Return how far what a C takes off may be from `cut`, with 95 %: by noise, and by units that are not seen."""
        top = self.top
        over = [max(rung * keeping - rows, 0.0) for rung in self.rungs[: top + 1]]
        noise = _TWO_SIDED * self.deviation * hypot(*over)
        return hypot(noise, self._doubted(top, rows, (_TWO_SIDED, *DOUBT[1:]), keeping))

    def _taken_off(self, above: Sequence[float], rows: int, keeping: float = 1.0) -> float:
        """Return Σ max(n − C, 0) over units of which so many are above each rung, and fewer evenly up to the next one."""
        # Asked of each C that there may be: most rungs have nobody above them, or are below C.
        steps = zip(self.rungs, self.rungs[1:], above, strict=False)
        return sum(
            (high * keeping - max(low * keeping, rows)) * units
            for low, high, units in steps
            if units and high * keeping > rows
        )

    def _doubted(self, top: int, rows: int, doubt: Sequence[float], keeping: float = 1.0) -> float:
        """Return how many rows a C takes off units that may be at the rungs above the last one that has some."""
        cells, rungs = self.cells[top + 1 :], self.rungs[top + 1 :]
        return sum(
            max(cell + more * self.deviation, 0.0) * max(rung * keeping - rows, 0.0)
            for cell, rung, more in zip(cells, rungs, doubt, strict=False)
        )

    def chosen(
        self, measurement: Sums | Histogram, groups: int = 1, *, paid: float | None = None, aimed: bool = False
    ) -> ChosenBound:
        """Return the C for a measurement of so many groups, which pays `paid` or what goes with the ladder's own ε.

        `aimed` says that it aims at an error.
        """
        top, seen = self.top, self.above()
        allowed = [*seen[:top], UNSEEN * self.deviation, *seen[top + 1 :]]
        noise = noise_of_row(measurement) / (float(self.epsilon * SHARE) if paid is None else paid)
        bounds = powers_of_two(self.rungs[-1])
        if isinstance(measurement, Histogram) and measurement.end is not None:  # an extreme: as far as anybody is seen
            bounds = [c for c in bounds if c >= 2 * self.rungs[top]][:1] or bounds[-1:]
        numbers = measurement.bound.rows if measurement.end is not None else 0
        adds_up = isinstance(measurement, Sums) and (numbers or not measurement.of_ratios)
        # Where C is for a number of each of a unit's rows, the unit stands here with the largest, and others may be as large.
        times = max(numbers // max(groups, 1), 1)  # keys that were searched for may be none
        matters = times * (1.0 if adds_up else OF_RATIOS) / largest_share(groups)
        errors = [hypot(self._taken_off(allowed, c) * matters, max(numbers, 1) * c * noise) for c in bounds]
        rows = bounds[errors.index(min(errors))]
        few = self._has_few(top, rows, _FEW_OF_AIMED if aimed else FEW)
        return ChosenBound(
            rows,
            math.ceil(self.cut(rows) * times),
            math.ceil(self._doubted(top, rows, DOUBT_OF_FEW if few else DOUBT)),
            few,
        )

    def _has_few(self, top: int, rows: int, times: float) -> bool:
        """Return whether fewer rows count than so many times those that units at the next rung may have, unseen."""
        seen = zip(self.cells[: top + 1], self.rungs, strict=False)
        counted = sum(units * min(rung, rows) for units, rung in seen)
        return counted < _enough(self.deviation, self.rungs[min(top + 1, len(self.rungs) - 1)], times)


def doubt_to_expect(search: RowsPerUnit, rows: int) -> int:
    """Return the doubt of a C of so many rows, on average over the ladder's noise, where nobody has more.

    The two cells above hold noise alone, z with P(|z| > t) = exp(−t/b), and count by max(z + m, 0): that is m + b/2·exp(−m/b)
    on average, and b/2·exp(m/b) for an m below 0.
    """
    scale, expected = float((_NOISE if search.is_by_length else 1) / search.epsilon), search.relation.expected_rows
    deviation, above = sqrt(2) * scale, [rung for rung in search.rungs if rung > rows]
    few = expected is not None and above and expected < _enough(deviation, above[0], FEW)
    in_doubt = [more * deviation for more in (DOUBT_OF_FEW if few else DOUBT)]
    units = [max(more, 0.0) + scale / 2 * exp(-abs(more) / scale) for more in in_doubt]
    return math.ceil(sum(number * (rung - rows) for number, rung in zip(units, above, strict=False)))


def _enough(deviation: float, next_rung: int, times: float) -> float:
    """Return how many rows are so many times those that units at the next rung may have without being seen."""
    return times * SEEN * deviation * next_rung


def powers_of_two(last: int) -> list[int]:
    """Return what C may be: 1, 2, 4, 8 … below the end of a ladder, and that."""
    return [*(1 << power for power in range((last - 1).bit_length())), last]


def noise_of_row(measurement: Sums | Histogram) -> float:
    """Return the noise's standard deviation for C = 1 and ε = 1, in rows; of a chosen point, how far its rank is off."""
    if isinstance(measurement, Histogram):
        ranks = [ranks for q in measurement.points if (ranks := measurement.ranks(q)) is not None]
        unit = measurement.bound.rows / float(measurement.epsilon)
        return max(ranks) / unit / _TYPICAL if ranks else sqrt(2)
    law, blocks = mechanism(measurement.mechanism), measurement.blocks
    return sqrt(max(float(law.variance(block, blocks)) for block in blocks))


# The C that follows from a released ladder of lengths and numbers of rows (`lengths`): post-processing, all of it.
#
# As for the ladder of rows (`noisy_ladder`), units are believed to be at lengths up to the last rung at which they are seen.
# How many rows each of a length has is told by the cells beside it, and is between once and √groups times its length. That C
# is taken whose square error is least, in a group of the usual size, of what it takes off and of Gaussian noise.


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
        few = counted < _enough(deviation, next_rung, FEW)
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
