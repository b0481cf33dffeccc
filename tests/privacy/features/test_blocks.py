"""Blocks, their norms, and what can be read off their coordinates."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dpsql.errors import InternalError
from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.privacy.features.feature import CELLS, ONE, Feature, ScaledExpr, Shape, blocks, cells, readable_features
from dpsql.privacy.features.lattice import HEAVIEST, coordinate, lattice, row_norm
from dpsql.privacy.mechanisms.block import Block, Norm, epsilon_parts
from dpsql.rewrite.ir.expr import Const

X = ScaledExpr(Const(1, SqlType.INTEGER), Interval.of(0, 6))
Y = ScaledExpr(Const(2, SqlType.INTEGER), Interval.of(0, 6))
VALUE, SQUARE = Feature(Shape.VALUE, x=X), Feature(Shape.SQUARE, x=X)


def _row(features: Sequence[Feature], t: int) -> list[int]:
    """Return the coordinates of one row of weight 1 whose value is `t` steps above the lower end."""
    points, most = lattice(features), row_norm(features, lattice(features))
    f = t - points
    made = {
        Shape.ONE: [1],
        Shape.VALUE: [t, 1],
        Shape.SQUARE: [f * f, 1],
        **{shape: [1, t, t * t] for shape in CELLS},
    }
    return [coordinate(feature.shape, made[feature.shape], points, most) for feature in features]


def test_cells_of_a_row_are_shares_of_it() -> None:
    """For every step of the lattice no cell is negative, and together they are exactly the row's size."""
    features = cells(X)
    for t in range(2 * lattice(features) + 1):
        row = _row(features, t)
        assert min(row) >= 0
        assert sum(row) == row_norm(features, lattice(features))


def test_a_row_without_a_value_is_no_larger() -> None:
    """A row that is counted though it has no value, which only a mistake elsewhere could do, is still one row."""
    features = cells(X)
    row = [
        coordinate(feature.shape, [1, 0, 0], lattice(features), row_norm(features, lattice(features)))
        for feature in features
    ]
    assert (min(row), sum(row)) == (0, row_norm(features, lattice(features)))


@pytest.mark.parametrize("width", [1, 6, 511, 513, 8191, 8192, 8193, 10**6])
def test_squares_of_cells_fit(width: int) -> None:
    """The largest weight times the largest square is a number of 64 bits, for whole numbers of any width."""
    features = cells(replace(X, interval=Interval.of(0, width)))
    assert HEAVIEST * (2 * lattice(features)) ** 2 < 2**63
    assert lattice(features) >= 512


def test_what_cells_say() -> None:
    """Counts, sums and squares read off the cells of any value are those that a cube would measure."""
    measured, cube = cells(X), (ONE, VALUE, SQUARE)
    steps = 2 * lattice(measured)
    for t in range(0, steps + 1, 3):
        row = _row(measured, t)
        said = {f: sum(n * row[i] for i, n in made.items()) for f, made in readable_features(measured).items()}
        u = 2 * t - steps
        assert said == {ONE: steps**2, VALUE: u * steps, SQUARE: 2 * u * u - steps**2}
        assert said.keys() == set(cube)


def test_cubes_and_cells_side_by_side() -> None:
    """Each block has its own norm; a row of either is at most one row_norm, and ε is divided by the largest cube."""
    features = (*cells(X, 0), *(f.within(1) for f in (ONE, VALUE, SQUARE)))
    assert blocks(features) == (Block((0, 1, 2), Norm.TOTAL), Block((3, 4, 5), Norm.LARGEST))
    assert epsilon_parts(blocks(features)) == 3
    assert epsilon_parts(blocks(cells(X))) == 1
    for t in range(0, 2 * lattice(features) + 1, 5):
        row = _row(features, t)
        assert sum(row[:3]) == row_norm(features, lattice(features)) == max(map(abs, row[3:]))


def test_blocks_are_found_in_any_order() -> None:
    """Coordinates of one block are one block wherever they stand."""
    features = (ONE.within(1), ONE.within(0), VALUE.within(1))
    assert blocks(features) == (Block((0, 2), Norm.LARGEST), Block((1,), Norm.LARGEST))


def test_features_of_all_rows() -> None:
    """What is measured in every block can be read for all rows: it is the sum; what one block lacks can't."""
    features = (ONE.within(0), VALUE.within(0), *cells(X, 1), ONE.within(2))
    read = readable_features(features)
    assert read[ONE] == {0: 1, 2: 1, 3: 1, 4: 1, 5: 1}
    assert VALUE not in read
    assert readable_features((ONE, VALUE))[ONE] == {0: 1}


@pytest.mark.parametrize(
    "features",
    [
        cells(X)[:2],
        (*cells(X), ONE),
        (*cells(X), *cells(Y)),
        (*cells(X), *cells(X)),
        (*cells(X)[:2], cells(Y)[2]),
        cells(X)[::-1],
    ],
)
def test_cells_stand_alone(features: Sequence[Feature]) -> None:
    """Only the three cells of one value are small in the sum of coordinates: all else with a cell in it is refused."""
    with pytest.raises(InternalError):
        blocks(features)
