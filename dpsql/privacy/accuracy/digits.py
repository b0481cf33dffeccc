"""The digits of a real number that mean something: to a tenth of the power of ten of its noise's scale.

avg(fare) 9.463276391425301, noise of scale 0.0277  →  9.463; its margin 0.08290296  →  0.084, rounded up with half a unit

Post-processing: of released values and public scales alone. What has no released scale is not rounded.
"""

import math
from decimal import ROUND_CEILING, Decimal

from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.features.gradient import Weights
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.readout import Estimates, Readout

_FINER = 1
"""How many places further than the first digit of the noise's scale."""
_OF_MARGIN = 3.0
"""How many scales of Laplace noise a margin is."""
_MOST = 300
"""Places that double precision has, on either side of the point."""


class Deviation:
    """How far the noise of a weighted sum of features deviates, as a `Reach`."""

    def __init__(self, margins: Margins) -> None:
        self._end, self._readable = margins.end, margins.readable
        self._unit = {place: math.sqrt(law.variance) * margins.unit for law, places in margins.laws for place in places}
        """The deviation of each coordinate's noise, in rows: no two vary together."""
        self._onto: dict[Feature, list[tuple[int, float]]] = {}

    def __call__(self, weighted: Weights) -> float:
        """Return the root of its variance, in rows."""
        sizes: dict[int, float] = {}
        for feature, weight in (weighted if self._end is None else self._end.onto_wide(weighted)).items():
            if weight:
                for place, times in self._of(feature):
                    sizes[place] = sizes.get(place, 0.0) + float(weight) * times
        return math.sqrt(sum(size * size for size in sizes.values()))

    def _of(self, feature: Feature) -> list[tuple[int, float]]:
        if feature not in self._onto:
            self._onto[feature] = [
                (place, float(times) * self._unit[place]) for place, times in self._readable[feature].items()
            ]
        return self._onto[feature]


class NoiseScales:
    """The scales of statistics' noise; what is common to the groups of an answer is computed once."""

    def __init__(self) -> None:
        self._deviations: dict[int, tuple[Margins, Deviation]] = {}
        self._of_all: dict[tuple[int, int], tuple[Readout, float | None]] = {}
        """The scales that are the same for each group, by margins and readout."""

    def of(self, margins: Margins, readout: Readout, estimates: Estimates) -> float | None:
        """Return the scale of Laplace noise that varies as much as that of a statistic; None where there is none."""
        if margins.end is not None or statistic(readout.moment.name).located:
            return self._of(margins, readout, estimates)
        known = self._of_all.get((id(margins), id(readout)))
        if known is None:
            known = readout, self._of(margins, readout, estimates)
            self._of_all[id(margins), id(readout)] = known
        return known[1]

    def _of(self, margins: Margins, readout: Readout, estimates: Estimates) -> float | None:
        if id(margins) not in self._deviations:
            self._deviations[id(margins)] = margins, Deviation(margins)
        _, deviation = self._deviations[id(margins)]
        readout, estimates = margins.own(readout, estimates)
        varied = statistic(readout.moment.name).deviation(readout, estimates, deviation)
        return None if varied is None or not 0 < varied < math.inf else varied / math.sqrt(2)


def last_place(scale: float | None) -> int | None:
    """Return the exponent of the last place that is shown; None where all are."""
    return None if scale is None or not 0 < scale < math.inf else math.floor(math.log10(scale)) - _FINER


def place_of_margin(width: float | None) -> int | None:
    """Return the last place that is shown of what has a margin, and no other scale."""
    return None if width is None else last_place(width / _OF_MARGIN)


def rounded(value: float | None, place: int | None) -> float | None:
    """Return a number up to a place."""
    if value is None or place is None or not math.isfinite(value) or abs(place) > _MOST:
        return value
    return round(value, -place)


def rounded_up(width: float | None, place: int | None, *, real: bool) -> float | None:
    """Return a margin up to a place, not smaller than it is, nor than it is with half a unit where the value is rounded."""
    if width is None or place is None or not math.isfinite(width) or abs(place) > _MOST:
        return width
    unit = Decimal(1).scaleb(place)
    units = (Decimal(repr(width)) / unit + (Decimal("0.5") if real else 0)).to_integral_value(ROUND_CEILING)
    return float(units * unit)
