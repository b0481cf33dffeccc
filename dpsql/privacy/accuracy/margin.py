"""The half-width of the 95 % interval of one released statistic, for `dpsql.margin()`: from noisy values alone."""

from collections.abc import Mapping

from dpsql.privacy.accuracy.convolution import Piece, reach
from dpsql.privacy.accuracy.noise_quantile import LEVEL
from dpsql.privacy.features.blocks import readable_features
from dpsql.privacy.features.gradient import Number, Weights
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.readout import Estimates, Readout
from dpsql.privacy.features.variance import combined
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.known_mechanisms import mechanism


def half_width(measurement: Sums, readout: Readout, found: Estimates, level: float = LEVEL) -> float | None:
    """Return half the width of the interval in which the statistic lies with `level`; None where nothing can be said.

    It covers the clamped, bounded relation, not the bias of clamping.
    """

    def reached(weighted: Weights) -> float:
        return _pieces_reach(measurement, combined(weighted, readable_features(measurement.features)), level)

    return statistic(readout.moment.name).half_width(readout, found, reached)


def shown_half_width(measurement: Sums, readout: Readout, found: Estimates) -> float | None:
    """Return the half-width at 95 % of a statistic as it is shown, which of whole numbers is rounded."""
    width = half_width(measurement, readout, found)
    return None if width is None else width + statistic(readout.moment.name).rounding(readout)


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
