"""Releases of one measurement, each with noise of its own, read together by inverse variance: post-processing."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.privacy.accuracy.margin import Margins, first_width, largest_share
from dpsql.privacy.features.feature import ONE, Feature
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import Measured, Measurement, Searched, as_chosen
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import KeyRow
from dpsql.privacy.release.noisy_ladder import NoisyLadder
from dpsql.privacy.release.profile import TableProfile
from dpsql.privacy.release.release import Release, estimates
from dpsql.rewrite.ir.relation import reads_all

Draw = tuple[Measured, Release]
Found = Mapping[Feature, float]
"""Noisy sums of features, in rows."""
_DIGITS = 10**12


@dataclass(frozen=True, slots=True)
class Draws:
    """The releases of one measurement, at one ε or at several; at least one.

    The noise of each has a variance proportional to 1/ε², so that their mean with weights ε² has the least variance there
    can be: as much as one release at √(Σ ε²). Groups that are not declared are found once, and then there is one release.
    """

    drawn: tuple[Draw, ...]
    profile: TableProfile | None = None
    """The table's profile, where that tells what a C takes off: units have no more rows here."""
    unseen: float = 0.0
    """How many rows that count are of units of which nothing was seen when C was chosen."""

    @classmethod
    def of(cls, *drawn: Draw) -> "Draws":
        """Build from releases of one measurement as it was planned: each with the C that was chosen for it."""
        return cls(tuple((_as_chosen(measurement, release), release) for measurement, release in drawn))

    def __post_init__(self) -> None:
        """See that none is there twice: what is paid for is stored by its ε, so that one ε has one release."""
        if len({measurement.epsilon for measurement, _ in self.drawn}) < len(self.drawn):
            raise InternalError

    def with_draw(self, measurement: Measured, release: Release) -> "Draws":
        """Return them with one more, which takes the place of one at the same ε."""
        others = tuple(draw for draw in self.drawn if draw[0].epsilon != measurement.epsilon)
        return Draws.of(*others, (measurement, release))

    @property
    def best(self) -> Draw:
        """Return the one with the least noise."""
        return max(self.drawn, key=lambda draw: draw[0].epsilon)

    @property
    def measurement(self) -> Measurement:
        """Return the measurement that alone would have as much noise as all; of choices the best counts, and no other.

        Raises:
            InternalError: it is none that outputs are read off.
        """
        best, _ = self.best
        if isinstance(best, Searched):
            raise InternalError
        if len(self.drawn) == 1 or isinstance(best, Histogram):
            return best
        return replace(best, epsilon=together(measurement.epsilon for measurement, _ in self.drawn))

    @property
    def cut(self) -> int:
        """Return how many rows C takes off, as it seems; 0 where nothing tells."""
        measured, release = self.best
        if release.chosen is None:
            return self._declared or 0
        of_unseen = 0 if self.profile is None else self.profile.beside(measured.bound.rows, self.unseen)
        return max(release.chosen.cut, of_unseen)

    @property
    def likely(self) -> float:
        """Return which part of `cut` is taken off most likely: margins are for more than that, targets for that."""
        chosen = self.best[1].chosen
        if chosen is None or chosen.likely is None or not self.cut:
            return 1.0
        return chosen.likely / max(chosen.cut, 1)

    @property
    def cut_of_group(self) -> float:
        """Return how many rows C takes off a group of the usual size, as it seems."""
        return self.cut / largest_share(len(self.best[0].groups.grouped))

    @property
    def missing(self) -> float | None:
        """Return which share of all that is summed C takes off, as it seems; None where nothing tells."""
        if self.best[1].chosen is None and self._declared is None:
            return None
        end = self.best[0].end if isinstance(self.best[0], Sums) else None
        total = sum(map(_size if end is None else end.total, self._every()))
        return self.cut / (max(total, 0.0) + self.cut) if self.cut else 0.0

    @property
    def _declared(self) -> int | None:
        """Return how many rows a declared C takes off, as a profile tells; None where it does not."""
        measured = self.best[0]
        if self.profile is None or not isinstance(measured, Sums) or measured.weighs_norms:
            return None
        if reads_all(measured.relation, measured.where):
            return self.profile.cut(measured.bound.rows, None)
        every = self._every()
        return (
            self.profile.cut(measured.bound.rows, sum(sums[ONE] for sums in every))
            if every and ONE in every[0]
            else None
        )

    def _every(self) -> list[Found]:
        """Return all sums that can be read, of every group."""
        read = self.reader()
        return [read(group) for group in range(self.groups)]

    def bounded_by(self, profile: TableProfile) -> "Draws":
        """Return them with the profile of their table."""
        return replace(self, profile=profile)

    def seen_by(self, ladder: NoisyLadder) -> "Draws":
        """Return them with what the choice of C did not see, if rows are counted: units that are few at each rung."""
        measured, every = self.best[0], self._every()
        if not isinstance(measured, Sums) or not every:
            return self
        reach = first_width(measured) * math.sqrt(len(every))
        if measured.end is not None:
            counted, reach = sum(map(measured.end.total, every)), reach * measured.worth
        elif measured.bounds_rows and ONE in every[0]:
            counted = sum(sums[ONE] for sums in every)
        else:
            return self
        return replace(self, unseen=ladder.unseen(measured.worth, counted, reach))

    @property
    def groups(self) -> int:
        """Return how many groups there are."""
        return len(self.best[1].numbers)

    def margins_by_place(self, *, missing: bool) -> Callable[[int | None], Margins | None]:
        """Return the function to the margins of a group, or for None such as no group's are above; None of no sums.

        `missing` says that it is asked which share of all rows the C takes off, for which all groups are read.
        """
        measured, of_all = self.measurement, self.missing if missing else None
        margins = None
        if isinstance(measured, Sums):
            chosen = self.best[1].chosen is not None
            margins = Margins.of(measured, self.cut, of_all, self.groups, chosen=chosen)
        return lambda _: margins

    @property
    def keys(self) -> Sequence[KeyRow] | None:
        """Return the groups, where the policy does not declare them."""
        return self.best[1].keys

    def reader(self) -> Callable[[int], Found]:
        """Return the function from a group's place to all sums that can be read of it; a histogram has none."""
        sums = [(measurement, release) for measurement, release in self.drawn if isinstance(measurement, Sums)]
        whole = sum((measurement.epsilon**2 for measurement, _ in sums), Fraction(0))
        readers = [(float(m.epsilon**2 / whole), estimates(m), release.numbers) for m, release in sums]

        def read(group: int) -> Found:
            every = [(weight, estimate(numbers[group])) for weight, estimate, numbers in readers]
            if len(every) == 1:
                return every[0][1]
            return {
                f: sum(weight * measured_sums[f] for weight, measured_sums in every)
                for f in (every[0][1] if every else ())
            }

        return read

    def chosen(self) -> Sequence[Sequence[int]]:
        """Return for each group the buckets that were chosen with the least noise; of sums the numbers are no buckets."""
        return self.best[1].numbers


def _as_chosen(measurement: Measured, release: Release) -> Measured:
    return measurement if release.chosen is None else as_chosen(measurement, release.chosen.rows)


def _size(sums: Found) -> float:
    """Return how many rows there seem to be, or where none are counted how large the largest sum is."""
    return sums[ONE] if ONE in sums else max(map(abs, sums.values()), default=0.0)


def together(epsilons: Iterable[Fraction], less: Fraction = Fraction(0)) -> Fraction:
    """Return √(Σ ε² − less²), rounded down: the ε at which one release has as much noise as all."""
    return Fraction(math.isqrt(int((sum(epsilon**2 for epsilon in epsilons) - less**2) * _DIGITS**2)), _DIGITS)
