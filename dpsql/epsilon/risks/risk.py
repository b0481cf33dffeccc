"""The beliefs that an adversary may come to after seeing one answer with Laplace noise of scale Δf/ε.

Source: Lee & Clifton 2011, definitions 3 and 4 and section 5; corrected where docs/choosing-epsilon.md says so. All
numbers here are diagnostics: they read everybody's values and must not be published.
"""

import math
from fractions import Fraction

import numpy as np

from dpsql.epsilon.databases.statistic import Floats
from dpsql.epsilon.databases.worlds import Worlds

_MODEST = 300.0
"""exp of this and of its negative, and their products, are floats."""


def posterior(
    answers: Floats, seen: float, *, epsilon: float, sensitivity: float, prior: Floats | None = None
) -> Floats:
    """Return the probability of each world given the noisy answer `seen`: ∝ prior·exp(−|seen − fᵢ|·ε/Δf)."""
    logs = -np.abs(seen - answers) * _rate(epsilon, sensitivity)
    if prior is not None:
        logs = logs + np.log(prior)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def disclosure_risk(belief: Floats) -> float:
    """Return the probability of the world that an adversary would name."""
    return float(belief.max())


def confidence(belief: Floats, prior: Floats | None = None) -> float:
    """Return the largest gain of one world's probability: max(posterior − prior)."""
    before = 1.0 / len(belief) if prior is None else prior
    return float((belief - before).max())


def tight_risk(worlds: Worlds, *, epsilon: float, sensitivity: float) -> float:
    """Return the largest posterior that any world can reach, for all noisy answers.

    For world i the posterior is largest at seen = fᵢ, because |x − fⱼ| − |x − fᵢ| ≤ |fᵢ − fⱼ| with equality there for
    all j at once. So it is max pᵢ / Σ pⱼ·exp(−|fᵢ − fⱼ|·ε/Δf), and the sums are two scans over the sorted answers.
    """
    place = (worlds.answers - worlds.answers[0]) * _rate(epsilon, sensitivity)
    near = place[-1] < _MODEST and worlds.log_mass.min() > -_MODEST
    log_sums = _near_sums(worlds.log_mass, place) if near else _far_sums(worlds.log_mass, place)
    return float(np.exp((worlds.log_single - log_sums).max()))


def limit_risk(worlds: Worlds) -> float:
    """Return what `tight_risk` tends to as ε grows: only worlds with the same answer protect each other."""
    return float(np.exp((worlds.log_single - worlds.log_mass).max()))


def upper_risk(prior: Fraction, *, epsilon: float, noise_sensitivity: float, world_sensitivity: float) -> float:
    """Return the bound 1/(1 + (n − 1)·exp(−ε·Δv/Δf)), with 1/n the largest prior of a world."""
    return inverse_logit(logit(prior) + _rate(epsilon, noise_sensitivity) * world_sensitivity)


def logit(probability: Fraction) -> float:
    """Return ln(p/(1 − p)); exact fractions keep it finite for any number of worlds."""
    odds = probability / (1 - probability)
    return math.log(odds.numerator) - math.log(odds.denominator)


def inverse_logit(value: float) -> float:
    """Return the probability whose logit is `value`."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


def _near_sums(log_mass: Floats, place: Floats) -> Floats:
    """Return ln Σ massⱼ·exp(−|placeᵢ − placeⱼ|), where nothing overflows: several times faster."""
    mass, rising = np.exp(log_mass), np.exp(place)
    below = np.cumsum(mass * rising) / rising
    above = np.cumsum((mass / rising)[::-1])[::-1] * rising
    return np.asarray(np.log(below + above - mass))


def _far_sums(log_mass: Floats, place: Floats) -> Floats:
    """Return the same by sums of logarithms, for places of any distance."""
    below = np.logaddexp.accumulate(log_mass + place) - place
    from_above = np.logaddexp.accumulate((log_mass - place)[::-1])[::-1]
    above = np.append(from_above[1:], -np.inf) + place
    return np.asarray(np.logaddexp(below, above))


def _rate(epsilon: float, sensitivity: float) -> float:
    """Return ε/Δf; an answer that nothing can change (Δf = 0) tells nothing."""
    return epsilon / sensitivity if sensitivity else 0.0
