"""Gaussian noise for sums: the σ that a ρ asks for, what it draws, and what it costs."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.zcdp import rho_of
from dpsql.errors import InternalError
from dpsql.policy.model import MechanismName, Privacy
from dpsql.privacy.accuracy.margin import noise_quantile
from dpsql.privacy.mechanisms.block import Block, Norm
from dpsql.privacy.mechanisms.known_mechanisms import mechanism

NOISE = mechanism(MechanismName.GAUSSIAN)
LONE, WIDE, CELLS = Block((0,), Norm.LARGEST), Block((0, 1, 2), Norm.LARGEST), Block((0, 1, 2), Norm.TOTAL)
SIGMA, DRAWS = 200, 40_000


@given(
    st.integers(1, 2**60),
    st.sampled_from([([LONE], 1), ([WIDE, LONE], 3), ([CELLS, LONE], 1)]),
    st.fractions(Fraction(1, 1000), 10, max_denominator=1000),
)
def test_sigma_is_the_least_that_the_proof_asks_for(
    sensitivity: int, blocks: tuple[Sequence[Block], int], epsilon: Fraction
) -> None:
    """σ²·2ρ is no less than the square of the norm, in whole numbers, and would be for a σ that is one smaller."""
    together, parts = blocks
    sigma, square = NOISE.scale(sensitivity, together, epsilon), parts * sensitivity**2
    assert sigma**2 * 2 * rho_of(epsilon) >= square
    assert sigma == 1 or (sigma - 1) ** 2 * 2 * rho_of(epsilon) < square


@pytest.mark.parametrize("block", [LONE, WIDE, CELLS])
def test_draws_have_the_law_that_margins_use(block: Block) -> None:
    """The variance within 5 %, and 5 % ± 0.6 % beyond the 95 % quantile: 5 standard errors and more of so many draws."""
    drawn = np.array(NOISE.sample(np.random.default_rng(3).bytes, SIGMA, block, DRAWS), dtype=np.float64)
    assert drawn.shape == (DRAWS, len(block.places))
    assert drawn.var(axis=0) / SIGMA**2 == pytest.approx(1, rel=0.05)
    assert float(NOISE.variance(block, [block])) == (3 if block is WIDE else 1)
    for law, (place,) in NOISE.laws(block):
        far = noise_quantile(law, [2.0]) / 2 * SIGMA
        assert far == pytest.approx(1.96 * SIGMA, rel=0.001)
        assert float(np.mean(np.abs(drawn[:, place]) > far)) == pytest.approx(0.05, abs=0.006)


def test_coordinates_are_drawn_by_themselves() -> None:
    """Of 40,000 pairs the correlation is below 0.03, 6 standard errors."""
    drawn = np.array(NOISE.sample(np.random.default_rng(4).bytes, SIGMA, WIDE, DRAWS), dtype=np.float64)
    assert np.abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.03


def test_the_loss_at_a_point_is_what_rho_allows() -> None:
    """Of two neighbours Δ apart the Rényi divergence of order 2 is 2ρ at most, by exact sums over the lattice."""
    sensitivity, epsilon = 30, Fraction(1, 2)
    sigma = NOISE.scale(sensitivity, [LONE], epsilon)
    reach = 12 * sigma
    law = [math.exp(-(z**2) / (2 * sigma**2)) for z in range(-reach, reach + 1)]
    whole = sum(law)
    pairs = zip(law[sensitivity:], law, strict=False)
    divergence = math.log(sum(p * p / q for p, q in pairs) / whole)
    assert divergence <= 2 * float(rho_of(epsilon)) * (1 + 1e-9)
    assert divergence > 2 * float(rho_of(epsilon)) * 0.9


def test_it_costs_rho_and_has_no_threshold() -> None:
    """Groups are not found by it."""
    assert NOISE.loss(Fraction(1, 3), Fraction(0)) == Privacy(Fraction(1, 3), Fraction(0), rho_of(Fraction(1, 3)))
    with pytest.raises(InternalError):
        NOISE.threshold(10, LONE, 1, 1, Fraction("1e-6"))
