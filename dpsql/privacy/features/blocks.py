"""How the coordinates of a measurement hang together: blocks, the norm of each, and what can be read off them.

A row lies in one block of its group and moves that block's coordinates alone. So the norm of the whole is the sum of the
blocks' norms, and each block's noise is drawn by itself, for no more coordinates than the block has.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from dpsql.errors import InternalError
from dpsql.privacy.features.feature import CELLS, ONE, Feature, Scaled, Shape
from dpsql.privacy.features.readout import Number
from dpsql.privacy.mechanisms.block import Block, Norm

Combination = Mapping[int, Number]
"""Places of coordinates, and how many times each is to be taken."""

MOST_FEATURES, _MOST_IN_BLOCKS = 40, 400
"""How many coordinates one block may have, and all of them together."""


def limit_passed(features: Sequence[Feature]) -> int | None:
    """Return which limit features pass, of those in one cube or of all; None if they keep to both."""
    if len(features) <= MOST_FEATURES:
        return None
    if max((len(block.places) for block in blocks(features)), default=0) > MOST_FEATURES:
        return MOST_FEATURES
    return _MOST_IN_BLOCKS if len(features) > _MOST_IN_BLOCKS else None


def blocks(features: Sequence[Feature]) -> tuple[Block, ...]:
    """Return the blocks of a measurement, in the order in which they first occur.

    The sum of coordinates is a norm in which a row is small only for the three cells of one value over the same rows:
    any other block with cells is a mistake.
    """
    places: dict[int | None, list[int]] = {}
    for place, feature in enumerate(features):
        places.setdefault(feature.block, []).append(place)
    return tuple(Block(tuple(at), _norm([features[i] for i in at])) for at in places.values())


def _norm(features: Sequence[Feature]) -> Norm:
    if not any(feature.shape in CELLS for feature in features):
        return Norm.LARGEST
    first = features[0]
    if first.x is None or tuple(features) != cells(first.x, first.block):
        raise InternalError
    return Norm.TOTAL


def weighed_by_value(features: Sequence[Feature]) -> frozenset[Feature]:
    """Return the features whose rows may be weighed by what they add to them: sums from 0, for which a row of 0 is no row."""
    return frozenset(feature for feature in features if feature.shape is Shape.SIGNED)


def cells(x: Scaled, block: int | None = None) -> tuple[Feature, ...]:
    """Return the three cells of a value."""
    return tuple(Feature(shape, x=x, block=block) for shape in CELLS)


def readable_features(features: Sequence[Feature]) -> Mapping[Feature, Combination]:
    """Return every feature whose sum is a sum of coordinates: measured ones, those in cells, and those of all blocks.

    With the cells c₀, c₁, c₂ of t = (u + 1)/2: 1 = c₀ + c₁ + c₂, u = c₂ − c₀ and 2u² − 1 = c₀ − 3·c₁ + c₂.
    """
    return _readable(tuple(features))


@lru_cache(maxsize=32)  # each statistic of a measurement asks, and there may be hundreds
def _readable(features: tuple[Feature, ...]) -> Mapping[Feature, Combination]:
    each = [_of_block(features, block) for block in blocks(features)]
    combined = {feature: combination for combinations in each for feature, combination in combinations.items()}
    if len(each) > 1:
        for feature in each[0]:
            parts = [
                {f.within(None): c for f, c in combinations.items()}.get(feature.within(None)) for combinations in each
            ]
            if all(parts):
                combined[feature.within(None)] = {i: n for part in parts if part for i, n in part.items()}
    return combined


def _of_block(features: Sequence[Feature], block: Block) -> Mapping[Feature, Combination]:
    if block.norm is Norm.LARGEST:
        return {features[i]: {i: 1} for i in block.places}
    low, between, high = block.places
    first = features[low]
    return {
        ONE.within(first.block): {low: 1, between: 1, high: 1},
        Feature(Shape.VALUE, x=first.x, block=first.block): {low: -1, high: 1},
        Feature(Shape.SQUARE, x=first.x, block=first.block): {low: 1, between: -3, high: 1},
    }
