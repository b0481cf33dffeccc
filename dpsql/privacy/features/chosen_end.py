"""The upper end of the bounds of one number of each unit's, which is chosen for a statement as its C is.

SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY 1) AS t   →  n is clamped to what C rows can be

Measured are features of n in [L, C·e], where a row adds e at most. Outputs read those in wider bounds, up to the end of the
ladder, which are the same for every C. With h and m the half and the middle of the narrow bounds, H and M those
of the wide ones, n = m + h·u = M + H·v, so that v = a·u + b with a = h/H and b = (m − M)/H, and each feature in v is a sum
of those in u: 2v² − 1 = a²(2u² − 1) + 4ab·u + (a² + 2b² − 1). Values that are shown are computed of narrow features, which
are made of wide ones in the same way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from dpsql.policy.interval import Interval
from dpsql.privacy.features.blocks import Combination, readable_features
from dpsql.privacy.features.feature import ONE, Feature, Scaled, Shape
from dpsql.privacy.features.gradient import Weights, added, times
from dpsql.privacy.features.readout import Estimates, Readout
from dpsql.privacy.features.variance import combined
from dpsql.rewrite.ir.expr import TRUE, Expr, Ref, refs
from dpsql.rewrite.ir.relation import Relation, UnitRows
from dpsql.rewrite.translate.rows.aggregates import Aggregate, Margin, Moment
from dpsql.rewrite.translate.rows.profiled import inputs

_LARGEST = 2**20
"""The most that C may be: squares in bounds so much wider than the narrow ones are told apart in double precision."""
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
    def told(self) -> Scaled:
        """Return the number that the ladder is told: in `parts` of what one row adds, from 0 to the ladder's end."""
        interval = Interval(Fraction(0), self.wide.high)
        column = replace(self.number.column, bounds=interval)  # within which it need not be clamped twice
        return Scaled(replace(self.number, column=column), interval)

    @property
    def narrow(self) -> Interval:
        """Return the bounds for C."""
        return Interval(self.wide.low, self.each * self.rows)

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
                weights = added({same: a}, times(count, b))
            case Shape.SQUARE:
                weights = added({same: a**2, value: 4 * a * b}, times(count, a**2 + 2 * b**2 - 1))
            case Shape.PRODUCT:
                other = replace(value, x=same.y)
                weights = added({same: a * c}, {value: a * d}, {other: b * c}, times(count, b * d))
            case _:
                weights = {same: Fraction(1)}
        return {made: weight for made, weight in weights.items() if weight}

    def onto_wide(self, weighted: Weights) -> Weights:
        """Return a weighted sum of narrow features as one of wide features."""
        return added(*(times(self.made_of(feature, self.wide), weight) for feature, weight in weighted.items()))

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
    return {wide: combined(end.made_of(wide, end.narrow), read) for wide in map(end.widened, read)}


def _line(of: Scaled | None, by: Scaled | None) -> tuple[Fraction, Fraction]:
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


@dataclass(frozen=True, slots=True)
class WideNumber:
    """The rows and aggregates of a scope in which one number of each unit's has the wide bounds."""

    relation: Relation
    aggregates: tuple[Aggregate, ...]
    end: ChosenEnd


def wide_number(relation: Relation, keys: Sequence[Expr], aggregates: Sequence[Aggregate]) -> WideNumber | None:
    """Return a scope with the number whose end is to be chosen; None where there is none, or where C does not fit all.

    It is the only number of the unit's that is read, by statistics of it alone: no group, condition or bucket depends on it.
    """
    made = relation.sources[0].made
    if len(relation.sources) > 1 or not isinstance(made, UnitRows) or made.keys or made.up_to is None:
        return None
    grows = {value.column.name: value for value in made.values if value.grows}
    told = refs(*keys, relation.where)
    read = {ref for ref in (*told, *refs(*(e for a in aggregates for e in inputs(a)))) if ref.name in grows}
    if len(read) != 1:
        return None
    (number,) = read
    bounds = number.column.bounds
    alone = number not in told and all(_is_alone(number, aggregate) for aggregate in aggregates)
    if not alone or bounds is None or bounds.low < 0 or bounds.high <= bounds.low:
        return None
    each, up_to = bounds.high / made.rows, min(made.up_to, _LARGEST)
    wide = Interval(bounds.low, each * up_to)
    ref = replace(number, column=replace(number.column, bounds=wide))
    values = tuple(replace(v, column=ref.column) if v.column.name == ref.name else v for v in made.values)
    source = replace(relation.sources[0], made=replace(made, values=values, up_to=None))
    about = tuple(_about(ref, aggregate) for aggregate in aggregates)
    return WideNumber(replace(relation, sources=(source,)), about, ChosenEnd(ref, wide, each, made.rows, up_to))


def _is_alone(number: Ref, aggregate: Aggregate) -> bool:
    """Return whether an aggregate reads a number as the argument of a statistic, or not at all."""
    where, *args = inputs(aggregate)
    if number not in refs(where, *args):
        return True
    of = aggregate.of if isinstance(aggregate, Margin) else aggregate
    others = [arg for arg in args if arg != number]
    return isinstance(of, Moment) and number not in refs(where, *others)


def _about(number: Ref, aggregate: Aggregate) -> Aggregate:
    """Return an aggregate of the number in its wide bounds."""
    of = aggregate.of if isinstance(aggregate, Margin) else aggregate
    if not isinstance(of, Moment):
        return aggregate
    of = replace(of, args=tuple(number if arg == number else arg for arg in of.args))
    return replace(aggregate, of=of) if isinstance(aggregate, Margin) else of
