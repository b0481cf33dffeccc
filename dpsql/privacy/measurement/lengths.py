"""The ladder by which C is chosen for a limit in the Euclidean norm: of pairs of a unit's length and the number of its rows.

A unit with n rows and the length ℓ (see `euclidean`) loses n·max(1 − C/ℓ, 0) of them. How many that is does not follow from
ℓ, beside which n may be √G times as large in G groups. So a unit stands between two rungs of ℓ, with shares that are linear
in 1/ℓ, of which what it loses is a convex function. At each it stands between the fewest rows and the most that a unit of
such a length may have, with shares that are linear in n, as what it loses is. What the cells say of it is never less than it
loses, then. Two cells a rung are enough, since it is linear: more of them would only have more noise.

Claim: adding or removing all rows of one unit moves the cells by `WHOLE`² at most, their moves added up. Proof: it stands in
one row of the engine's, by its own rows alone, and adds to four cells at most the products of two pairs of whole numbers,
each of which adds up to `WHOLE`. ∎
"""

from collections.abc import Iterable, Sequence
from math import isqrt

WHOLE = 2**12
"""Shares are whole numbers of this part."""


def ends_of(rungs: Sequence[int], groups: int) -> list[tuple[int, int]]:
    """Return for each rung how few rows a unit has that stands at it, and how many it may have in so many groups."""
    last, widest = len(rungs) - 1, isqrt(max(groups, 1)) + 1
    return [(rungs[max(i - 1, 0)], rungs[min(i + 1, last)] * widest) for i in range(last + 1)]


def cells_of(rungs: Sequence[int], groups: int, answer: Iterable[Sequence[int]]) -> list[int]:
    """Return what stands at each rung with few rows and with many, from lengths, numbers, and how many units have both."""
    ends, cells = ends_of(rungs, groups), [0] * (2 * len(rungs))
    for length, number, units in answer:
        for place, of_length in _places(rungs, length):
            few, many = ends[place]
            inside = min(max(number, few), many)
            above = -(-WHOLE * (inside - few) // (many - few))
            cells[2 * place] += units * of_length * (WHOLE - above)
            cells[2 * place + 1] += units * of_length * above
    return cells


def _places(rungs: Sequence[int], length: int) -> list[tuple[int, int]]:
    """Return the rungs at which a length stands, with its shares there."""
    if length <= rungs[0] or length >= rungs[-1]:
        return [(0 if length <= rungs[0] else len(rungs) - 1, WHOLE)]
    below = next(place for place in range(len(rungs) - 1) if length <= rungs[place + 1])
    low, high = rungs[below], rungs[below + 1]
    upper = -(-WHOLE * (length - low) * high // (length * (high - low)))  # up: what is lost is not told too small by it
    return [(below, WHOLE - upper), (below + 1, upper)]
