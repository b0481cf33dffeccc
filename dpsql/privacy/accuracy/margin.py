"""The half-width of the 95 % interval of one released statistic, for `dpsql.margin()`: from noisy values alone."""

from collections.abc import Mapping
from fractions import Fraction

from dpsql.privacy.accuracy.convolution import Piece, reach
from dpsql.privacy.accuracy.noise_quantile import LEVEL
from dpsql.privacy.features.blocks import readable_features
from dpsql.privacy.features.feature import ONE, Shape
from dpsql.privacy.features.gradient import Number, Weights
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.lattice import on_lattice
from dpsql.privacy.features.readout import Estimates, Readout
from dpsql.privacy.features.variance import combined
from dpsql.privacy.measurement.rounding import USUAL_ROWS
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.rewrite.translate.aggregates import Moment

_COUNT = Moment("count", ())

_SEEN = 0.1
"""The share of the noise from which on a margin counts what rounding may do: lattices are chosen so that it stays below."""


def half_width(measurement: Sums, readout: Readout, found: Estimates, level: float = LEVEL) -> float | None:
    """Return half the width of the interval in which the statistic lies with `level`; None where nothing can be said.

    It covers the clamped, bounded relation, not the bias of clamping.
    """

    def reached(weighted: Weights) -> float:
        noise = _pieces_reach(measurement, combined(weighted, readable_features(measurement.features)), level)
        rounding = _rounding_reach(measurement, weighted, found)
        return noise + rounding if rounding > noise * _SEEN else noise

    return statistic(readout.moment.name).half_width(readout, found, reached)


def shown_half_width(measurement: Sums, readout: Readout, found: Estimates) -> float | None:
    """Return the half-width at 95 % of a statistic as it is shown, which of whole numbers is rounded."""
    width = half_width(measurement, readout, found)
    return None if width is None else width + statistic(readout.moment.name).rounding(readout)


def _rounding_reach(measurement: Sums, weighted: Weights, found: Estimates) -> float:
    """Return how far values are off in a weighted sum of features, in rows, if all are rounded to the same side.

    What is rounded by half a step of u, 1/2S, is off by that in u and by up to four times that in 2u² and in u·v.
    """
    rows = max(found.get(ONE, 0.0), 0.0) if ONE in found else measurement.relation.expected_rows or USUAL_ROWS
    off = Fraction(0)
    for feature, weight in weighted.items():
        values = [scaled for scaled in (feature.x, feature.y) if scaled is not None]
        if not all(on_lattice(feature, scaled, measurement.lattice) for scaled in values):
            off += abs(Fraction(weight)) * (1 if feature.shape in {Shape.VALUE, Shape.SIGNED} else 4)
    return float(rows * off / (2 * measurement.lattice))


def distinct_half_width(measurement: Sums) -> float:
    """Return the half-width at 95 % of a distinct count, a whole number like any count."""
    return shown_half_width(measurement, Readout(_COUNT, ONE), {ONE: 0.0}) or 0.0


def first_width(measurement: Sums) -> float:
    """Return the half-width of the noisiest coordinate by itself, in rows."""
    return max(_pieces_reach(measurement, {block.places[0]: 1}) for block in measurement.blocks)


def _pieces_reach(measurement: Sums, onto: Mapping[int, Number], level: float = LEVEL) -> float:
    """Return how far the noise of a weighted sum of coordinates reaches, in rows."""
    pieces = []
    for block in measurement.blocks:
        for law, places in mechanism(measurement.mechanism).laws(block):
            sizes = tuple(abs(float(onto[i])) for i in places if onto.get(i))
            pieces += [Piece(law, sizes)] if sizes else []
    return reach(pieces, measurement.scale / measurement.steps_per_row, level)
