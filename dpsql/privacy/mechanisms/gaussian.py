"""Discrete Gaussian noise of one σ in every coordinate, for those who count ρ: zCDP, and no ε.

Claim: let one unit move all coordinates of all groups together by at most Δ in the Euclidean norm. Then noise with
P(z) ∝ exp(−z²/2σ²), independent in each, is ρ-zCDP if σ² ≥ Δ²/2ρ (Canonne, Kamath and Steinke, "The Discrete Gaussian for
Differential Privacy", 2020, Theorem 14 with the composition of their Proposition 3: each coordinate costs its own square).

`sensitivity` is s such that in each group, or block of one, the unit moves no coordinate further than n·w·S, where
√Σ (n·w·S)² over these is s at most. A block of d coordinates moves by √d times that, cells of one value, which are shares of
it, by no more than it: Δ = s·√d for the largest d.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpsql.accounting.zcdp import rho_of
from dpsql.errors import InternalError
from dpsql.policy.model import Privacy
from dpsql.privacy.mechanisms.block import Block, epsilon_parts
from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace
from dpsql.privacy.mechanisms.entropy import Entropy, coins
from dpsql.privacy.mechanisms.law import NORMAL, Law

# Exact draws of the discrete Gaussian, P(z) ∝ exp(−z²/2σ²) over the integers: never a rounded real number.
#
# Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 3 with t = σ: a discrete
# Laplace number y of scale σ is kept with probability exp(−(|y| − σ)²/2σ²), since
# exp(−|y|/σ)·exp(−(|y| − σ)²/2σ²) = exp(−y²/2σ²)·exp(−1/2).

_NARROW = 2**21
"""Below this (|y| − σ)² has 63 bits at most, since no |y| is above 1,025·σ; larger scales use Python's integers."""


def discrete_gaussian(entropy: Entropy, sigma: int, n: int) -> list[int]:
    """Return `n` independent integers z with P(z) ∝ exp(−z²/2σ²), for a whole σ ≥ 1."""
    if sigma < 1:
        raise ValueError(f"σ must be a positive integer, not {sigma}")
    drawn: list[int] = []
    while len(drawn) < n:
        proposed = discrete_laplace(entropy, sigma, n - len(drawn))
        squares = [(abs(y) - sigma) ** 2 for y in proposed]
        kept = coins(entropy, np.array(squares, np.uint64 if sigma <= _NARROW else object), Fraction(1, 2 * sigma**2))
        drawn += [y for y, keep in zip(proposed, kept.tolist(), strict=True) if keep]
    return drawn


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Noise for sums whose unit is bounded in the Euclidean norm; ε names the ρ of a pure answer."""

    def scale(self, sensitivity: int, together: Sequence[Block], epsilon: Fraction) -> int:
        """Return σ: the least whole number with σ²·2ρ ≥ d·sensitivity²."""
        return _root_up(Fraction(sensitivity**2 * epsilon_parts(together)) / (2 * rho_of(epsilon)))

    def sample(self, entropy: Entropy, t: int, block: Block, groups: int) -> Sequence[Sequence[int]]:
        """Draw independently."""
        d = len(block.places)
        flat = discrete_gaussian(entropy, t, groups * d)
        return [flat[i : i + d] for i in range(0, groups * d, d)]

    def variance(self, block: Block, together: Sequence[Block]) -> Fraction:
        """Return d, as it is for a small ε, of which ρ is ε²/2."""
        _ = block
        return Fraction(epsilon_parts(together))

    def laws(self, block: Block) -> Sequence[tuple[Law, tuple[int, ...]]]:
        """Return one draw for each coordinate."""
        return [(NORMAL, (place,)) for place in block.places]

    def threshold(self, t: int, block: Block, step: int, keys: int, delta: Fraction) -> int:
        """Raise: groups are not found by it."""
        _ = t, block, step, keys, delta
        raise InternalError

    def loss(self, epsilon: Fraction, delta: Fraction) -> Privacy:
        """Return ρ, with the ε of a pure answer that costs as much."""
        return Privacy(epsilon, delta, rho_of(epsilon))


def _root_up(square: Fraction) -> int:
    """Return the least whole number above 0 whose square is at least `square`."""
    whole = math.ceil(square)
    root = math.isqrt(whole)
    return max(root if root * root >= whole else root + 1, 1)
