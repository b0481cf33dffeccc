"""Curves as a browser gets them, and the numbers beside them."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpsql.plots.density import density

_DIGITS = 5
Json = dict[str, object]


def curve(counts: Iterable[float], low: float, high: float) -> Json:
    """Return the density of equal buckets."""
    drawn = density(counts, low, high)
    return {"x": short(drawn.x), "y": short(drawn.y)}


def facts(contribution: int, epsilon: Fraction) -> Json:
    """Return what is known before any noise is drawn: its scale, the typical error of a bucket, a guess's limit.

    The mean of |z| for P(z) ∝ exp(−|z|/s) on the integers is 1/sinh(1/s).
    """
    scale = contribution / float(epsilon)
    return {
        "epsilon": float(epsilon),
        "sensitivity": contribution,
        "scale": scale,
        "typical": 1 / math.sinh(1 / scale) if scale > 1e-2 else 0.0,
        "guess": 1 / (1 + math.exp(-float(epsilon))),
    }


def short(values: Sequence[float]) -> list[float | None]:
    """Return values with few digits; None for what JSON has no number for."""
    return [float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None for value in values]
