"""Curves as JSON for the browser, and the numbers beside them."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpsql.epsilon.advising.belief import belief_after
from dpsql.plots.density import SMOOTHING, Density, density

_DIGITS = 5
Json = dict[str, object]


SMOOTHINGS = {"none": 0.0, "light": SMOOTHING, "strong": 0.05}
"""The widths of the kernel that a visitor may choose, as shares of the range; both lines of a picture have the same."""


def curves(counts: Sequence[float], low: float, high: float) -> Mapping[str, Density]:
    """Return the density of equal buckets for each smoothing, so that changing it draws no new noise."""
    return {name: density(counts, low, high, smoothing=width) for name, width in SMOOTHINGS.items()}


def drawn(lines: Mapping[str, Density]) -> Json:
    """Return curves as JSON; they have steps where nothing was smoothed."""
    return {name: {"x": short(line.x), "y": short(line.y), "step": not line.bandwidth} for name, line in lines.items()}


def noise_facts(contribution: int, epsilon: Fraction) -> Json:
    """Return what is known before any noise is drawn: its scale, the typical error of a bucket, the limits of guesses.

    The mean of |z| for P(z) ∝ exp(−|z|/s) on the integers is 1/sinh(1/s).
    """
    scale, belief = contribution / float(epsilon), belief_after(epsilon, 2)
    return {
        "epsilon": float(epsilon),
        "sensitivity": contribution,
        "scale": scale,
        "typical": 1 / math.sinh(1 / scale) if scale > 1e-2 else 0.0,
        "guess": belief.membership,
        "valued": belief.value,
    }


def short(values: Sequence[float]) -> list[float | None]:
    """Return values with few digits; None for what JSON has no number for."""
    return [float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None for value in values]
