"""Which features of a row a statistic that was asked is read off."""

import math
from collections.abc import Collection
from typing import assert_never

from dpsql.policy.interval import Interval
from dpsql.privacy.features.feature import ONE, Feature, Scaled, Shape
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.lattice import MOST_POINTS
from dpsql.privacy.features.readout import PartialSum, Readout
from dpsql.rewrite.analysis.bounds import bounded
from dpsql.rewrite.analysis.exclusion import Known
from dpsql.rewrite.functions.table import step_of
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Expr
from dpsql.rewrite.translate.aggregates import Moment


def readout(moment: Moment, known: Known, *, signed: bool, counted: Collection[Expr]) -> Readout:
    """Return how a statistic is read off.

    `signed` asks for sums by themselves, from 0 and not from the middle; `counted` are the conditions whose rows are
    counted anyway.

    Raises:
        MissingBounds: a sum of something unbounded.
    """
    found = statistic(moment.name)
    if found.adds_up and (signed or moment.where not in counted) and moment.where != TRUE:
        moment = _zero_filled(moment)
    if found.adds_up and signed:
        return Readout(
            moment, sums=((PartialSum.U, Feature(Shape.SIGNED, moment.where, _scaled(moment.args[0], known))),)
        )
    count = ONE if moment.where == TRUE else Feature(Shape.SIGN, moment.where)
    return Readout(moment, count, tuple((part, _feature(part, moment, known)) for part in found.parts))


def _feature(part: PartialSum, moment: Moment, known: Known) -> Feature:
    def argument(place: int) -> Scaled:
        return _scaled(moment.args[place], known)

    match part:
        case PartialSum.U:
            return Feature(Shape.VALUE, moment.where, argument(0))
        case PartialSum.V:
            return Feature(Shape.VALUE, moment.where, argument(1))
        case PartialSum.UU:
            return Feature(Shape.SQUARE, moment.where, argument(0))
        case PartialSum.VV:
            return Feature(Shape.SQUARE, moment.where, argument(1))
        case PartialSum.UV:
            return Feature(Shape.PRODUCT, moment.where, argument(0), argument(1))
        case _:
            assert_never(part)


def _zero_filled(moment: Moment) -> Moment:
    """Return a sum over some rows as a sum over all, with 0 for the others."""
    (arg,) = moment.args
    zero = Const(0, arg.type)
    return Moment("sum", (Apply("case", (moment.where, arg, zero), arg.type),), TRUE)


def _scaled(arg: Expr, known: Known) -> Scaled:
    interval, step = bounded(arg, known(arg)), step_of(arg)
    if not step or interval.width / step > MOST_POINTS:
        return Scaled(arg, interval)
    low, high = math.floor(interval.low / step), math.ceil(interval.high / step)
    return Scaled(arg, Interval(low * step, high * step), step)
