"""The values that an expression can have, of which MIN, MAX and percentile_disc return one.

max(date_trunc('day', t))  →  a bucket of 43 minutes  →  the day that begins in it, or the last one before it

A bucket is chosen first, whatever stands for it: so this is work on what was released, by public numbers alone.
"""

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction

from dpsql.errors import MissingBounds, Unsupported
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.rewrite.analysis.keys import listed_values
from dpsql.rewrite.functions.table import step_of
from dpsql.rewrite.ir.expr import Env, Expr, Ref

_MOST = 2**14
"""How many values are listed, as many as there may be buckets; of more it is only known what they are multiples of."""


@dataclass(frozen=True, slots=True)
class Possible:
    """Which values there can be."""

    listed: tuple[Fraction, ...] = ()
    """All of them, in order; where there are none it is the multiples of a step."""
    step: Fraction = Fraction(1)

    @classmethod
    def of(cls, expr: Expr, env: Env) -> "Possible | None":
        """Return the values of an expression; None where nothing is known of them.

        A column whose values are not declared has all multiples of its step: to list 15,001 of them takes 80 ms.
        """
        step = step_of(expr) if expr.type.is_number else None
        if isinstance(expr, Ref) and step and env[expr].values is None:
            return cls(step=step)
        try:
            values = {Fraction(value) for value in listed_values(expr, env, _MOST) if value is not None}
        except (MissingBounds, Unsupported):
            values = set()
        if values:
            return cls(tuple(sorted(values)))
        step = step_of(expr)
        return cls(step=step) if step else None

    def of_bucket(self, histogram: Histogram, index: int, point: Fraction) -> Fraction:
        """Return the value that stands for a bucket: the one nearest its middle, or beside it where there is none in it.

        There a largest value is the last one before, a smallest the next.
        """
        middle, (low, high) = histogram.value(index), histogram.ends(index, index)
        below, above = self._at_most(middle, histogram), self._at_least(middle, histogram)
        if below is None:
            return middle if above is None else above
        if above is None:
            return below
        if histogram.extremes and below < low and above > high:
            return below if point else above
        return below if middle - below <= above - middle else above

    def half_width(self, histogram: Histogram, buckets: int, index: int, point: Fraction) -> Fraction:
        """Return how far a bucket's value may be from a possible one that is so many buckets away at most."""
        value, (low, high) = self.of_bucket(histogram, index, point), histogram.ends(index - buckets, index + buckets)
        least, most = self._at_least(low, histogram), self._at_most(high, histogram)
        if least is None or most is None or least > most:  # there is none between: it is one of those around
            least, most = self._at_most(low, histogram), self._at_least(high, histogram)
        return max(abs(value - end) for end in (least, most, value) if end is not None)

    def _at_most(self, number: Fraction, histogram: Histogram) -> Fraction | None:
        interval = histogram.x.interval
        if self.listed:
            place = bisect_right(self.listed, min(number, interval.high)) - 1
            return self.listed[place] if place >= 0 and self.listed[place] >= interval.low else None
        value = min(number, interval.high) // self.step * self.step
        return value if value >= interval.low else None

    def _at_least(self, number: Fraction, histogram: Histogram) -> Fraction | None:
        interval = histogram.x.interval
        if self.listed:
            place = bisect_left(self.listed, max(number, interval.low))
            return self.listed[place] if place < len(self.listed) and self.listed[place] <= interval.high else None
        value = math.ceil(max(number, interval.low) / self.step) * self.step
        return value if value <= interval.high else None
