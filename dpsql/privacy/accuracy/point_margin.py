"""How far a chosen bucket's value may be from the quantile, or from the extreme: from what was chosen alone."""

import math
from collections.abc import Sequence
from fractions import Fraction

from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.possible import Possible
from dpsql.privacy.mechanisms.extreme import BEYOND

_SECOND = 10**6


def point_half_width(
    measurement: Histogram, chosen: Sequence[int], cut: float = 0.0, possible: Possible | None = None
) -> float | None:
    """Return the half-width of the 95 % interval, of dates in days, of timestamps in seconds; None where there is no point.

    An extreme may be anywhere between the bucket and its end of the interval: that a single row is there changes no answer
    by much, so that nothing narrower is true of all data. The bucket may lie beyond it by a few.

    `cut` is how many rows a C may take off. If all of these lay on one side, the rank of a quantile q would be off
    by max(q, 1 − q) times as many. The values around it are taken to be as dense as those that noise may reach.
    `possible` are the values of which one is returned.
    """
    bucket = chosen[0]
    if bucket >= measurement.number:
        return None
    if measurement.extremes:
        ends, (point,) = measurement.x.interval, measurement.points
        value = measurement.value(bucket) if possible is None else possible.of_bucket(measurement, bucket, point)
        inside = ends.high - value if measurement.points[0] else value - ends.low
        width = max(inside, _half_width(measurement, min(BEYOND, measurement.number - 1), bucket, possible))
    else:
        width = _half_width(measurement, chosen[1], bucket, possible) * _widened(measurement, cut)
    return float(width / (_SECOND if measurement.x.expr.type.is_moment else 1))


def _half_width(measurement: Histogram, buckets: int, at: int, possible: Possible | None) -> Fraction:
    if possible is None:
        return measurement.half_width(buckets, at)
    return possible.half_width(measurement, buckets, at, measurement.points[0])


def _widened(measurement: Histogram, cut: float) -> Fraction:
    """Return how many times as far off a point may be for what a C takes off, as by noise alone."""
    (q,) = measurement.points
    ranks = measurement.ranks(q)
    off = float(max(q, 1 - q)) * cut / ranks if ranks else 0.0
    return Fraction(math.hypot(1.0, off))
