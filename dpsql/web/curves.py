"""Numbers as JSON for the browser, and the facts about an answer before any noise is drawn."""

import math
from collections.abc import Sequence
from fractions import Fraction

from dpsql.epsilon.advising.belief import belief_after

_DIGITS = 5
Json = dict[str, object]


def noise_facts(contribution: int, epsilon: Fraction) -> Json:
    """Return the facts before any noise is drawn: its scale, the typical error of a bucket, the limits of guesses.

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
