"""The features of a row that a statistic is read off, and their places."""

import math
from collections.abc import Collection
from fractions import Fraction
from typing import assert_never

from dpsql.policy.interval import Interval
from dpsql.privacy.features.feature import ONE, Feature, Scaled, Shape
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.lattice import MOST_POINTS
from dpsql.privacy.features.readout import PartialSum, Readout
from dpsql.rewrite.analysis.bounds import bounded
from dpsql.rewrite.analysis.exclusion import Known
from dpsql.rewrite.functions.arithmetic import without_addend
from dpsql.rewrite.functions.table import step_of
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Expr
from dpsql.rewrite.translate.rows.aggregates import Moment

_NONE = Fraction(0)


def readout(moment: Moment, facts_of: Known, *, signed: bool, counted: Collection[Expr]) -> Readout:
    """Return how a statistic is read off.

    `signed` asks for sums by themselves, from 0 and not from the middle; `counted` are the conditions whose rows are
    counted anyway.

    Raises:
        MissingBounds: a sum of something unbounded.
    """
    kind = statistic(moment.name)
    if kind.adds_up and (signed or moment.where not in counted) and moment.where != TRUE:
        moment = _zero_filled(moment)
    if kind.adds_up and signed:
        return Readout(
            moment, sums=((PartialSum.U, Feature(Shape.SIGNED, moment.where, _scaled(moment.args[0], facts_of))),)
        )
    count = ONE if moment.where == TRUE else Feature(Shape.SIGN, moment.where)
    bases = [unshifted(arg, facts_of) for arg in moment.args]
    measured = Moment(moment.name, tuple(base for base, _ in bases), moment.where)
    sums = tuple((part, _feature(part, measured, facts_of)) for part in kind.parts)
    return Readout(moment, count, sums, tuple(shift for _, shift in bases))


def unshifted(expr: Expr, facts_of: Known) -> tuple[Expr, Fraction]:
    """Return a number without the constants that are added to it, and their sum: x + 1 lies in its interval as x does in its.

    Where a condition says more of the whole, such as `WHERE x + 1 < 5`, it stays unchanged.
    """
    base, shift = expr, _NONE
    while (parts := without_addend(base)) is not None:
        base, more = parts
        shift += more
    if base is expr:
        return expr, shift
    of_base, whole = facts_of(base).interval, facts_of(expr).interval
    alike = (
        of_base is not None and of_base.shifted(shift) == whole and facts_of(base).nullable == facts_of(expr).nullable
    )
    return (base, shift) if alike else (expr, _NONE)


def _feature(part: PartialSum, moment: Moment, facts_of: Known) -> Feature:
    def argument(place: int) -> Scaled:
        return _scaled(moment.args[place], facts_of)

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


def _scaled(arg: Expr, facts_of: Known) -> Scaled:
    interval, step = bounded(arg, facts_of(arg)), step_of(arg)
    if not step or interval.width > MOST_POINTS * step:
        return Scaled(arg, interval)
    if step == 1 and interval.low.denominator == interval.high.denominator == 1:
        return Scaled(arg, interval, step)  # as most are
    low, high = math.floor(interval.low / step), math.ceil(interval.high / step)
    return Scaled(arg, Interval(low * step, high * step), step)
