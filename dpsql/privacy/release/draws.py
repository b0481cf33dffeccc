"""Releases of one measurement, each with noise of its own, read together by inverse variance: post-processing."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.privacy.accuracy.margin import Margins, largest_share
from dpsql.privacy.features.feature import ONE, Feature
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import Measured, Measurement, Searched, as_chosen
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import KeyRow
from dpsql.privacy.release.profile import TableProfile
from dpsql.privacy.release.release import Release, estimates
from dpsql.rewrite.ir.relation import reads_all

Draw = tuple[Measured, Release]
Found = Mapping[Feature, float]
"""Noisy sums of features, in rows."""
_DIGITS = 10**12
_LIKELY = 1 / 4
"""The share of what margins allow for that errors are most likely off by."""


@dataclass(frozen=True, slots=True)
class Draws:
    """The releases of one measurement, at one ε or at several; at least one.

    The noise of each has a variance proportional to 1/ε², so that their mean with weights ε² has the least variance there
    can be: as much as one release at √(Σ ε²). Groups that are not declared are found once, and then there is one release.
    """

    drawn: tuple[Draw, ...]
    profile: TableProfile | None = None
    """The table's profile, where that tells what a C takes off: units have no more rows here."""

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
    def cut(self) -> float:
        """Return how many rows C takes off, as it seems; 0 where nothing tells."""
        chosen, (by_profile, _) = self.best[1].chosen, self._by_profile
        return by_profile if chosen is None or (chosen.few and by_profile) else float(chosen.cut)

    @property
    def doubted(self) -> float:
        """Return how many rows C may take off, for margins: of units that are seen, and of others that may be there."""
        chosen, by_profile = self.best[1].chosen, sum(self._by_profile)
        return by_profile if chosen is None or (chosen.few and by_profile) else float(chosen.cut + chosen.doubt)

    @property
    def is_of_few(self) -> bool:
        """Return whether C was chosen for so few units that heavy ones may have been missed, and no profile tells of them."""
        chosen = self.best[1].chosen
        return chosen is not None and chosen.few and not sum(self._by_profile)

    @property
    def likely_cut(self) -> float:
        """Return how many rows C takes off, most likely: of what it may take off units that were not seen a fourth counts.

        Where next to nothing is known of these it is all of that.
        """
        return self.doubted if self.is_of_few else self.cut + (self.doubted - self.cut) * _LIKELY

    @property
    def doubted_of_group(self) -> float:
        """Return how many rows C may take off a group of the usual size, which its chosen values' widths do not hold yet."""
        if isinstance(self.best[0], Histogram) and self.best[1].chosen is not None:
            return 0.0  # they were chosen for that
        return self.doubted / largest_share(len(self.best[0].groups.grouped))

    @property
    def missing(self) -> float | None:
        """Return which share of all that is summed C takes off, as it seems; None where nothing tells."""
        if self.best[1].chosen is None and self.profile is None:
            return None
        cut = self.likely_cut
        return cut / (max(self.counted, 0.0) + cut) if cut else 0.0

    @property
    def counted(self) -> float:
        """Return how many rows, or what else C bounds, seem to count in all groups; 0 of what is chosen, not counted."""
        measured, read = self.best[0], self.reader()
        if not isinstance(measured, Sums):
            return 0.0
        size = _size if measured.end is None else measured.end.total
        return sum(size(read(group)) for group in range(self.groups))

    @property
    def _by_profile(self) -> tuple[float, float]:
        """Return how many rows C takes off by the profile of the table, and ± how many; 0 where that can't be told."""
        measured = self.best[0]
        if self.profile is None or not isinstance(measured, (Sums, Histogram)):
            return 0.0, 0.0
        whole, rows = reads_all(measured.relation, measured.where), measured.bound.rows
        if isinstance(measured, Histogram):
            return self.profile.cut(rows) if whole else (0.0, 0.0)  # nobody counts the rows that a condition keeps
        # Of sums by themselves the size of values is bounded: in this, units have a smaller share of what they have in rows.
        return self.profile.cut(rows, None if whole and not measured.weighs_norms else self.counted)

    def bounded_by(self, profile: TableProfile) -> "Draws":
        """Return them with the profile of their table."""
        return replace(self, profile=profile)

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
            margins = Margins.of(measured, self.doubted, of_all, self.groups)
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
