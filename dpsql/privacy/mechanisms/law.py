"""The laws of noise, as margins need them: taken as continuous, since scales are many lattice steps."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


class Law(Protocol):
    """The law of one draw for several coordinates at scale 1, symmetric and of one peak; equal laws compare equal."""

    @property
    def variance(self) -> Fraction:
        """Return the variance of one coordinate; coordinates are uncorrelated."""

    @property
    def far(self) -> float:
        """Return what a coordinate passes with a probability far below any margin's."""

    def tail(self, x: Reals, weights: Reals) -> Reals:
        """Return P(|Σ wᵢ·zᵢ| > x) for positive weights, which run along the last axis."""


@dataclass(frozen=True, slots=True)
class CubeLaw:
    """One draw for `d` coordinates, with density ∝ exp(−max|zᵢ|); of one coordinate it is Laplace's."""

    d: int

    @property
    def variance(self) -> Fraction:
        """Return (d + 1)(d + 2)/3: the radius is Gamma(d + 1), and coordinates are uniform within it."""
        return Fraction((self.d + 1) * (self.d + 2), 3)

    @property
    def far(self) -> float:
        """Return 2d + 20, of which radii beyond have a probability below e^-10."""
        return 2 * self.d + 20

    def tail(self, x: Reals, weights: Reals) -> Reals:
        """Return P(|Σ wᵢ·zᵢ| > x).

        Given the radius r, which is Gamma(d+1), the coordinates are uniform on [−r, r], and for u uniform on [−1, 1]^n
        P(Σ wᵢ·uᵢ > s) = Σ_σ (Πσᵢ)·max(σ·w − s, 0)^n / (2^n·n!·Πwᵢ) over all signs σ. With s = x/r the mean over r has
        only incomplete gamma functions of whole order. For n = 1 it is Q(d+1, x) − (x/d)·Q(d, x).
        """
        n, d = weights.shape[-1], self.d
        if n > d:
            raise ValueError(f"{n} weights for {d} coordinates")
        tail = np.zeros_like(x)
        for signs in itertools.product((1.0, -1.0), repeat=n):
            reach = weights @ np.array(signs)
            # Where the signs cancel the term vanishes, as it does for any negative reach.
            reached = reach > 1e-9
            safe = np.where(reached, reach, 1.0)
            term = sum(
                math.comb(n, j)
                * safe ** (n - j)
                * (-x) ** j
                * (math.factorial(d - j) / math.factorial(d))
                * _upper_gamma(d + 1 - j, x / safe)
                for j in range(n + 1)
            )
            tail += np.where(reached, math.prod(signs) * term, 0.0)
        result: Reals = 2 * tail / (2**n * math.factorial(n) * weights.prod(axis=-1))
        return result


LAPLACE = CubeLaw(1)


def _upper_gamma(order: int, x: Reals) -> Reals:
    """Return the regularised upper incomplete gamma function Q(order, x) of a whole order."""
    terms: Reals = np.exp(-x) * sum(x**k / math.factorial(k) for k in range(order))
    return terms
