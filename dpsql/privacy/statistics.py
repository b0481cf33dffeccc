"""Which features of a row are measured for the statistics that were asked, and how each is read off their noisy sums.

One scale serves all features of a measurement, whatever their number; the price of one more is a wider cube: the
variance of every coordinate is (d + 1)(d + 2)/3 · b² for d features and b = C/ε. So equal features are measured once, and
of the ways to measure sums the one with the least predicted variance is taken, never by looking at data.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.privacy.feature import Feature, Scaled, Shape
from dpsql.rewrite.aggregate import Moment, condition_of
from dpsql.rewrite.expr import FALSE, TRUE, Apply, Const, Expr
from dpsql.rewrite.fact import Facts
from dpsql.rewrite.facts import bounded

Known = Callable[[Expr], Facts]
_ONE = Feature(Shape.ONE)
_TWO_COLUMNS = frozenset({"covar_pop", "covar_samp", "corr"})


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a statistic's parts stand among the features; None where it has no such part."""

    moment: Moment
    count: Feature | None = None
    x: Feature | None = None
    y: Feature | None = None
    xx: Feature | None = None
    yy: Feature | None = None
    xy: Feature | None = None

    @property
    def features(self) -> tuple[Feature, ...]:
        """Return the features that it is read from."""
        parts = (self.count, self.x, self.y, self.xx, self.yy, self.xy)
        own = tuple(part for part in parts if part is not None)
        signs = any(part.shape is Shape.SIGN for part in own)
        return (_ONE, *own) if signs else own


@dataclass(frozen=True, slots=True)
class Design:
    """The features to measure, the rows they are measured on, and the readings in the order of the statistics."""

    features: tuple[Feature, ...]
    where: Expr
    readings: tuple[Reading, ...]


def design(moments: Sequence[Moment], known: Known) -> Design:
    """Return the best way to measure all of `moments` together.

    Raises:
        MissingBounds: a sum of something unbounded.
    """
    prepared = [_present(moment, known) for moment in moments]
    shared = _shared_condition(prepared)
    if shared != TRUE:
        prepared = [replace(moment, where=TRUE) for moment in prepared]
    options = [_designed(prepared, shared, known, signed=signed) for signed in (True, False)]
    return min(options, key=_predicted)


def _present(moment: Moment, known: Known) -> Moment:
    """Return the statistic with everything that decides which rows it counts in `where`."""
    always = tuple(arg for arg in moment.args if not known(arg).nullable)
    counted = condition_of(replace(moment, args=tuple(arg for arg in moment.args if arg not in always)))
    return replace(moment, where=counted)


def _shared_condition(moments: Sequence[Moment]) -> Expr:
    """Return the condition that all statistics share: the rows that fail it need not be counted at all."""
    conditions = {moment.where for moment in moments}
    return conditions.pop() if len(conditions) == 1 else TRUE


def _designed(moments: Sequence[Moment], where: Expr, known: Known, *, signed: bool) -> Design:
    counted = {m.where for m in moments if m.name != "sum"}
    readings = tuple(_reading(m, known, signed=signed, counted=counted) for m in moments)
    features = tuple(dict.fromkeys(f for reading in readings for f in reading.features))
    return Design(features, where, readings)


def _reading(moment: Moment, known: Known, *, signed: bool, counted: set[Expr]) -> Reading:
    if moment.name == "sum" and (signed or moment.where not in counted) and moment.where != TRUE:
        moment = _zero_filled(moment)
    where = moment.where
    count = _ONE if where == TRUE else Feature(Shape.SIGN, where)
    if moment.name == "count":
        return Reading(moment, count)
    x, *rest = [_scaled(arg, known) for arg in moment.args]
    if moment.name == "sum" and signed:
        return Reading(moment, x=Feature(Shape.SIGNED, where, x))
    reading = Reading(moment, count, Feature(Shape.VALUE, where, x))
    if moment.name in {"sum", "avg"}:
        return reading
    if moment.name in _TWO_COLUMNS:
        (y,) = rest
        reading = replace(reading, y=Feature(Shape.VALUE, where, y), xy=Feature(Shape.PRODUCT, where, x, y))
        if moment.name != "corr":
            return reading
        return replace(reading, xx=Feature(Shape.SQUARE, where, x), yy=Feature(Shape.SQUARE, where, y))
    return replace(reading, xx=Feature(Shape.SQUARE, where, x))


def _zero_filled(moment: Moment) -> Moment:
    """Return a sum over some rows as a sum over all, with 0 for the others."""
    (arg,) = moment.args
    zero = Const(0, arg.type)
    return Moment("sum", (Apply("case", (moment.where, arg, zero), arg.type),), TRUE)


def _scaled(arg: Expr, known: Known) -> Scaled:
    return Scaled(arg, bounded(arg, known(arg)))


def coordinate_variance(d: int) -> Fraction:
    """Return the variance of one of d coordinates of the cube's noise, in units of b²."""
    return Fraction((d + 1) * (d + 2), 3)


def _predicted(chosen: Design) -> tuple[float, int]:
    d = len(chosen.features)
    per = coordinate_variance(d)
    return sum(math.log(per * _weight(reading)) for reading in chosen.readings), d


def _weight(reading: Reading) -> Fraction:
    """Return a statistic's variance in units of one coordinate's; for ratios, what differs between designs is 1."""
    of_count = Fraction(1) if reading.count is None or reading.count.shape is Shape.ONE else Fraction(1, 2)
    if reading.moment.name == "count":
        return of_count
    if reading.moment.name != "sum" or reading.x is None or reading.x.x is None:
        return Fraction(1)
    interval = reading.x.x.interval
    if reading.x.shape is Shape.SIGNED:
        return max(interval.magnitude**2, Fraction(1, 10**12))
    return max(middle(interval) ** 2 * of_count + half(interval) ** 2, Fraction(1, 10**12))


def middle(interval: Interval) -> Fraction:
    """Return the middle of an interval."""
    return (interval.low + interval.high) / 2


def half(interval: Interval) -> Fraction:
    """Return half the width of an interval."""
    return interval.width / 2


def never(where: Expr) -> bool:
    """Say whether a condition can hold for no row."""
    return where == FALSE or (isinstance(where, Const) and where.value is None and where.type is SqlType.BOOLEAN)
