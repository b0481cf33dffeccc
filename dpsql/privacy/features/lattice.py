"""The sums of integers that the engine computes, and how the features' sums are made of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import assert_never

from dpsql.frozen import quickly_made
from dpsql.policy.interval import Interval
from dpsql.privacy.features.feature import CELLS, Feature, ScaledExpr, Shape
from dpsql.rewrite.ir.expr import TRUE, Expr

FINE = 2**10
"""The least S of any lattice [−S, S]: noise then has many steps."""
MOST_POINTS = 2**30
"""The largest S: the engine's words hold 2S."""
_PRODUCT = 2**60
"""The limit of a weight times two values: it leaves 64 bits room."""
HEAVIEST = 2**34
"""The largest weight of a row."""
# Their sums have the square of S in them, and so S is smaller: two values and a weight have to fit into 64 bits.
_SQUARED = frozenset({Shape.SQUARE, Shape.PRODUCT, *CELLS})


@quickly_made
@dataclass(frozen=True, slots=True)
class EngineSum:
    """One sum of the engine over the rows of a block (None: of all) where the condition holds.

    Σ w, Σ w·t of one factor, and of two Σ w·f·g, which are `centred`, or Σ w·t·t': the engine has t = f + S.
    """

    block: int | None
    where: Expr
    factors: tuple[ScaledExpr, ...]
    centred: bool = False
    upwards: bool = False
    """Whether the one factor's steps are from 0 to S, not to 2S: its interval begins at 0, and so does the lattice."""
    by_value: bool = False
    """Whether its rows have weights of their own, by what they add to it."""


def columns(feature: Feature) -> tuple[EngineSum, ...]:
    """Return the sums that a feature's is made of."""

    def column(where: Expr, *factors: ScaledExpr, centred: bool = False) -> EngineSum:
        return EngineSum(feature.block, where, factors, centred)

    ones = column(feature.where)
    match feature.shape:
        case Shape.ONE:
            return (ones,)
        case Shape.SIGN:
            return (ones, column(TRUE))
        case Shape.VALUE:
            return (column(feature.where, _of(feature.x)), ones)
        case Shape.SIGNED:
            scaled = _of(feature.x)
            if not scaled.interval.low:
                return (EngineSum(feature.block, feature.where, (scaled,), upwards=True),)
            most = scaled.interval.magnitude
            return (column(feature.where, replace(scaled, interval=Interval(-most, most))), ones)
        case Shape.SQUARE:
            return (column(feature.where, _of(feature.x), _of(feature.x), centred=True), ones)
        case Shape.PRODUCT:
            return (column(feature.where, _of(feature.x), _of(feature.y), centred=True),)
        case Shape.LOW | Shape.BETWEEN | Shape.HIGH:
            x = _of(feature.x)
            return (ones, column(feature.where, x), column(feature.where, x, x))
        case _:
            assert_never(feature.shape)


def coordinate(shape: Shape, parts: Sequence[int], points: int, size: int) -> int:
    """Return a feature's sum times `size`, its `row_norm`, from the sums of `columns`.

    With S = `points`, w ≥ 0, 0 ≤ t ≤ 2S and f = t − S per row: size·w, size·(2·1[c]·w − w), (size/S)·w·(t − S)·1[c],
    or (size/S)·w·t with t ≤ S, (size/S²)·(2·w·f² − S²·w·1[c]) and (size/S²)·w·f·g are each at most size·w in absolute
    value. The cells, which are (size/4S²)·w times (2S − t)², 2t(2S − t) and t², are never negative and add up to size·w. That
    holds of a row without a value, too: it is left out of all sums but the first, as if t were 0.
    """
    match shape:
        case Shape.ONE:
            return size * parts[0]
        case Shape.SIGN:
            return size * (2 * parts[0] - parts[1])
        case Shape.VALUE | Shape.SIGNED:
            low = points * parts[1] if len(parts) > 1 else 0
            return size // points * (parts[0] - low)
        case Shape.SQUARE:
            return size // points**2 * (2 * parts[0] - points**2 * parts[1])
        case Shape.PRODUCT:
            return size // points**2 * parts[0]
        case Shape.LOW | Shape.BETWEEN | Shape.HIGH:
            return size // (2 * points) ** 2 * _cell(shape, parts, 2 * points)
        case _:
            assert_never(shape)


def _cell(shape: Shape, parts: Sequence[int], steps: int) -> int:
    ones, ts, squares = parts
    if shape is Shape.LOW:
        return steps**2 * ones - 2 * steps * ts + squares
    return squares if shape is Shape.HIGH else 2 * (steps * ts - squares)


@lru_cache(maxsize=1024)
def row_norm(features: tuple[Feature, ...], points: int) -> int:
    """Return what one row is at most, in the norm of its block: all that `coordinate` divides it by divides it.

    `points` is S.
    """
    if any(feature.shape in CELLS for feature in features):
        return 4 * points**2
    return points**2 if any(feature.shape in _SQUARED for feature in features) else points


@lru_cache(maxsize=1024)
def lattice(features: tuple[Feature, ...], points: int = FINE, weight: int = HEAVIEST) -> int:
    """Return S, such that values with a step of their own are not rounded where that fits, and others to 1/2S.

    `points` is how fine it has to be for values without a step. Cells are as fine with half of it: their squares are of 2S.
    """
    celled = any(feature.shape in CELLS for feature in features)
    squared = celled or any(feature.shape in _SQUARED for feature in features)
    most = min(math.isqrt(_PRODUCT // weight) if squared else _PRODUCT // weight, 2 * MOST_POINTS) // 2
    # Cents in [0, 150] are exact if 2S is a multiple of 15,000. Several values need a common multiple. Where that is
    # too large for 64 bits as many are exact as fit, and the others are rounded.
    least, rounded = 1, False
    for needed in dict.fromkeys(_needed(feature, scaled) for feature, scaled in _values(features)):
        together = math.lcm(least, needed or 1)
        rounded = rounded or not needed or together > most
        least = together if together <= most else least
    goal = min(points if rounded else FINE, most) // (2 if celled else 1)
    return least * max(min(-(-goal // least), most // least), 1)


def on_lattice(feature: Feature, scaled: ScaledExpr, points: int) -> bool:
    """Return whether a value with a step of its own is a point of the lattice [−S, S], S being `points`."""
    needed = _needed(feature, scaled)
    return needed > 0 and points % needed == 0


def own_points(scaled: ScaledExpr, steps: int) -> int | None:
    """Return to how many steps of its own a value is rounded first, where `steps` are a multiple of them."""
    own = scaled.own_points
    return own if own and steps % own == 0 else None


def _values(features: Sequence[Feature]) -> list[tuple[Feature, ScaledExpr]]:
    return [(feature, scaled) for feature in features for scaled in (feature.x, feature.y) if scaled is not None]


def _needed(feature: Feature, scaled: ScaledExpr) -> int:
    """Return the number of which S has to be a multiple for a value to be exact; 0 where there is none."""
    if not scaled.interval.width or scaled.step is None:
        return int(not scaled.interval.width)
    if feature.shape is Shape.SIGNED:
        return max(int(scaled.interval.magnitude / scaled.step), 1)
    own = scaled.own_points
    # It is 2S that has to be a multiple; of an odd number S has to be one itself.
    return own if own % 2 else own // 2


def _of(scaled: ScaledExpr | None) -> ScaledExpr:
    assert scaled is not None
    return scaled
