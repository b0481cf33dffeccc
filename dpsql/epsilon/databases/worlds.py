"""The possible answers without noise, and how probable each is before anything was published.

Only what the risk depends on is kept: the distinct answers, the probability of all worlds that share one, and that of
the most probable single world among them. So a million people, or C(10 000, 5) worlds, take little room.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self, assert_never

import numpy as np

from dpsql.epsilon.databases import brute, quantiles, spreads, subsets
from dpsql.epsilon.databases.statistic import Floats, StatisticFamily, StudiedStatistic
from dpsql.epsilon.databases.universe import Universe
from dpsql.epsilon.refusal import BadInput

_EQUAL = 1e-13
"""Answers closer than this share of the largest count as one: they differ by rounding only."""


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """Distinct answers in ascending order with the logarithms of their prior probabilities."""

    answers: Floats
    log_mass: Floats
    """Of all worlds with this answer, together."""
    log_single: Floats
    """Of the most probable single world with this answer: what an adversary may come to believe in."""

    @classmethod
    def of_answers(cls, answers: Iterable[float], prior: Iterable[float] | None = None) -> Self:
        """Build from one answer a world, with a prior that is uniform unless given."""
        array = np.array(answers if isinstance(answers, np.ndarray) else list(answers), dtype=np.float64)
        if prior is None:
            return cls._merge(array, np.full(len(array), -math.log(len(array))), None)
        weights = np.array(list(prior), dtype=np.float64)
        if len(weights) != len(array) or not (weights > 0).all() or not math.isclose(weights.sum(), 1.0):
            raise BadInput("the prior needs one positive probability a world, 1 in total")
        return cls._merge(array, np.log(weights), None)

    @classmethod
    def of_counts(cls, counts: Iterable[tuple[float, float]]) -> Self:
        """Build from (answer, logarithm of its number of worlds); all worlds are equally probable."""
        pairs = np.array(list(counts), dtype=np.float64)
        total = float(np.logaddexp.reduce(pairs[:, 1]))
        return cls._merge(pairs[:, 0], pairs[:, 1] - total, -total)

    @classmethod
    def _merge(cls, answers: Floats, log_mass: Floats, log_single: float | None) -> Self:
        order = np.argsort(answers, kind="stable")
        ranked, mass = answers[order], log_mass[order]
        fresh = np.diff(ranked, prepend=-np.inf) > _EQUAL * np.abs(ranked[[0, -1]]).max()
        starts = np.flatnonzero(fresh)
        merged = np.logaddexp.reduceat(mass, starts)
        single = np.maximum.reduceat(mass, starts) if log_single is None else np.full(len(starts), log_single)
        return cls(ranked[starts], merged, single)


def of_universe(universe: Universe, statistic: StudiedStatistic) -> Worlds:
    """Return the worlds of a universe, by the cheapest way that is exact.

    Raises:
        BadInput: several people are missing, and the worlds are too many to look at one by one.
    """
    if universe.missing == 1:
        return Worlds.of_answers(leave_one_out(universe.values, statistic))
    if statistic.kind is StatisticFamily.COUNT:
        return Worlds.of_counts([(float(universe.released), 0.0)])
    if statistic.kind is StatisticFamily.QUANTILE:
        ways = quantiles.worlds(universe, statistic.fraction)
        return Worlds.of_counts((value, math.log(count)) for value, count in ways if count)
    if universe.worlds <= brute.LIMIT:
        return Worlds.of_answers(brute.world_answers(universe, statistic))
    if statistic.kind in (StatisticFamily.SUM, StatisticFamily.MEAN):
        size = universe.released if statistic.kind is StatisticFamily.MEAN else 1
        total = float(universe.values.sum())
        return Worlds.of_counts(((total - gone) / size, ways) for gone, ways in subsets.missing_sums(universe))
    raise BadInput(f"{universe.worlds:.3g} worlds are too many for this statistic; let one person be missing")


def leave_one_out(values: Floats, statistic: StudiedStatistic) -> Floats:
    """Return the answer in the world where person i is missing, for every i, in O(n log n)."""
    released = len(values) - 1
    match statistic.kind:
        case StatisticFamily.COUNT:
            return np.full(len(values), float(released))
        case StatisticFamily.SUM:
            return np.asarray(values.sum() - values)
        case StatisticFamily.MEAN:
            return np.asarray((values.sum() - values) / released)
        case StatisticFamily.VARIANCE | StatisticFamily.DEVIATION:
            return spreads.spreads_leave_one_out(values, statistic)
        case StatisticFamily.QUANTILE:
            return quantiles.quantiles_leave_one_out(values, statistic.fraction)
    assert_never(statistic.kind)
