"""How far a chosen bucket's value may be from the quantile, or from the extreme: from what was chosen alone."""

from collections.abc import Sequence

from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.mechanisms.extreme import BEYOND

_SECOND = 10**6


def point_half_width(measurement: Histogram, chosen: Sequence[int]) -> float | None:
    """Return the half-width of the 95 % interval, of dates in days, of timestamps in seconds; None where there is no point.

    An extreme may be anywhere between the bucket and its end of the interval: that a single row is there changes no answer
    by much, so that nothing narrower is true of all data. The bucket may lie beyond it by a few.
    """
    bucket = chosen[0]
    if bucket >= measurement.number:
        return None
    if measurement.extremes:
        ends, value = measurement.x.interval, measurement.value(bucket)
        inside = ends.high - value if measurement.points[0] else value - ends.low
        width = max(inside, measurement.half_width(min(BEYOND, measurement.number - 1), bucket))
    else:
        width = measurement.half_width(chosen[1], bucket)
    return float(width / (_SECOND if measurement.x.expr.type.is_moment else 1))
