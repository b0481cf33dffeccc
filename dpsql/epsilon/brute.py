"""Worlds and empirical sensitivities by looking at every subset: the definition itself, for small universes.

The closed forms are tested against this file; it also answers what has no closed form, up to `LIMIT` subsets.
"""

import itertools
import math

import numpy as np

from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.statistic import Floats, Statistic, evaluate
from dpsql.epsilon.universe import Universe

LIMIT = 300_000
"""The most subsets that are looked at."""


def world_answers(universe: Universe, statistic: Statistic) -> Floats:
    """Return the answer in every world, in the order of `itertools.combinations`: the last person is missing first."""
    _afford(universe.worlds)
    return evaluate(statistic, _subsets(universe.values, universe.released))


def noise_sensitivity(universe: Universe, statistic: Statistic) -> float:
    """Return Δf: the most that adding or removing k people changes the answer of a release."""
    universe.require(statistic)
    k = universe.distance
    return max(_removal(universe, statistic, size) for size in (universe.released, universe.released + k))


def world_sensitivity(universe: Universe, statistic: Statistic) -> float:
    """Return Δv: the most that exchanging k people changes the answer of a release."""
    universe.require(statistic)
    n, k, common = universe.people, universe.distance, universe.released - universe.distance
    _afford(math.comb(n, common) * math.comb(n - common, k))
    return max(_exchange(universe, statistic, chosen) for chosen in itertools.combinations(range(n), common))


def _removal(universe: Universe, statistic: Statistic, size: int) -> float:
    """Return the most that taking k people from a subset of `size` changes its answer."""
    kept = size - universe.distance
    _afford(math.comb(universe.people, size) * math.comb(size, kept))
    before = _subsets(universe.values, size)
    after = np.stack([evaluate(statistic, _subsets(subset, kept)) for subset in before])
    return float(np.abs(after - evaluate(statistic, before)[:, None]).max())


def _exchange(universe: Universe, statistic: Statistic, chosen: tuple[int, ...]) -> float:
    """Return the range of the answer when the `chosen` people stay and any k others join them."""
    joined = _subsets(np.delete(universe.values, chosen), universe.distance)
    shared = np.broadcast_to(universe.values[list(chosen)], (len(joined), len(chosen)))
    return float(np.ptp(evaluate(statistic, np.concatenate([shared, joined], axis=1))))


def _subsets(values: Floats, size: int) -> Floats:
    return np.array(list(itertools.combinations(values.tolist(), size)), dtype=np.float64)


def _afford(subsets: int) -> None:
    if subsets > LIMIT:
        raise BadInput(f"{subsets:.3g} subsets are too many to look at one by one; the limit is {LIMIT}")
