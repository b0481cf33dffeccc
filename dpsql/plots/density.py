"""A density curve from noisy bucket counts: post-processing, so it costs nothing and reveals nothing more.

Negative counts weigh nothing in the curve. The kernel is Gaussian and reflected at the declared edges, so no mass is
lost. Its width is a share of the declared range and follows from nothing else: were it computed from the counts, two lines
would differ by their smoothing as well as by their noise, and one could not tell which is which.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.epsilon.databases.statistic import Floats

CURVE_POINTS = 240
"""How many points a curve has."""


@dataclass(frozen=True, slots=True)
class Density:
    """A curve over the declared range; `band` is the half-width around it where margins were given."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    bandwidth: float
    band: tuple[float, ...] | None = None


SMOOTHING = 0.02
"""The usual width of the kernel, as a share of the range: two of a hundred buckets."""


def density(
    counts: Iterable[float],
    low: float,
    high: float,
    *,
    smoothing: float = SMOOTHING,
    margins: Sequence[float] | None = None,
) -> Density:
    """Return the density of equal buckets over [low, high]; without `smoothing` (0) the buckets stand as they are.

    The kernel is at least half a bucket wide, so that few buckets make a curve. The band treats the buckets' errors as
    independent: it is the root of the sum of their squared shares.

    Raises:
        ValueError: no buckets, an empty range, or a negative width.
    """
    noisy = np.array(list(counts), dtype=np.float64)
    if not len(noisy) or not low < high or smoothing < 0:
        raise ValueError("a density needs at least one bucket, a range and a width that is not negative")
    bucket = (high - low) / len(noisy)
    width = max(smoothing * (high - low), bucket / 2) if smoothing else 0.0
    weights = np.maximum(noisy, 0.0)
    x = np.linspace(low, high, CURVE_POINTS)
    kernel = (
        _kernel(x, _centres(len(weights), low, high), low, high, width) if width else _steps(x, low, bucket, len(noisy))
    )
    # Where no count is above 0 the curve is 0. The noise of the total itself is not in the band.
    total = weights.sum() or 1.0
    band = None if margins is None else np.sqrt(kernel**2 @ np.square(np.asarray(margins))) / total
    return Density(
        tuple(x.tolist()),
        tuple((kernel @ weights / total).tolist()),
        width,
        None if band is None else tuple(band.tolist()),
    )


def distance(first: Density, other: Density) -> float:
    """Return the L1 distance of two curves over the same range: 0 if they are equal, 2 if nothing is shared."""
    step = (first.x[-1] - first.x[0]) / len(first.x)
    return step * sum(abs(a - b) for a, b in zip(first.y, other.y, strict=True))


def _centres(buckets: int, low: float, high: float) -> Floats:
    return np.asarray(low + (np.arange(buckets, dtype=np.float64) + 0.5) * (high - low) / buckets)


def _kernel(x: Floats, centres: Floats, low: float, high: float, width: float) -> Floats:
    """Return the weight of each bucket (column) at each point (row), with its mirror images beyond both edges."""
    images = np.stack([centres, 2 * low - centres, 2 * high - centres])
    scaled = (x[:, None, None] - images[None]) / width
    return np.asarray(np.exp(-0.5 * scaled**2).sum(axis=1) / (width * np.sqrt(2 * np.pi)))


def _steps(x: Floats, low: float, bucket: float, buckets: int) -> Floats:
    """Return for each point (row) which bucket (column) it lies in."""
    # The last point is `high`, which [a, b) of the last bucket leaves out.
    place = np.minimum(((x - low) / bucket).astype(np.int64), buckets - 1)
    return np.asarray(np.eye(buckets)[place] / bucket)
