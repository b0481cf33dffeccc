"""How far noise reaches: quantiles of weighted sums of noisy statistics, in closed form.

The laws are public, so nothing here costs privacy. They are taken as continuous; scales are many lattice steps.
"""

import itertools
import math
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.95
"""The share of all releases whose error is within the margin."""

Floats = NDArray[np.float64]

_NEGLIGIBLE = 1e-3
"""Weights below this share of the largest are raised to it, which widens a margin by less than 1e-5 of itself."""
_APART = 1.001
"""Scales of independent noise are kept this factor apart, by raising the larger."""
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Cube:
    """One draw for `d` statistics, with density ∝ exp(−max|zᵢ| / scale)."""

    d: int
    scale: float
    """In rows."""


@dataclass(frozen=True, slots=True)
class Laplaces:
    """Independent Laplace noise, one scale (in rows) for each statistic."""

    scales: tuple[float, ...]


Noise = Cube | Laplaces


def half_width(noise: Noise, weights: ArrayLike, level: float = LEVEL) -> Floats:
    """Return x with P(|Σ wᵢ·zᵢ| ≤ x) = `level`, for every vector of weights along the last axis.

    The statistics are any of the cube's, or those of `Laplaces` in order.
    """
    size = np.abs(np.asarray(weights, dtype=np.float64))
    match noise:
        case Cube():
            if size.shape[-1] > noise.d:
                raise ValueError(f"{size.shape[-1]} weights for {noise.d} statistics")
            unit, reach = noise.scale, 2 * noise.d + 20
        case Laplaces():
            size = size * np.array(noise.scales)
            unit, reach = 1.0, 20
        case _:
            assert_never(noise)
    largest = size.max(axis=-1, keepdims=True)
    # All-zero weights have a margin of zero, whatever the law says of ones in their place.
    shape = np.maximum(np.divide(size, largest, out=np.ones_like(size), where=largest > 0), _NEGLIGIBLE)
    low, high = np.zeros(size.shape[:-1]), np.full(size.shape[:-1], float(reach * size.shape[-1]))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tail = cube_tail(middle, shape, noise.d) if isinstance(noise, Cube) else _laplace_tail(middle, shape)
        low, high = np.where(tail > 1 - level, middle, low), np.where(tail > 1 - level, high, middle)
    width: Floats = high * largest[..., 0] * unit
    return width


def cube_tail(x: Floats, weights: Floats, d: int) -> Floats:
    """Return P(|Σ wᵢ·zᵢ| > x) in the cube of scale 1.

    Given the radius r, which is Gamma(d+1), the statistics are uniform on [−r, r], and for u uniform on [−1, 1]^n
    P(Σ wᵢ·uᵢ > s) = Σ_σ (Πσᵢ)·max(σ·w − s, 0)^n / (2^n·n!·Πwᵢ) over all signs σ. With s = x/r the mean over r has
    only incomplete gamma functions of whole order. For n = 1 it is Q(d+1, x) − (x/d)·Q(d, x).
    """
    n = weights.shape[-1]
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
    result: Floats = 2 * tail / (2**n * math.factorial(n) * weights.prod(axis=-1))
    return result


def _upper_gamma(order: int, x: Floats) -> Floats:
    """Return the regularised upper incomplete gamma function Q(order, x) of a whole order."""
    terms: Floats = np.exp(-x) * sum(x**k / math.factorial(k) for k in range(order))
    return terms


def _laplace_tail(x: Floats, scales: Floats) -> Floats:
    """Return P(|Σ zᵢ| > x) for independent Laplace zᵢ, by partial fractions of Π 1/(1 + sᵢ²ω²)."""
    apart = np.sort(scales, axis=-1)
    n = apart.shape[-1]
    for i in range(1, n):
        apart[..., i] = np.maximum(apart[..., i], _APART * apart[..., i - 1])
    squares = apart**2
    tail = np.zeros_like(x)
    for i in range(n):
        others = [squares[..., i] / (squares[..., i] - squares[..., j]) for j in range(n) if j != i]
        tail += np.exp(-x / apart[..., i]) * math.prod(others)
    return tail
