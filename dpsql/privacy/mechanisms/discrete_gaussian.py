"""Exact draws of the discrete Gaussian, P(z) ∝ exp(−z²/2σ²) over the integers: never a rounded real number.

Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 3 with t = σ: a discrete
Laplace number y of scale σ is kept with probability exp(−(|y| − σ)²/2σ²), since
exp(−|y|/σ)·exp(−(|y| − σ)²/2σ²) = exp(−y²/2σ²)·exp(−1/2).
"""

from fractions import Fraction

import numpy as np

from dpsql.privacy.mechanisms.bernoulli import coins
from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace
from dpsql.privacy.mechanisms.entropy import Entropy

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
