"""Every mechanism: what it draws has the variance and the laws that it claims, at the scale that its proof asks for."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpsql.policy.model import MechanismName, Privacy
from dpsql.privacy.accuracy.margin import noise_quantile
from dpsql.privacy.mechanisms.block import Block, Norm
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.privacy.mechanisms.threshold import threshold

LONE, WIDE, CELLS = Block((0,), Norm.LARGEST), Block((0, 1, 2), Norm.LARGEST), Block((0, 1, 2), Norm.TOTAL)
BLOCKS = (LONE, WIDE, CELLS)
T, DRAWS = 200, 40_000
PURE = (MechanismName.CUBE, MechanismName.LAPLACE)
"""Those that have an ε; Gaussian noise has its own tests."""


@pytest.mark.parametrize(
    ("name", "together", "times"),
    [
        (MechanismName.CUBE, [LONE], 1),
        (MechanismName.CUBE, [WIDE, LONE], 1),
        (MechanismName.LAPLACE, [LONE], 1),
        (MechanismName.LAPLACE, [WIDE, LONE], 3),
        (MechanismName.LAPLACE, [CELLS, LONE], 1),
    ],
)
def test_scales_are_what_the_proofs_ask_for(name: MechanismName, together: Sequence[Block], times: int) -> None:
    """The cube does not divide ε, independent noise does by the coordinates of the largest block; both round up."""
    noise = mechanism(name)
    assert noise.scale(10, together, Fraction(1)) == 10 * times
    assert noise.scale(10, together, Fraction(3)) == -(-10 * times // 3)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("name", PURE)
def test_draws_have_the_variance_that_is_predicted(name: MechanismName, block: Block) -> None:
    """Within 5 %, which is 5 standard errors and more of so many draws, in units of (sensitivity/ε)²."""
    noise, entropy = mechanism(name), np.random.default_rng(1).bytes
    drawn = np.array(noise.sample(entropy, T, block, DRAWS), dtype=np.float64)
    at_one = noise.scale(10**6, [block], Fraction(1)) / 10**6
    assert drawn.shape == (DRAWS, len(block.places))
    assert drawn.var(axis=0) / T**2 * at_one**2 == pytest.approx(float(noise.variance(block, [block])), rel=0.05)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("name", PURE)
def test_draws_have_the_laws_that_margins_use(name: MechanismName, block: Block) -> None:
    """Of each independent draw the weighted sum passes its 95 % quantile in 5 % ± 0.6 % (5.5 standard errors)."""
    noise, entropy = mechanism(name), np.random.default_rng(2).bytes
    drawn = np.array(noise.sample(entropy, T, block, DRAWS), dtype=np.float64)
    laws = noise.laws(block)
    assert sorted(place for _, places in laws for place in places) == list(block.places)
    for law, places in laws:
        weights = 1.0 + np.arange(len(places))
        far = noise_quantile(law, weights.tolist()) * T
        assert float(np.mean(np.abs(drawn[:, list(places)] @ weights) > far)) == pytest.approx(0.05, abs=0.006)


def test_thresholds_are_those_of_the_marginal_law() -> None:
    """A count within a cube of three has the cube's tail, one with noise of its own Laplace's."""
    delta = Fraction("1e-6")
    thresholds = {name: mechanism(name).threshold(T, WIDE, 4, 2, delta) for name in PURE}
    expected = {MechanismName.CUBE: threshold(T, 3, 4, 2, delta), MechanismName.LAPLACE: threshold(T, 1, 4, 2, delta)}
    assert thresholds == expected


@pytest.mark.parametrize("name", PURE)
def test_losses_are_pure_but_for_finding_groups(name: MechanismName) -> None:
    """The noise costs ε; a threshold costs δ beside it."""
    assert mechanism(name).loss(Fraction(1, 3), Fraction("1e-9")) == Privacy(Fraction(1, 3), Fraction("1e-9"))
