"""The disclosure study of one universe and one statistic: everything that `dpsql epsilon risk` shows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpsql.epsilon.databases import worlds
from dpsql.epsilon.databases import worlds as databases_worlds
from dpsql.epsilon.databases.statistic import Floats, StatisticFamily, StudiedStatistic, Universe
from dpsql.epsilon.databases.worlds import Worlds
from dpsql.epsilon.numbers import BadInput

# The beliefs that an adversary may come to after seeing one answer with Laplace noise of scale Δf/ε.
#
# Source: Lee & Clifton 2011, definitions 3 and 4 and section 5; corrected where docs/choosing-epsilon.md says so. All
# numbers here are diagnostics: they read everybody's values and must not be published.

_MODEST = 300.0
"""exp of this and of its negative, and their products, are floats."""


def posterior(
    answers: Floats, seen: float, *, epsilon: float, sensitivity: float, prior: Floats | None = None
) -> Floats:
    """Return the probability of each world given the noisy answer `seen`: ∝ prior·exp(−|seen − fᵢ|·ε/Δf)."""
    logs = -np.abs(seen - answers) * _rate(epsilon, sensitivity)
    if prior is not None:
        logs = logs + np.log(prior)
    # The largest is 1 then: without that all of them may be 0 for a large ε, and their sum as well.
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


# From the largest acceptable disclosure risk back to ε.

_HALVINGS = 200
"""More halvings than a float has bits: the search ends for every argument."""


def upper_epsilon(
    prior: Fraction, requirement: Fraction, *, noise_sensitivity: float, world_sensitivity: float
) -> float:
    """Return the largest ε whose upper bound meets the requirement: (Δf/Δv)·ln((n − 1)ρ/(1 − ρ)); may be infinite.

    Raises:
        BadInput: the requirement is below the prior: even silence does not meet it.
    """
    _check(prior, requirement)
    if not world_sensitivity:
        return math.inf
    return noise_sensitivity / world_sensitivity * (logit(requirement) - logit(prior))


def tight_epsilon(worlds: Worlds, requirement: Fraction, *, sensitivity: float, precision: float = 1e-13) -> float:
    """Return the largest ε (to `precision`, relative) whose tight bound meets the requirement; may be infinite.

    The risk never falls as ε grows, so bisection applies; what is returned is the end that satisfies the requirement.

    Raises:
        BadInput: the requirement is below the prior: even silence does not meet it.
    """
    target = float(requirement)
    if tight_risk(worlds, epsilon=0.0, sensitivity=sensitivity) > target * (1 + 1e-12):
        raise BadInput(f"a risk of {target:g} is less than what can be guessed without any answer")
    # Where worlds have the same answer no ε tells them apart, and even an exact answer keeps the requirement.
    if not sensitivity or limit_risk(worlds) <= target * (1 + 1e-12):
        return math.inf
    # `meets` always keeps the requirement. It is what is returned, so that no rounding of the search goes beyond the
    # risk.
    meets, exceeds = 0.0, 1.0
    while tight_risk(worlds, epsilon=exceeds, sensitivity=sensitivity) <= target:
        meets, exceeds = exceeds, 2 * exceeds
    for _ in range(_HALVINGS):
        if exceeds - meets <= precision * exceeds:
            break
        middle = (meets + exceeds) / 2
        if tight_risk(worlds, epsilon=middle, sensitivity=sensitivity) <= target:
            meets = middle
        else:
            exceeds = middle
    return meets


def _check(prior: Fraction, requirement: Fraction) -> None:
    if not 0 < requirement < 1:
        raise BadInput(f"a risk of {float(requirement):g} is not between 0 and 1")
    if requirement < prior:
        raise BadInput(f"a risk of {float(requirement):g} is below the {float(prior):.3g} of a blind guess")


# The study that puts these together.


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A diagnostic for the owner: every number but `prior` was computed from everybody's values."""

    universe: Universe
    statistic: StudiedStatistic
    requirement: Fraction
    worlds: Worlds
    noise_sensitivity: float
    """Δf"""
    world_sensitivity: float
    """Δv"""
    epsilon_upper: float
    epsilon_tight: float

    @property
    def prior(self) -> Fraction:
        """Return the probability of naming the right world blindly."""
        return Fraction(1, self.universe.worlds)


@dataclass(frozen=True, slots=True)
class Curve:
    """Risk by ε: what the plots draw."""

    epsilons: tuple[float, ...]
    upper: tuple[float, ...]
    tight: tuple[float, ...]


def study_risk(universe: Universe, statistic: StudiedStatistic, requirement: Fraction) -> Study:
    """Return sensitivities and the ε of both bounds for the largest acceptable risk.

    Raises:
        BadInput: too few people, too many worlds, or a requirement that a blind guess exceeds.
    """
    noise = databases_worlds.noise_sensitivity(universe, statistic)
    apart = _diameter(universe, statistic)
    possible = worlds.of_universe(universe, statistic)
    upper = upper_epsilon(Fraction(1, universe.worlds), requirement, noise_sensitivity=noise, world_sensitivity=apart)
    tight = tight_epsilon(possible, requirement, sensitivity=noise)
    return Study(universe, statistic, requirement, possible, noise, apart, upper, tight)


def risks_at(result: Study, epsilon: float) -> tuple[float, float]:
    """Return the upper and the tight bound of the disclosure risk at ε."""
    upper = upper_risk(
        result.prior,
        epsilon=epsilon,
        noise_sensitivity=result.noise_sensitivity,
        world_sensitivity=result.world_sensitivity,
    )
    return upper, tight_risk(result.worlds, epsilon=epsilon, sensitivity=result.noise_sensitivity)


def risk_curve(result: Study, epsilons: Iterable[float]) -> Curve:
    """Return both bounds along the given ε."""
    points = [(epsilon, *risks_at(result, epsilon)) for epsilon in epsilons]
    return Curve(*zip(*points, strict=True))


def person_risk_at(result: Study, epsilon: float) -> databases_worlds.PersonRisk | None:
    """Return the risk for single people when several are missing; None where it is not defined by sums."""
    if (
        result.statistic.kind not in (StatisticFamily.SUM, StatisticFamily.MEAN)
        or math.isinf(epsilon)
        or not result.noise_sensitivity
    ):
        return None
    size = result.universe.released if result.statistic.kind is StatisticFamily.MEAN else 1
    return databases_worlds.person_risk(result.universe, epsilon / (result.noise_sensitivity * size))


def _diameter(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return how far two worlds lie apart: they differ in all who are missing, for any distance of the noise."""
    return databases_worlds.world_sensitivity(Universe.of(universe.values, universe.missing), statistic)
