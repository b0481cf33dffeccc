"""Buckets that are finer near the lower end: they cover the interval, and the engine's number is that of the ends."""

from fractions import Fraction
from itertools import pairwise

import duckdb
import pytest

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.emit.binning import Grid
from dpsql.rewrite.emit.emitter import Emitter
from tests.support.dialects import DUCKDB

GRIDS = [
    Grid.of(Interval.of(0, 1500), 1024),
    Grid.of(Interval.of(0, 10**6), 2048),
    Grid.of(Interval.of(500, 9000), 16_384),
]
BOTH_WAYS = [
    Grid.around_zero(Interval.of(-(10**14), 10**14), 1024, coarse=True),
    Grid.around_zero(Interval.of(-(10**6), 10**9), 4096, coarse=False),
    Grid.around_zero(Interval.of(-(10**9), 10**7), 16_384, coarse=False),
]


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: str(grid.number))
def test_buckets_cover_the_interval(grid: Grid) -> None:
    """Their ends ascend, from the lower to the upper end; all of one part are as wide."""
    ends = [grid.end(index) for index in range(grid.number + 1)]
    assert ends == sorted(set(ends))
    assert (ends[0], ends[-1]) == (grid.interval.low, grid.interval.high)
    widths = [b - a for a, b in pairwise(ends)]
    assert len(set(widths)) == grid.parts - 1
    assert widths == sorted(widths)


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: str(grid.number))
def test_the_engine_says_the_bucket_of_each_equal_part(grid: Grid) -> None:
    """All of what the finest equal parts may be, at the ends of parts and between them; NULL stays NULL."""
    about = {(grid.each << part) + beside for part in range(grid.parts) for beside in (-1, 0, 1)}
    places = sorted({0, grid.fine - 1, *range(0, grid.fine, grid.fine // 997), *about} & set(range(grid.fine)))
    text = grid.index(Emitter(DUCKDB, DeclaredFacts({})), "x")
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {text} FROM (SELECT unnest(?) AS x)", [[*places, None]]).fetchall()
    *indexes, of_null = (index for (index,) in found)
    assert of_null is None
    for place, index in zip(places, indexes, strict=True):
        value = grid.interval.low + grid.interval.width * Fraction(2 * place + 1, 2 * grid.fine)
        assert grid.end(index) < value < grid.end(index + 1)


@pytest.mark.parametrize(
    ("low", "high", "number", "parts"),
    [
        (0, 5000, 16_384, 16),
        (0, 4096, 16_384, 1),
        (0, 5000, 1024, 8),
        (0, 5000, 512, 1),
        (-1, 5000, 1024, 1),
        (320, 5000, 1024, 1),
        (0, 1000, 1001, 1),
    ],
)
def test_values_of_one_size_and_few_buckets_have_equal_ones(low: int, high: int, number: int, parts: int) -> None:
    """So do those on both sides of 0."""
    assert Grid.of(Interval.of(low, high), number).parts == parts


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: str(grid.number))
def test_half_widths_reach_all_buckets_about(grid: Grid) -> None:
    """Of one bucket it is half of that; of all it is the interval."""
    for at in (0, 1, grid.each, grid.number // 2, grid.number - 1):
        assert grid.half_width(0, at) == (grid.end(at + 1) - grid.end(at)) / 2
        assert grid.half_width(3, at) >= grid.half_width(0, at)
        assert grid.half_width(grid.number - 1, at) == grid.interval.width


@pytest.mark.parametrize("grid", BOTH_WAYS, ids=lambda grid: str(grid.number))
def test_parts_go_both_ways(grid: Grid) -> None:
    """Their ends ascend, buckets are the wider the further they are from 0, and there are no more than there may be."""
    ends = [grid.end(index) for index in range(grid.number + 1)]
    assert ends == sorted(set(ends))
    assert (ends[0], ends[-1]) == (grid.interval.low, grid.interval.high)
    assert grid.sides is not None
    assert 0 < grid.sides.below < grid.number <= 2 * grid.parts * grid.each
    widths = [b - a for a, b in pairwise(ends)][1:-1]  # the outermost may be cut off
    assert widths[: grid.sides.below - 1] == sorted(widths[: grid.sides.below - 1], reverse=True)
    assert widths[grid.sides.below :] == sorted(widths[grid.sides.below :])
    for value in (grid.interval.high / 3000, grid.interval.high / 7):
        index = next(i for i, end in enumerate(ends) if end > value) - 1
        assert ends[index + 1] - ends[index] <= max(value / (grid.each - 1), grid.interval.width / grid.fine)


@pytest.mark.parametrize("grid", BOTH_WAYS, ids=lambda grid: str(grid.number))
def test_the_engine_says_the_bucket_on_both_sides(grid: Grid) -> None:
    """Of every part's ends; NULL stays NULL."""
    assert grid.sides is not None
    about = {(grid.each << part) + beside for part in range(grid.parts) for beside in (-1, 0, 1)}
    both = {grid.sides.zero + sign * place for place in about for sign in (1, -1)}
    places = sorted({0, grid.fine - 1, *range(0, grid.fine, grid.fine // 997), *both} & set(range(grid.fine)))
    text = grid.index(Emitter(DUCKDB, DeclaredFacts({})), "x")
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {text} FROM (SELECT unnest(?) AS x)", [[*places, None]]).fetchall()
    *indexes, of_null = (index for (index,) in found)
    assert of_null is None
    for place, index in zip(places, indexes, strict=True):
        value = grid.interval.low + grid.interval.width * Fraction(2 * place + 1, 2 * grid.fine)
        assert grid.end(index) < value < grid.end(index + 1)


@pytest.mark.parametrize(
    ("low", "high", "number", "coarse"), [(0, 5000, 4096, True), (-1, 500, 1024, False), (-5, 5, 4096, False)]
)
def test_others_have_equal_ones(low: int, high: int, number: int, *, coarse: bool) -> None:
    """Where few buckets are there, or 0 is not inside."""
    assert Grid.around_zero(Interval.of(low, high), number, coarse=coarse) == Grid(Interval.of(low, high), number)


def test_wide_bounds_are_as_far_off_as_the_page_says() -> None:
    """Half a bucket is 0.2 % of values from a 33,000th of the upper bound on, and below that a 17-millionth of the bound."""
    most = 5 * 10**9
    grid = Grid.of(Interval.of(0, most), 4096)
    halves = [(grid.end(index), (grid.end(index + 1) - grid.end(index)) / 2) for index in range(grid.number)]
    assert all(half <= value / 500 for value, half in halves if value >= Fraction(most, 32_768))
    assert {half for value, half in halves if value < Fraction(most, 32_768)} == {Fraction(most, 2**24)}
