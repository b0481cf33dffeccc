"""The ladder of lengths: what it says of a unit, and that a unit adds one to it."""

from math import isqrt

from hypothesis import given
from hypothesis import strategies as st

from dpsql.privacy.measurement.rows_per_unit import WHOLE, cells_of, ends_of, rungs

RUNGS = rungs(2**14)


@st.composite
def units(draw: st.DrawFn) -> tuple[int, int, int]:
    """Draw how many groups there are, a length, and a number of rows that a unit of such a length may have."""
    groups = draw(st.integers(1, 2_000))
    rows = draw(st.lists(st.integers(1, 40), min_size=1, max_size=min(groups, 60)))
    return groups, isqrt(sum(n * n for n in rows) - 1) + 1, sum(rows)


@given(units(), st.integers(1, 5))
def test_a_unit_adds_one_in_all(unit: tuple[int, int, int], several: int) -> None:
    """To four cells at most, none below 0; whatever its numbers are, also such as no unit has."""
    groups, length, rows = unit
    for numbers in ((length, rows), (length, 2**62), (2**31, rows), (1, 1), (2**31, 1)):
        cells = cells_of(RUNGS, groups, [(*numbers, several)])
        assert len(cells) == 2 * len(RUNGS)
        assert sum(cells) == several * WHOLE**2
        assert min(cells) >= 0
        assert sum(cell > 0 for cell in cells) <= 4


@given(units(), st.sampled_from([1, 2, 8, 16, 64, 500]))
def test_no_less_is_told_than_is_lost(unit: tuple[int, int, int], most: int) -> None:
    """And not by far more: at most what the whole unit has beyond the next rung."""
    groups, length, rows = unit
    cells, ends = cells_of(RUNGS, groups, [(length, rows, 1)]), ends_of(RUNGS, groups)
    told = sum(
        (cells[2 * i] * few + cells[2 * i + 1] * many) * max(1 - most / rung, 0.0)
        for i, (rung, (few, many)) in enumerate(zip(RUNGS, ends, strict=True))
    )
    lost = rows * max(1 - most / length, 0.0)
    assert told / WHOLE**2 >= lost * (1 - 1e-9)
    assert told / WHOLE**2 <= rows * 1.01 + max(many for _, many in ends[: RUNGS.index(_next(length)) + 1]) / WHOLE


def _next(length: int) -> int:
    return next((rung for rung in RUNGS if rung >= length), RUNGS[-1])
