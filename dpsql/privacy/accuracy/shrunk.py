"""Means of groups drawn towards the mean of all rows, as far as noise hides how they differ: empirical Bayes.

Of a group with N rows and the sum U of their values u in [−1, 1], and with the common mean μ, U − μ·N is N·(θ − μ) and
noise of the variance σ², where θ is the group's own mean. Take θ − μ for normal with the variance τ². Then its mean given
U and N is

    θ = μ + (U − μ·N) · τ²·N / (τ²·N² + σ²)

where nothing is divided by N, so that a group of which noise is all that is seen has μ. τ is not known: each of a row of
values is as likely as any other beforehand, and is weighed by how likely it makes what was released (Efron & Morris 1973;
Morris 1983). That is post-processing of released sums and of the public variances of their noise.

An error is the deviation of θ given all that, with those of τ and of μ. Groups are taken for alike: of many groups 19 of 20
lie within their margins, of one that is unlike the others nothing is said.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

import numpy as np
from numpy.typing import NDArray

from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.features.feature import FIRST, Estimates, Feature, Readout, Weights, mean_weights, row_count, scale
from dpsql.privacy.features.known_statistics import statistic

# The digits of a real number that mean something: to a tenth of the power of ten of its noise's scale.
#
# avg(fare) 9.463276391425301, noise of scale 0.0277  →  9.463; its margin 0.08290296  →  0.084, rounded up with half a unit
#
# Post-processing: of released values and public scales alone. What has no released scale is not rounded.

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


def round_to_place(value: float | None, place: int | None) -> float | None:
    """Return a number up to a place."""
    if value is None or place is None or not math.isfinite(value) or abs(place) > _MOST:
        return value
    return round(value, -place)


def round_margin_up(width: float | None, place: int | None, *, real: bool) -> float | None:
    """Return a margin up to a place, not smaller than it is, nor than it is with half a unit where the value is rounded."""
    if width is None or place is None or not math.isfinite(width) or abs(place) > _MOST:
        return width
    unit = Decimal(1).scaleb(place)
    units = (Decimal(repr(width)) / unit + (Decimal("0.5") if real else 0)).to_integral_value(ROUND_CEILING)
    return float(units * unit)


_NORMAL = 1.96
"""Deviations of a normal law within which it lies with 95 %."""
_SPREADS = np.geomspace(1 / 1024, 1, 41)
"""The values that τ may have, of half the width of the bounds."""
_LEAST = 1e-12
"""Of a variance: with next to no noise a group without rows has none at all."""
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShrunkMean:
    """What is said of one group."""

    value: float
    half_width: float
    """Within which the means of 19 of 20 groups lie."""


def shrunk_means(readout: Readout, groups: Sequence[tuple[Margins, Estimates]]) -> Sequence[ShrunkMean | None]:
    """Return the mean of each of some groups that have no rows in common, drawn towards that of all; total.

    None for all where there may be no row in any of them.
    """
    if not groups:
        return []
    read = [margins.own(readout, estimates) for margins, estimates in groups]
    own = read[0][0]
    n = np.array([row_count(own, estimates) for _, estimates in read], dtype=np.float64)
    u = np.array([estimates[own.at(FIRST.value)] for _, estimates in read], dtype=np.float64)
    if not (np.isfinite(n).all() and np.isfinite(u).all()) or n.sum() < 1:
        return [None] * len(groups)
    mu = float(np.clip(u.sum() / n.sum(), -1, 1))
    noise = _variances([margins for margins, _ in groups], own, mu)
    moved, deviation, weight = _posterior(n, u, noise, mu)
    by, cut = scale(own), 0.0
    if any(margins.cut for margins, _ in groups):
        cut = _common_cut(readout, groups)
    shown = []
    for place, (margins, estimates) in enumerate(groups):
        own_cut = margins.cut_off(readout, estimates) if cut else 0.0
        off = float(weight[place]) * own_cut + (1 - float(weight[place])) * cut
        width = math.hypot(_NORMAL * by.half * float(deviation[place]), off)
        value = by.middle + by.half * float(np.clip(mu + moved[place], -1, 1))
        shown.append(ShrunkMean(value, min(width, 2 * by.half)))
    return shown


def _variances(of_groups: Sequence[Margins], readout: Readout, mu: float) -> _Floats:
    """Return the variance of the noise of U − μ·N of each group, in rows."""
    known: dict[int, float] = {}
    for margins in of_groups:
        if id(margins) not in known:
            known[id(margins)] = max(Deviation(margins)(mean_weights(readout, mu)) ** 2, _LEAST)
    return np.array([known[id(margins)] for margins in of_groups], dtype=np.float64)


def _posterior(n: _Floats, u: _Floats, noise: _Floats, mu: float) -> tuple[_Floats, _Floats, _Floats]:
    """Return by how much each group's mean differs from μ, how far off that is, and how much the group's own sums weigh."""
    rows, off = np.maximum(n, 0.0), u - mu * n
    likely = np.array([-0.5 * np.sum(np.log(v) + off**2 / v) for v in ((t * rows) ** 2 + noise for t in _SPREADS)])
    likely = np.exp(likely - likely.max())
    likely /= likely.sum()
    first, second, weight, between = (np.zeros_like(n) for _ in range(4))
    for t, p in zip(
        _SPREADS, likely, strict=True
    ):  # one spread after the other: of many groups all would fill the memory
        v = (t * rows) ** 2 + noise
        moved = t**2 * rows / v * off
        first += p * moved
        second += p * (t**2 * noise / v + moved**2)
        weight += p * (t * rows) ** 2 / v
        between += p * (t * rows) ** 2
    of_mu = (noise.sum() + between.sum()) / n.sum() ** 2
    deviation = np.sqrt(np.maximum(second - first**2, 0.0) + (1 - weight) ** 2 * of_mu)
    return first, deviation, weight


def _common_cut(readout: Readout, groups: Sequence[tuple[Margins, Estimates]]) -> float:
    """Return how far off the mean of all rows may be for those that C takes off."""
    totals: dict[Feature, float] = {}
    for _, estimates in groups:
        for feature, value in estimates.items():
            totals[feature] = totals.get(feature, 0.0) + value
    widest = max((margins for margins, _ in groups), key=lambda margins: margins.cut)
    return widest.cutting(widest.cut_of_groups(len(groups))).cut_off(readout, totals)
