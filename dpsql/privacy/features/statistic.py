"""Which features of a row a statistic is read off."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from dpsql.privacy.features.feature import ONE, Feature, Scaled, Shape
from dpsql.rewrite.analysis.bounds import bounded
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Expr
from dpsql.rewrite.ir.facts import Facts
from dpsql.rewrite.translate.aggregates import Moment

Known = Callable[[Expr], Facts]
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
        signs = [ONE.within(part.block) for part in own if part.shape is Shape.SIGN]
        return (*signs, *own)

    def within(self, block: int) -> "Reading":
        """Return the same reading of one block's rows."""
        parts = ("count", "x", "y", "xx", "yy", "xy")
        own = {name: part.within(block) for name in parts if (part := getattr(self, name)) is not None}
        return replace(self, **own)


def reading(moment: Moment, known: Known, *, signed: bool, counted: Collection[Expr]) -> Reading:
    """Return how a statistic is read off.

    `signed` asks for sums by themselves, from 0 and not from the middle; `counted` are the conditions whose rows are
    counted anyway.

    Raises:
        MissingBounds: a sum of something unbounded.
    """
    if moment.name == "sum" and (signed or moment.where not in counted) and moment.where != TRUE:
        moment = _zero_filled(moment)
    where = moment.where
    count = ONE if where == TRUE else Feature(Shape.SIGN, where)
    if moment.name == "count":
        return Reading(moment, count)
    x, *rest = [_scaled(arg, known) for arg in moment.args]
    if moment.name == "sum" and signed:
        return Reading(moment, x=Feature(Shape.SIGNED, where, x))
    found = Reading(moment, count, Feature(Shape.VALUE, where, x))
    if moment.name in {"sum", "avg"}:
        return found
    if moment.name in _TWO_COLUMNS:
        (y,) = rest
        found = replace(found, y=Feature(Shape.VALUE, where, y), xy=Feature(Shape.PRODUCT, where, x, y))
        if moment.name != "corr":
            return found
        return replace(found, xx=Feature(Shape.SQUARE, where, x), yy=Feature(Shape.SQUARE, where, y))
    return replace(found, xx=Feature(Shape.SQUARE, where, x))


def _zero_filled(moment: Moment) -> Moment:
    """Return a sum over some rows as a sum over all, with 0 for the others."""
    (arg,) = moment.args
    zero = Const(0, arg.type)
    return Moment("sum", (Apply("case", (moment.where, arg, zero), arg.type),), TRUE)


def _scaled(arg: Expr, known: Known) -> Scaled:
    return Scaled(arg, bounded(arg, known(arg)))
