"""Which sums of integers the engine computes, and how the features' sums are made of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from dpsql.policy.interval import Interval
from dpsql.privacy.features.feature import CELLS, Feature, Scaled, Shape
from dpsql.rewrite.functions.table import integral
from dpsql.rewrite.ir.expr import TRUE, Expr

_FINE = 2**10
"""The lattice of one value, [−S, S], unless whole numbers ask for a multiple."""
_FINEST = 2**14
_SQUARED = frozenset({Shape.SQUARE, Shape.PRODUCT, *CELLS})


@dataclass(frozen=True, slots=True)
class EngineSum:
    """One sum of the engine over the rows of a block (None: of all) where the condition holds.

    Σ w, Σ w·t of one factor, and of two Σ w·f·g, which are `centred`, or Σ w·t·t': the engine has t = f + S.
    """

    block: int | None
    where: Expr
    factors: tuple[Scaled, ...]
    centred: bool = False
    upwards: bool = False
    """Whether the one factor's steps are from 0 to S, not to 2S: its interval begins at 0, and so does the lattice."""


def columns(feature: Feature) -> tuple[EngineSum, ...]:
    """Return the sums that a feature's is made of."""

    def column(where: Expr, *factors: Scaled, centred: bool = False) -> EngineSum:
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
            return (column(feature.where, Scaled(scaled.expr, Interval(-most, most))), ones)
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


def row_norm(features: Sequence[Feature]) -> int:
    """Return what one row is at most, in the norm of its block: all that `coordinate` divides it by divides it."""
    s = lattice(features)
    if any(feature.shape in CELLS for feature in features):
        return 4 * s**2
    return s**2 if any(feature.shape in _SQUARED for feature in features) else s


def lattice(features: Sequence[Feature]) -> int:
    """Return S, such that sums of whole numbers come out exactly if that is cheap.

    For cells half of what it is otherwise: their squares are of 2S, which have to fit into 64 bits with any weight, and
    so large is their size, for which noise should be quick to draw.
    """
    halves = 2 if any(feature.shape in CELLS for feature in features) else 1
    least = 1
    for feature in features:
        for scaled in (feature.x, feature.y):
            if scaled is None or not integral(scaled.expr) or scaled.interval.width.denominator != 1:
                continue
            need = scaled.interval.magnitude if feature.shape is Shape.SIGNED else scaled.interval.width
            together = math.lcm(least, max(int(need), 1))
            least = together if together <= _FINEST // halves else least
    return least * -(-(_FINE // halves) // least)


def _of(scaled: Scaled | None) -> Scaled:
    assert scaled is not None
    return scaled
