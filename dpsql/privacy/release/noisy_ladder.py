"""How many units have how many rows, read off what was released of it: post-processing, as all that follows.

The cells of `RowsPerUnit` have noise. From the first rung on, units are assumed as long as the cells next above a rung
add up to more than their noise does, or any cells further up to far more. Beyond that, each rung is assumed to have half
as many as the one below, and the first of these just can't be seen. If more are seen well at some rung, the rungs above
it, up to the last with units, are assumed to fall as they did just below it, which is slower where tails are heavy. The
part that each C takes off follows. For margins tails are assumed to be heavier than for the choice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import hypot, inf, sqrt

from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit

_SEEN = {1: 2.5, 2: 2.5, 4: 2.5, 8: 2.25, 16: 2.25}
"""How many standard deviations of noise units have to be above, to be there: by how many cells are added up."""
_FAR = dict.fromkeys((1, 2, 3), 5.5)
"""How many they have to be above by further up, where there are many cells of which one may be large by chance."""
_ONE_UNIT = 0.5
"""And how many units at least: where a great ε leaves so little noise, a part of a unit is noise all the same."""
_TWO_SIDED = 1.96
"""How many standard deviations of a sum of noise a margin at 95 % is."""
_CERTAINLY = 1.25
"""How many such margins a number is above that one of a hundred is by chance."""
_UNEXPECTED, _BEYOND = 4, 8
"""How many times as many rows as the policy expects there may be, or as are seen in units that have fewer."""
_UNSEEN = 0.5
"""How many units there may be that are not seen, in standard deviations of a cell."""
_FALLING = 0.5
"""By which factor they become fewer with each rung."""


@dataclass(frozen=True, slots=True)
class Tail:
    """How the units above a rung become fewer with each rung, by those below it."""

    seen: float
    """How many standard deviations of a cell they have to be to be seen well."""
    most: float
    """The slowest: with 1/√2, as rungs are √2 apart, there would be no end to the rows of all units above."""
    power: float
    """Tails become thinner, so that it is faster than it was below."""
    unseen: float
    """How many there may be where none is seen any more, in standard deviations of a cell."""
    beyond: float = _UNSEEN
    """How many are assumed above the last rung that has some."""


FOR_CHOICE, FOR_MARGINS = Tail(6, 0.6, 1.3, _UNSEEN), Tail(4, 0.65, 1.0, 1.0)
FOR_TARGETS = Tail(6, 0.6, 1.3, _UNSEEN / 4, _UNSEEN / 4)
"""Where none is seen there most likely is none: a fourth of what the choice allows for, which is to be safe, counts."""
_UNSEEN_UNITS, _UNSEEN_RUNGS = 2, 4
"""How many units, in standard deviations of a cell, may be so many rungs further up than any is seen."""
_LEAST, _BACK = 0.35, 2
"""The fastest, and by how many rungs it is told."""


@dataclass(frozen=True, slots=True)
class NoisyLadder:
    """How many units there are at each rung of a ladder, as it was released."""

    rungs: Sequence[int]
    cells: Sequence[float]
    epsilon: Fraction
    plausible: float = inf
    """How many rows there can be, as the policy expects: what looks like more is noise."""

    @classmethod
    def of(cls, search: RowsPerUnit, noisy: Sequence[int]) -> "NoisyLadder":
        """Build from a search and its released cells."""
        expected, unit = search.relation.expected_rows, search.sensitivity
        plausible = inf if expected is None else float(expected * _UNEXPECTED)
        return cls(search.rungs, [cell / unit for cell in noisy], search.epsilon, plausible)

    @property
    def deviation(self) -> float:
        """Return the standard deviation of each cell's noise, in units."""
        return sqrt(2) / float(self.epsilon)

    def above(self, tail: Tail) -> list[float]:
        """Return how many units are above each rung."""
        above, top = self._seen(tail.beyond)
        sd = self.deviation
        last = max((place for place, number in enumerate(above) if number > tail.seen * sd), default=None)
        if last is None:
            return above
        before = max(last - _BACK, 0)
        slower = (above[last] / above[before]) ** (tail.power / (last - before)) if before < last else tail.most
        factor = min(max(slower, _LEAST), tail.most)
        for place in range(last + 1, len(above)):
            like_below = above[last] * factor ** (place - last)
            most = inf if place < top else tail.unseen * sd * tail.most ** (place - top)
            above[place] = max(above[place], min(like_below, most))
        return above

    def _seen(self, unseen: float = _UNSEEN) -> tuple[list[float], int]:
        """Return how many units are above each rung, as far as they are seen or may be, and above which none is seen."""
        sd, cells, last = self.deviation, self.cells, len(self.cells) - 1

        def seen(place: int, thresholds: Mapping[int, float], least: float = 0, most: float = inf) -> bool:
            sums = ((sum(cells[place : place + w]), threshold * sd * sqrt(w)) for w, threshold in thresholds.items())
            return any(max(noise, least) < units <= most for units, noise in sums)

        def on(top: int) -> int:
            while top < last and seen(top + 1, _SEEN, _ONE_UNIT):
                top += 1
            return top

        near = on(0)
        rows = sum(cell * rung for cell, rung in zip(cells[: near + 1], self.rungs, strict=False))
        most = max(self.plausible, _BEYOND * rows)
        beyond, rungs = range(last, near, -1), self.rungs
        far = (place for place in beyond if seen(place, _FAR, _ONE_UNIT, most / rungs[place]))
        top = on(next(far, near))
        above = [unseen * sd * _FALLING ** max(place - top, 0) for place in range(last + 1)]
        for place in range(top - 1, -1, -1):
            above[place] = max(above[place + 1] + cells[place + 1], above[place + 1])
        return above, top

    def cut(self, rows: int, keeping: float = 1.0) -> tuple[float, float]:
        """Return how many rows a C takes off all units, as it seems, and the half-width of the 95 % interval of that.

        `keeping` is the share of each unit's rows that a condition keeps. Half of what may be there and not be seen counts.
        """
        _, top = self._seen()
        over = [max(rung * keeping - rows, 0.0) for rung in self.rungs]
        seen = sum(cell * more for cell, more in zip(self.cells, over[: top + 1], strict=False))
        unseen = _UNSEEN_UNITS * self.deviation * over[min(top + _UNSEEN_RUNGS, len(over) - 1)]
        return max(seen, 0.0) + unseen / 2, hypot(_TWO_SIDED * self.deviation * hypot(*over[: top + 1]), unseen)

    def unseen(self, rows: int, counted: float, reach: float) -> float:
        """Return how many of the rows that count with C = `rows` are of units that are not seen here; 0 within the noise.

        `reach` is how far the noise of what is `counted` reaches.
        """
        _, top = self._seen()
        most = [min(rung, rows) for rung in self.rungs[: top + 1]]
        left = counted - sum(cell * weight for cell, weight in zip(self.cells, most, strict=False))
        noise = hypot(reach, _TWO_SIDED * self.deviation * hypot(*most))
        return left if left > _CERTAINLY * noise else 0.0
