"""The half-width of the 95 % interval of one released statistic, for `dpsql.margin()`: from noisy values alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.privacy.accuracy.convolution import Piece, reach
from dpsql.privacy.accuracy.noise_quantile import LEVEL
from dpsql.privacy.features.blocks import readable_features
from dpsql.privacy.features.chosen_end import ChosenEnd
from dpsql.privacy.features.feature import ONE, Feature, Shape
from dpsql.privacy.features.gradient import Number, Weights
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.lattice import on_lattice
from dpsql.privacy.features.readout import Estimates, Readout
from dpsql.privacy.features.statistic import Reach
from dpsql.privacy.features.variance import combined
from dpsql.privacy.measurement.rounding import foreseen
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.privacy.mechanisms.law import Law
from dpsql.rewrite.translate.rows.aggregates import Moment

_COUNT = Moment("count", ())
DOUBTED = 1.5
"""How many times what a C seems to take off it may take."""
_LARGER = 4
"""How many times as many rows as on average a group has, in which most rows are."""

_SEEN = 0.1
"""The share of the noise from which on a margin counts what rounding may do: lattices are chosen so that it stays below."""


@dataclass(frozen=True, slots=True)
class Margins:
    """The common part of the margins of all statistics and groups of one measurement."""

    laws: tuple[tuple[Law, tuple[int, ...]], ...]
    """Of each draw: its law, and the places of its coordinates."""
    unit: float
    """The noise's scale, in rows."""
    readable: Mapping[Feature, Mapping[int, Number]]
    rounded: Mapping[Feature, float]
    """By how much, in rows, a row is off in each sum whose values are rounded, if all are to the same side."""
    rows: int
    """How many rows there are thought to be where none are counted."""
    cut: float = 0.0
    """How many rows of a group its C takes off, as it seems, where it was chosen."""
    missing: float | None = None
    """The share of all rows that C takes off; None where C was declared, since nobody says it then."""
    chosen: bool = False
    """Whether the C was chosen: for means by what is thought to matter little to them; a profile tells of counts."""
    end: ChosenEnd | None = None
    """The end of the bounds of a unit's number, if C was chosen for that."""

    @classmethod
    def of(
        cls, measurement: Sums, cut: float = 0.0, missing: float | None = None, groups: int = 1, *, chosen: bool = False
    ) -> "Margins":
        """Build from a measurement, and what its C takes off all of so many groups together."""
        laws = tuple(law for block in measurement.blocks for law in mechanism(measurement.mechanism).laws(block))
        unit, readable = measurement.scale / measurement.steps_per_row, measurement.readable
        rows = foreseen(measurement.relation.expected_rows)
        of_group = cut / largest_share(groups)
        return cls(laws, unit, readable, _rounded(measurement), rows, of_group, missing, chosen, measurement.end)

    def times(self, factor: Fraction) -> "Margins":
        """Return those of so many times the noise."""
        return replace(self, unit=self.unit * float(factor))

    def half_width(self, readout: Readout, estimates: Estimates, level: float = LEVEL) -> float | None:
        """Return half the width of the interval in which the statistic lies with `level`; None where nothing can be said.

        It covers the clamped, bounded relation, not the bias of clamping.
        """
        readout, estimates = self._own(readout, estimates)
        return statistic(readout.moment.name).half_width(readout, estimates, self.reached(estimates, level))

    def spread(self, readout: Readout, estimates: Estimates, level: float) -> float | None:
        """Return how far noise moves the statistic with `level`, also where part of that is outside of what is possible."""
        readout, estimates = self._own(readout, estimates)
        return statistic(readout.moment.name).spread(readout, estimates, self.reached(estimates, level))

    def _own(self, readout: Readout, estimates: Estimates) -> tuple[Readout, Estimates]:
        return (readout, estimates) if self.end is None else self.end.own(readout, estimates)

    def reached(self, estimates: Estimates, level: float = LEVEL) -> Reach:
        """Return the function to how far noise, and rounding where it is seen, moves a weighted sum of features."""
        rows = max(estimates.get(ONE, 0.0), 0.0) if ONE in estimates else self.rows

        def reached(weighted: Weights) -> float:
            wide = weighted if self.end is None else self.end.onto_wide(weighted)
            noise = self.reach(combined(wide, self.readable), level)
            each = weighted if self.end is None else {self.end.widened(f): w for f, w in weighted.items()}
            rounding = rows * sum(abs(float(w)) * self.rounded[f] for f, w in each.items() if f in self.rounded)
            return noise + rounding if rounding > noise * _SEEN else noise

        return reached

    def shown(self, readout: Readout, estimates: Estimates) -> float | None:
        """Return the half-width at 95 % of a statistic in its shown form, which for whole numbers is rounded.

        Where its C was chosen that is of noise and of what the C takes off: how much that is is told by noisy numbers and by
        what may be there and not be seen, so that half as much again is allowed for.
        """
        width, kind = self.half_width(readout, estimates), statistic(readout.moment.name)
        if width is None:
            return None
        return math.hypot(width, DOUBTED * self.cut_off(readout, estimates)) + kind.rounding(readout)

    def cut_off(self, readout: Readout, estimates: Estimates) -> float:
        """Return by how much a statistic is off for what its C takes off, as it seems."""
        kind = statistic(readout.moment.name)
        if self.end is not None:
            values = [kind.estimate(readout, found) for found in (estimates, self.end.with_cut(estimates, self.cut))]
            return 0.0 if None in values else abs((values[1] or 0.0) - (values[0] or 0.0))
        counts = self.cut and (self.chosen or not kind.located)
        return self.cut * abs(kind.worth(readout, estimates)) if counts else 0.0

    def reach(self, onto: Mapping[int, Number], level: float = LEVEL) -> float:
        """Return how far the noise of a weighted sum of coordinates reaches, in rows."""
        pieces = []
        for law, places in self.laws:
            sizes = tuple(abs(float(onto[i])) for i in places if onto.get(i))
            pieces += [Piece(law, sizes)] if sizes else []
        return reach(pieces, self.unit, level)


def largest_share(groups: int) -> float:
    """Return how many groups there are as large as those in which most rows are."""
    return max(groups / _LARGER, 1.0)


def _rounded(measurement: Sums) -> Mapping[Feature, float]:
    """Return how far a row is off at most in each feature whose values are rounded.

    A value that is rounded by half a step of u, 1/2S, is off by that in u and by up to four times that in 2u² and in
    u·v.
    """
    rounded, points, end = dict[Feature, float](), measurement.lattice, measurement.end
    for feature in readable_features(measurement.features):
        values = [scaled for scaled in (feature.x, feature.y) if scaled is not None]
        if not all(on_lattice(feature, scaled, points) for scaled in values):
            off = (1 if feature.shape in {Shape.VALUE, Shape.SIGNED} else 4) / (2 * points)
            rounded[feature if end is None else end.widened(feature)] = off
    return rounded


def distinct_half_width(measurement: Sums, cut: float = 0.0) -> float:
    """Return the half-width at 95 % of a distinct count, a whole number like any count.

    Each pair of a unit and a group that a chosen C takes off is a unit less; values that it takes off others may have. `cut`
    is what it takes off one group.
    """
    margins = Margins.of(measurement)
    if measurement.distinct is CountOf.UNITS:
        margins = replace(margins, cut=cut)
    return margins.shown(Readout(_COUNT, ONE), {ONE: 0.0}) or 0.0


def first_width(measurement: Sums) -> float:
    """Return the half-width of the noisiest coordinate by itself, in rows."""
    margins = Margins.of(measurement)
    return max(margins.reach({block.places[0]: 1}) for block in measurement.blocks)
