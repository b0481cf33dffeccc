"""The upper end of the bounds of one number of each unit's, which is chosen for a statement as its C is.

SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY 1) AS t   →  n is clamped to what C rows can be
SELECT ward, avg(n) FROM (SELECT patient, ward, count(*) AS n FROM labs GROUP BY 1, 2) AS t GROUP BY 1   →  likewise

Measured are features of n in [L, C·e], where a row adds e at most. Outputs read those in wider bounds, up to the end of the
ladder, which are the same for every C. With h and m the half and the middle of the narrow bounds, H and M those
of the wide ones, n = m + h·u = M + H·v, so that v = a·u + b with a = h/H and b = (m − M)/H, and each feature in v is a sum
of those in u: 2v² − 1 = a²(2u² − 1) + 4ab·u + (a² + 2b² − 1). Values that are shown are computed of narrow features, which
are made of wide ones in the same way.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from dpsql.policy.interval import Interval
from dpsql.privacy.features.feature import (
    ONE,
    Combination,
    Estimates,
    Feature,
    Readout,
    ScaledExpr,
    Shape,
    Weights,
    add_weights,
    readable_features,
    scale_weights,
)
from dpsql.privacy.features.known_statistics import coordinate_weights
from dpsql.rewrite.ir.expr import TRUE, Expr, Ref, refs
from dpsql.rewrite.ir.relation import PerUnitRows, Relation, relations_below

_PARTS = 64
"""How many steps what one row adds has there; of counts one."""
_BEYOND = 3
"""How many times C a number and C are together, where the number is cut off: it is twice C."""
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class ChosenEnd:
    """See the module."""

    number: Ref
    """The number, in the wide bounds."""
    wide: Interval
    each: Fraction
    """The most that one row adds to it."""
    rows: int
    """C; until that is chosen, what it is taken for."""
    up_to: int

    @property
    def parts(self) -> int:
        """Return in how many steps what one row adds is told to the ladder."""
        return _PARTS if self.each != 1 or self.wide.low.denominator != 1 or not self.number.type.is_integer else 1

    @property
    def told(self) -> ScaledExpr:
        """Return the number that the ladder is told: in `parts` of what one row adds, from 0 to the ladder's end."""
        interval = Interval(Fraction(0), self.each * self.up_to)
        column = replace(self.number.column, bounds=interval)  # within which it need not be clamped twice
        return ScaledExpr(replace(self.number, column=column), interval)

    @property
    def narrow(self) -> Interval:
        """Return the bounds for C."""
        return Interval(self.wide.low, min(max(self.each * self.rows, self.wide.low), self.wide.high))

    def narrowed(self, features: Sequence[Feature]) -> tuple[Feature, ...]:
        """Return features in the bounds for C."""
        return tuple(self._within(feature, self.narrow) for feature in features)

    def widened(self, feature: Feature) -> Feature:
        """Return a feature in the wide bounds."""
        return self._within(feature, self.wide)

    def _within(self, feature: Feature, interval: Interval) -> Feature:
        x, y = (
            replace(scaled, interval=interval) if scaled is not None and scaled.expr == self.number else scaled
            for scaled in (feature.x, feature.y)
        )
        return replace(feature, x=x, y=y)

    def clamped(self, number: ScaledExpr) -> ScaledExpr:
        """Return the number in the bounds for C."""
        return replace(number, interval=self.narrow)

    def readable(self, features: Sequence[Feature]) -> Mapping[Feature, Combination]:
        """Return the wide features that can be read of the coordinates of narrow ones."""
        return _readable(self, tuple(features))

    def made_of(self, feature: Feature, within: Interval) -> Weights:
        """Return a feature as a sum of features in other bounds of the number."""
        same = self._within(feature, within)
        if feature.shape is Shape.SIGNED and feature != same and feature.x is not None:
            return {same: within.magnitude / feature.x.interval.magnitude}
        (a, b), (c, d), count = _line(feature.x, same.x), _line(feature.y, same.y), _count(feature)
        value = Feature(Shape.VALUE, feature.where, same.x, block=feature.block)
        match feature.shape:
            case Shape.VALUE:
                weights = add_weights({same: a}, scale_weights(count, b))
            case Shape.SQUARE:
                weights = add_weights({same: a**2, value: 4 * a * b}, scale_weights(count, a**2 + 2 * b**2 - 1))
            case Shape.PRODUCT:
                # (a·u + b)·(c·w + d), over the rows that the feature counts; u and w are the values in the bounds that
                # are asked for.
                other = replace(value, x=same.y)
                weights = add_weights({same: a * c}, {value: a * d}, {other: b * c}, scale_weights(count, b * d))
            case _:
                weights = {same: Fraction(1)}
        return {made: weight for made, weight in weights.items() if weight}

    def onto_wide(self, weighted: Weights) -> Weights:
        """Return a weighted sum of narrow features as one of wide features."""
        return add_weights(
            *(scale_weights(self.made_of(feature, self.wide), weight) for feature, weight in weighted.items())
        )

    def within(self, readout: Readout) -> Readout:
        """Return a readout of the narrow features."""
        return replace(readout, sums=tuple((part, self._within(of, self.narrow)) for part, of in readout.sums))

    def own(self, readout: Readout, estimates: Estimates) -> tuple[Readout, Estimates]:
        """Return a readout of the narrow features, and these, of which nothing is outside of the bounds for C."""
        narrow = self.within(readout)
        made = {of: self.made_of(of, self.wide) for _, of in narrow.sums}
        sums = {of: sum(float(w) * estimates[wide] for wide, w in weights.items()) for of, weights in made.items()}
        return narrow, {**estimates, **sums}

    def with_cut(self, estimates: Estimates, cut: float) -> Estimates:
        """Return the wide sums if `cut` rows counted that C takes off, of units that have twice as many."""
        if not self.wide.width:
            return estimates
        # A unit with twice C rows is at n = C·e in the narrow bounds, and would be at 2·C·e in wide enough ones. With v
        # = (n − M)/H the square 2v² − 1 grows by 2·(n₂ − n₁)·(n₁ + n₂ − 2M)/H², where n₁ + n₂ is three times C·e.
        more, half, middle = cut * float(self.each), float(self.wide.half), float(self.wide.middle)
        by_shape = {
            Shape.SIGNED: more / float(self.wide.magnitude),
            Shape.VALUE: more / half,
            Shape.SQUARE: 2 * more * (_BEYOND * float(self.narrow.high) - 2 * middle) / half**2,
        }
        return {
            f: value + (by_shape.get(f.shape, 0.0) if f.x is not None and f.x.expr == self.number else 0.0)
            for f, value in estimates.items()
        }

    def total(self, estimates: Estimates) -> float:
        """Return what the units' numbers add up to, in rows."""
        for feature, value in estimates.items():
            if feature.x is None or feature.x.expr != self.number:
                continue
            if feature.shape is Shape.SIGNED:
                return value * float(self.wide.magnitude / self.each)
            if feature.shape is Shape.VALUE:
                count = sum(float(weight) * estimates[of] for of, weight in _count(feature).items())
                return (float(self.wide.middle) * count + float(self.wide.half) * value) / float(self.each)
        return 0.0


@lru_cache(maxsize=32)
def _readable(end: ChosenEnd, features: tuple[Feature, ...]) -> Mapping[Feature, Combination]:
    read = readable_features(features)
    return {wide: coordinate_weights(end.made_of(wide, end.narrow), read) for wide in map(end.widened, read)}


def _line(of: ScaledExpr | None, by: ScaledExpr | None) -> tuple[Fraction, Fraction]:
    """Return a and b, with which a value in its bounds is a times that in others, and b."""
    if of is None or by is None or of == by:
        return Fraction(1), Fraction(0)
    if not of.interval.width:
        return Fraction(0), Fraction(0)  # it is its middle
    return by.interval.half / of.interval.half, (by.interval.middle - of.interval.middle) / of.interval.half


def _count(feature: Feature) -> Weights:
    """Return the number of the rows that a feature counts."""
    one = ONE.within(feature.block)
    if feature.where == TRUE:
        return {one: Fraction(1)}
    return {one: _HALF, Feature(Shape.SIGN, feature.where, block=feature.block): _HALF}


def wide_rows(relation: Relation) -> PerUnitRows | None:
    """Return the rows of single units that a relation is, if C is chosen for their numbers, or could be.

    A unit has one of them, or one for each value of further keys: as many as count anyway, so that only the end is chosen.
    """
    made, bounds = relation.sources[0].made, relation.sources[0].table.units.values()
    if len(relation.sources) > 1 or not isinstance(made, PerUnitRows) or made.up_to is None or not made.growing:
        return None
    if any(bound.up_to is not None and bound.up_to > bound.max_rows for bound in bounds):
        return None  # how many of its rows count would have to be chosen, too
    return None if _has_unit_rows(made.relation) else made


def _has_unit_rows(relation: Relation) -> bool:
    inside = (below for source in relation.sources for below in relations_below(source))
    return any(isinstance(source.made, PerUnitRows) for source in relation.sources) or any(map(_has_unit_rows, inside))


def chosen_end(made: PerUnitRows, features: Sequence[Feature]) -> ChosenEnd | None:
    """Return the number of which features are, with the end of its bounds that is to be chosen.

    None where there are two, or features are of a value that is computed of one, or of one that may be below 0.
    """
    every = [scaled for feature in features for scaled in (feature.x, feature.y) if scaled is not None]
    values = [scaled for scaled in every if reads_columns(made.growing, scaled.expr)]
    (number, wide), bounds = (values[0].expr, values[0].interval), None
    if isinstance(number, Ref) and all((scaled.expr, scaled.interval) == (number, wide) for scaled in values):
        bounds = number.column.bounds
    if bounds is None or not isinstance(number, Ref) or bounds.low < 0 or not bounds.high or made.up_to is None:
        return None
    return ChosenEnd(number, wide, bounds.high / made.up_to, made.rows, made.up_to)


def reads_columns(names: Collection[str], *exprs: Expr) -> bool:
    """Return whether expressions read some columns of rows of single units."""
    return any(ref.name in names for ref in refs(*exprs))
