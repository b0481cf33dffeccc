"""The laws of noise, as margins need them: taken as continuous, since scales are many lattice steps."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
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
        """Return P(|Σ wᵢ·zᵢ| > x) for every x and one vector of positive weights."""


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
        n, d = len(weights), self.d
        if n > d:
            raise ValueError(f"{n} weights for {d} coordinates")
        signs = _signs(n)
        reach = signs @ weights
        kept = reach > 1e-9  # where the signs cancel the term vanishes, as it does for any negative reach
        tail: Reals = signs.prod(axis=1)[kept] @ _terms(x, reach[kept], n, d)
        result: Reals = 2 * tail / (2**n * math.factorial(n) * weights.prod())
        return result


LAPLACE = CubeLaw(1)


@dataclass(frozen=True, slots=True)
class NormalLaw:
    """One draw for one coordinate, with density ∝ exp(−z²/2)."""

    @property
    def variance(self) -> Fraction:
        """Return 1."""
        return Fraction(1)

    @property
    def far(self) -> float:
        """Return 7, beyond which there is less than e^-26."""
        return 7.0

    def tail(self, x: Reals, weights: Reals) -> Reals:
        """Return P(|w·z| > x)."""
        (weight,) = weights.tolist()
        return np.array([math.erfc(each / (weight * math.sqrt(2))) for each in x.tolist()])


NORMAL = NormalLaw()


@lru_cache(maxsize=16)
def _signs(n: int) -> Reals:
    """Return all vectors of n signs."""
    return np.array(list(itertools.product((1.0, -1.0), repeat=n)))


def _terms(x: Reals, reaches: Reals, n: int, d: int) -> Reals:
    """Return for each reach the mean of max(reach − x/r, 0)^n over the radius r, by Q(k, x/reach) up to k = d + 1."""
    y = x[None, :] / reaches[:, None]
    power, below = np.exp(-y), [np.zeros_like(y)]
    for k in range(1, d + 2):  # Q(k, y) = e^(−y)·Σ yⁱ/i! over i < k
        below.append(below[-1] + power)
        power = power * y / k
    terms = np.zeros_like(y)
    for j in range(n + 1):
        weight = math.comb(n, j) * math.factorial(d - j) / math.factorial(d)
        terms += weight * reaches[:, None] ** (n - j) * (-x[None, :]) ** j * below[d + 1 - j]
    return terms
