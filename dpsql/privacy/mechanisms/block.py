"""The coordinates of one draw of noise: a row moves those of one block only, in a norm that bounds it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from dpsql.frozen import quickly_made


class Norm(Enum):
    """In which norm of a block's coordinates a row is at most its size."""

    LARGEST = "the largest coordinate"
    TOTAL = "the sum of the coordinates, none of which is negative"


@quickly_made
@dataclass(frozen=True, slots=True)
class Block:
    """Coordinates that one draw of noise is for."""

    places: tuple[int, ...]
    norm: Norm


def epsilon_parts(together: Sequence[Block]) -> int:
    """Return into how many parts independent noise divides ε: as many as one row has coordinates, those of one block.

    The cells of a row are shares of it, which add up to one: however many, they are one part.
    """
    return max((len(block.places) if block.norm is Norm.LARGEST else 1 for block in together), default=1)
