"""Worlds and empirical sensitivities by looking at every subset: the definition itself, for small universes.

The closed forms are tested against this file; it also answers what has no closed form, up to `LIMIT` subsets.
"""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from dpsql.epsilon.databases.statistic import Floats, StudiedStatistic, evaluate_samples
from dpsql.epsilon.databases.universe import Universe
from dpsql.epsilon.refusal import BadInput

LIMIT = 300_000
"""The most subsets that are looked at."""


def world_answers(universe: Universe, statistic: StudiedStatistic) -> Floats:
    """Return the answer in every world, in the order of `itertools.combinations`: the last person is missing first."""
    return evaluate_samples(statistic, universe.values[_choices(universe.people, universe.released)])


def brute_noise_sensitivity(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return Δf: the most that adding or removing k people changes the answer of a release."""
    universe.require(statistic)
    return max(_removal(universe, statistic, size) for size in (0, universe.distance))


def brute_world_sensitivity(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return Δv: the most that exchanging k people changes the answer of a release.

    Every sample is written as a common part of m − k people and k of the others; for each common part the answers of
    all its samples are compared.
    """
    universe.require(statistic)
    n, k, shared = universe.people, universe.distance, universe.released - universe.distance
    _afford(math.comb(n, shared) * math.comb(n - shared, k))
    # the complement of the i-th subset in this order is the i-th largest of its size
    common, others = _choices(n, shared), _choices(n, n - shared)[::-1]
    joined = others[:, _choices(n - shared, k)]
    kept = np.broadcast_to(common[:, None, :], (*joined.shape[:2], shared))
    answers = evaluate_samples(statistic, universe.values[np.concatenate([kept, joined], axis=2)])
    return float(np.ptp(answers, axis=1).max())


def _removal(universe: Universe, statistic: StudiedStatistic, added: int) -> float:
    """Return the most that taking k people from a release with so many people added changes its answer."""
    size, kept = universe.released + added, universe.released + added - universe.distance
    _afford(math.comb(universe.people, size) * math.comb(size, kept))
    before = universe.values[_choices(universe.people, size)]
    after = evaluate_samples(statistic, before[:, _choices(size, kept)])
    return float(np.abs(after - evaluate_samples(statistic, before)[:, None]).max())


def _choices(people: int, size: int) -> NDArray[np.int64]:
    """Return all subsets of so many people by their places."""
    _afford(math.comb(people, size))
    return np.array(list(itertools.combinations(range(people), size)), dtype=np.int64)


def _afford(subsets: int) -> None:
    if subsets > LIMIT:
        raise BadInput(f"{subsets:.3g} subsets are too many to look at one by one; the limit is {LIMIT}")
