"""Sums over k missing people, counted without enumerating C(n, k) subsets: dynamic programming on integers.

T[j][s] is the number of ways to choose j people whose values, counted from the smallest, add up to s.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpsql.epsilon.databases.statistic import Floats
from dpsql.epsilon.databases.universe import Universe
from dpsql.epsilon.refusal import BadInput

WORK = 4_000_000_000
"""The most additions that the table may take: some seconds."""


@dataclass(frozen=True, slots=True)
class PersonRisk:
    """The belief that an adversary may come to about one person: that this person is among the missing."""

    prior: float
    risk: float
    value: int
    """The value of the person who is most exposed."""


def missing_sums(universe: Universe) -> Iterator[tuple[float, float]]:
    """Yield each possible sum of the missing people's values with the logarithm of its number of worlds."""
    values = _integers(universe)
    base = int(values.min()) * universe.missing
    counts = _table(values - values.min(), universe.missing)[-1]
    for index in np.flatnonzero(counts):
        yield float(base + index), math.log(counts[index])


def person_risk(universe: Universe, rate: float) -> PersonRisk:
    """Return the largest posterior of "this person is missing" over all people and all noisy answers.

    `rate` is ε/Δf in units of the sum: divide by the release's size for a mean. Between two possible sums numerator and
    denominator of the posterior are combinations of exp(rate·x) and exp(−rate·x), so it has no maximum inside: looking
    at the possible sums is enough.

    Raises:
        BadInput: values that are not integers, or too many for the table.
    """
    values, k = _integers(universe), universe.missing
    shifted = values - values.min()
    table = _table(shifted, k)
    possible = table[k] > 0
    everybody = _blurred(table[k], rate)[possible]
    best = PersonRisk(k / universe.people, 0.0, int(values[0]))
    for value in np.unique(shifted):
        with_person = np.zeros_like(table[k])
        with_person[value:] = _without(table, int(value))[: len(with_person) - value]
        risk = float((_blurred(with_person, rate)[possible] / everybody).max())
        if risk > best.risk:
            best = PersonRisk(best.prior, risk, int(value + values.min()))
    return best


def _integers(universe: Universe) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    rounded = np.rint(universe.values)
    if not np.array_equal(rounded, universe.values):
        raise BadInput("with several people missing, sums and means need whole numbers: scale or round the values")
    integers = rounded.astype(np.int64)
    reach = int((integers.max() - integers.min()) * universe.missing + 1)
    if reach * universe.missing * universe.people > WORK:
        raise BadInput("the values reach too far for so many missing people: round them, or let fewer be missing")
    if math.comb(universe.people, universe.missing) > 10**300:
        raise BadInput("the worlds are too many to count: let fewer people be missing")
    return integers


def _table(shifted: np.ndarray[tuple[int], np.dtype[np.int64]], k: int) -> Floats:
    """Return T, by numbers of people and by sums."""
    table = np.zeros((k + 1, int(shifted.max()) * k + 1))
    table[0, 0] = 1.0
    for value in shifted.tolist():
        for chosen in range(k, 0, -1):
            table[chosen, value:] += table[chosen - 1, : table.shape[1] - value]
    return table


def _without(table: Floats, value: int) -> Floats:
    """Return the numbers of (k − 1)-subsets by sum that avoid one person of this value."""
    avoiding: Floats = np.zeros_like(table[0])
    avoiding[0] = 1.0
    for chosen in range(1, len(table) - 1):
        through = np.zeros_like(avoiding)
        through[value:] = avoiding[: len(avoiding) - value]
        avoiding = np.maximum(table[chosen] - through, 0.0)
    return avoiding


def _blurred(counts: Floats, rate: float) -> Floats:
    """Return Σ counts[s]·exp(−rate·|x − s|) for every x."""
    decay = math.exp(-rate)
    rising, falling = np.empty_like(counts), np.empty_like(counts)
    carried = 0.0
    for index, count in enumerate(counts.tolist()):
        carried = carried * decay + count
        rising[index] = carried
    carried = 0.0
    for index, count in enumerate(counts[::-1].tolist()):
        carried = carried * decay + count
        falling[index] = carried
    both: Floats = rising + falling[::-1] - counts
    return both
