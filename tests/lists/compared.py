"""When an answer without noise is what PostgreSQL says."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

Cells = Sequence[object]


def agree(
    answer: Sequence[Cells], expected: Sequence[Cells], same: Callable[[object, object], bool], *, all_of: bool = True
) -> None:
    """Check that an answer has the rows that are expected, in any order, or just some of them."""
    left = _by_texts(expected)
    for row in answer:
        near = left[_texts(row)]
        partner = next((other for other in near if all(map(same, row, other))), None)
        assert partner is not None, (row, near[:10])
        near.remove(partner)
    assert not all_of or not any(left.values()), [rows[0] for rows in left.values() if rows][:10]


def alike(a: object, b: object) -> bool:
    """Return whether a cell is what PostgreSQL says, but for the rounding of what is huge."""
    if b is None:  # of a sum of nothing
        return a is None or (isinstance(a, Decimal) and abs(a) < 1)
    if isinstance(a, (int, float, Decimal)) and isinstance(b, (int, float, Decimal)):
        return math.isclose(a, b, rel_tol=3e-5, abs_tol=1e-4)
    return a == b


def nearly(a: object, b: object) -> bool:
    """Return whether a cell is what PostgreSQL says, as far as that is not decided by noise."""
    if isinstance(a, (float, Decimal)) and isinstance(b, Decimal):
        return math.isclose(a, b, rel_tol=3e-3, abs_tol=0.2)
    return b is None or alike(a, b)


def _by_texts(rows: Sequence[Cells]) -> Mapping[Cells, list[Cells]]:
    """Return the rows by their texts, first those with the fewest cells that may be anything."""
    by_texts: defaultdict[Cells, list[Cells]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: sum(cell is None for cell in row)):
        by_texts[_texts(row)].append(row)
    return by_texts


def _texts(row: Cells) -> Cells:
    return tuple(cell for cell in row if isinstance(cell, str))
