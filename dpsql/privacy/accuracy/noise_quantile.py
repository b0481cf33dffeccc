"""How far one draw of noise reaches: quantiles of weighted sums of its coordinates.

The laws are public, so nothing here costs privacy.
"""

from collections.abc import Sequence

import numpy as np

from dpsql.privacy.mechanisms.law import Law

LEVEL = 0.95
"""The share of all releases whose error is within the margin."""
_NEGLIGIBLE, _PRODUCT = 1e-3, 1e-9
"""Weights below this share of the largest are raised to it, as are those whose product would cost the closed form its digits.

Of two weights that widens a margin by less than 1e-5 of itself, of eight by less than a hundredth.
"""
_ROUNDS, _POINTS = 8, 64


def noise_quantile(law: Law, weights: Sequence[float], level: float = LEVEL) -> float:
    """Return x with P(|Σ wᵢ·zᵢ| ≤ x) = `level` at scale 1."""
    size = np.abs(np.asarray(weights, dtype=np.float64))
    largest = float(size.max(initial=0.0))
    if not largest:
        return 0.0
    least = max(_NEGLIGIBLE, _PRODUCT ** (1 / max(len(size) - 1, 1)))
    shape = np.maximum(size / largest, least)
    low, high = 0.0, law.far * len(size)
    for _ in range(_ROUNDS):
        grid = np.linspace(low, high, _POINTS + 1)
        passed = int(np.count_nonzero(law.tail(grid[1:-1], shape) > 1 - level))
        low, high = float(grid[passed]), float(grid[passed + 1])
    return high * largest
