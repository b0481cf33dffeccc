"""How far one draw of noise reaches: quantiles of weighted sums of its coordinates.

The laws are public, so nothing here costs privacy.
"""

import numpy as np
from numpy.typing import ArrayLike

from dpsql.privacy.mechanisms.law import Law, Reals

LEVEL = 0.95
"""The share of all releases whose error is within the margin."""
_NEGLIGIBLE = 1e-3
"""Weights below this share of the largest are raised to it, which widens a margin by less than 1e-5 of itself."""
_HALVINGS = 60


def noise_quantile(law: Law, weights: ArrayLike, level: float = LEVEL) -> Reals:
    """Return x with P(|Σ wᵢ·zᵢ| ≤ x) = `level` at scale 1, for every vector of weights along the last axis."""
    size = np.abs(np.asarray(weights, dtype=np.float64))
    largest = size.max(axis=-1, keepdims=True)
    # All-zero weights have a margin of zero, whatever the law says of ones in their place.
    shape = np.maximum(np.divide(size, largest, out=np.ones_like(size), where=largest > 0), _NEGLIGIBLE)
    low, high = np.zeros(size.shape[:-1]), np.full(size.shape[:-1], float(law.far * size.shape[-1]))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = law.tail(middle, shape) > 1 - level
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    width: Reals = high * largest[..., 0]
    return width
