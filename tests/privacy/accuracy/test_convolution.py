"""How far several draws of noise reach together."""

from collections.abc import Sequence

import numpy as np
import pytest

from dpsql.privacy.accuracy.margin import Piece, noise_quantile, reach
from dpsql.privacy.mechanisms.law import LAPLACE, CubeLaw


@pytest.mark.parametrize(
    "pieces",
    [
        [Piece(LAPLACE, (1.0,)), Piece(LAPLACE, (1.0,))],
        [Piece(LAPLACE, (1.0,))] * 12,
        [Piece(CubeLaw(3), (0.5, 1.0)), Piece(LAPLACE, (2.0,)), Piece(CubeLaw(2), (1.0,))],
        [Piece(CubeLaw(6), (1.0,)), Piece(LAPLACE, (0.001,))],
    ],
)
def test_reach_of_several_draws(pieces: Sequence[Piece]) -> None:
    """5 % of drawn sums lie beyond, or a little less; 0.4 % off is 8 standard errors of 200,000 draws (below 1e-14)."""
    rng, number = np.random.default_rng(2), 200_000
    total = np.zeros(number)
    for piece in pieces:
        assert isinstance(piece.law, CubeLaw)
        radius = rng.gamma(piece.law.d + 1, 3.0, number)
        total += sum(w * radius * rng.uniform(-1, 1, number) for w in piece.weights)
    assert float(np.mean(np.abs(total) > reach(pieces, 3.0))) == pytest.approx(0.049, abs=0.004)


def test_reach_of_one_draw() -> None:
    """A single draw has its exact quantile, and none has none."""
    assert reach([Piece(CubeLaw(4), (2.0, 1.0))], 3.0) == pytest.approx(3 * noise_quantile(CubeLaw(4), (2.0, 1.0)))
    assert reach([], 3.0) == 0


def test_two_draws_of_one_law() -> None:
    """The closed form for two independent Laplace draws, (1 + x/2)·e^(−x), is met to the step of the grid."""
    width = reach([Piece(LAPLACE, (1.0,))] * 2, 1.0)
    tail = (1 + width / 2) * np.exp(-width)
    assert 0.0485 <= tail <= 0.05
