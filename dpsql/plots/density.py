"""A density curve from noisy bucket counts: post-processing, so it costs nothing and reveals nothing more.

Negative counts weigh nothing in the curve. The kernel is Gaussian and reflected at the declared edges, so no mass is
lost; its width follows from the noisy counts themselves (Silverman's rule, 1.06·σ·n^(−1/5)).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POINTS = 240
"""How many points a curve has."""


@dataclass(frozen=True, slots=True)
class Density:
    """A curve over the declared range; `band` is the half-width around it where margins were given."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    bandwidth: float
    band: tuple[float, ...] | None = None


def density(
    counts: Iterable[float],
    low: float,
    high: float,
    *,
    bandwidth: float | None = None,
    margins: Sequence[float] | None = None,
) -> Density:
    """Return the density of equal buckets over [low, high].

    The band treats the buckets' errors as independent: it is the root of the sum of their squared shares.

    Raises:
        ValueError: no buckets, or an empty range.
    """
    noisy = np.array(list(counts), dtype=np.float64)
    if not len(noisy) or not low < high:
        raise ValueError("a density needs at least one bucket and a range")
    width = bandwidth or silverman(noisy, low, high)
    weights = np.maximum(noisy, 0.0)
    x = np.linspace(low, high, POINTS)
    kernel = _kernel(x, _centres(len(weights), low, high), low, high, width)
    total = weights.sum() or 1.0
    band = None if margins is None else np.sqrt(kernel**2 @ np.square(np.asarray(margins))) / total
    return Density(
        tuple(x.tolist()),
        tuple((kernel @ weights / total).tolist()),
        width,
        None if band is None else tuple(band.tolist()),
    )


def silverman(counts: Iterable[float], low: float, high: float) -> float:
    """Return the bandwidth that the counts suggest; at least half a bucket, so that one full bucket is a curve.

    n and σ are computed with the negative counts, whose noise then cancels; where too much noise leaves no variance,
    without them.
    """
    noisy = np.array(list(counts), dtype=np.float64)
    least = (high - low) / len(noisy) / 2
    for weights in (noisy, np.maximum(noisy, 0.0)):
        total = float(weights.sum())
        if total < 1:
            continue
        place = _centres(len(weights), low, high)
        variance = float(weights @ (place - weights @ place / total) ** 2) / total
        if variance > 0:
            return max(1.06 * math.sqrt(variance) * math.pow(total, -0.2), least)
    return least


def distance(one: Density, other: Density) -> float:
    """Return the L1 distance of two curves over the same range: 0 if they are equal, 2 if nothing is shared."""
    step = (one.x[-1] - one.x[0]) / len(one.x)
    return step * sum(abs(a - b) for a, b in zip(one.y, other.y, strict=True))


def _centres(buckets: int, low: float, high: float) -> Floats:
    return np.asarray(low + (np.arange(buckets, dtype=np.float64) + 0.5) * (high - low) / buckets)


def _kernel(x: Floats, centres: Floats, low: float, high: float, width: float) -> Floats:
    """Return the weight of each bucket (column) at each point (row), with its mirror images beyond both edges."""
    images = np.stack([centres, 2 * low - centres, 2 * high - centres])
    scaled = (x[:, None, None] - images[None]) / width
    return np.asarray(np.exp(-0.5 * scaled**2).sum(axis=1) / (width * np.sqrt(2 * np.pi)))
