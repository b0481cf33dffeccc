"""The disclosure study of one universe and one statistic: everything that `dpsql epsilon risk` shows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.databases import sensitivity, subsets, worlds
from dpsql.epsilon.databases.statistic import StatisticFamily, StudiedStatistic
from dpsql.epsilon.databases.universe import Universe
from dpsql.epsilon.databases.worlds import Worlds
from dpsql.epsilon.risks import risk, search


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
    noise = sensitivity.noise_sensitivity(universe, statistic)
    apart = _diameter(universe, statistic)
    possible = worlds.of_universe(universe, statistic)
    upper = search.upper_epsilon(
        Fraction(1, universe.worlds), requirement, noise_sensitivity=noise, world_sensitivity=apart
    )
    tight = search.tight_epsilon(possible, requirement, sensitivity=noise)
    return Study(universe, statistic, requirement, possible, noise, apart, upper, tight)


def risks_at(result: Study, epsilon: float) -> tuple[float, float]:
    """Return the upper and the tight bound of the disclosure risk at ε."""
    upper = risk.upper_risk(
        result.prior,
        epsilon=epsilon,
        noise_sensitivity=result.noise_sensitivity,
        world_sensitivity=result.world_sensitivity,
    )
    return upper, risk.tight_risk(result.worlds, epsilon=epsilon, sensitivity=result.noise_sensitivity)


def risk_curve(result: Study, epsilons: Iterable[float]) -> Curve:
    """Return both bounds along the given ε."""
    points = [(epsilon, *risks_at(result, epsilon)) for epsilon in epsilons]
    return Curve(*zip(*points, strict=True))


def person_risk_at(result: Study, epsilon: float) -> subsets.PersonRisk | None:
    """Return the risk for single people when several are missing; None where it is not defined by sums."""
    if (
        result.statistic.kind not in (StatisticFamily.SUM, StatisticFamily.MEAN)
        or math.isinf(epsilon)
        or not result.noise_sensitivity
    ):
        return None
    size = result.universe.released if result.statistic.kind is StatisticFamily.MEAN else 1
    return subsets.person_risk(result.universe, epsilon / (result.noise_sensitivity * size))


def _diameter(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return how far two worlds lie apart: they differ in all who are missing, for any distance of the noise."""
    return sensitivity.world_sensitivity(Universe.of(universe.values, universe.missing), statistic)
