"""The possible answers without noise, how probable each is, and how far they lie apart: in closed form, or by looking at all.

Only what the risk depends on is kept: the distinct answers, the probability of all worlds that share one, and that of
the most probable single world among them. So a million people, or C(10 000, 5) worlds, take little room.
"""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, assert_never

import numpy as np
from numpy.typing import NDArray

from dpsql.epsilon.databases.statistic import Floats, StatisticFamily, StudiedStatistic, Universe, evaluate_samples
from dpsql.epsilon.numbers import BadInput

# Closed forms for what one missing person changes, in O(n log n): of quantiles, of variance and standard deviation.
#
# A quantile of a sample of size s is a weighted sum of at most two of its order statistics. Taking people from the top
# leaves the ranks of the others alone, taking them from the bottom moves them all: these are the extremes, and the sample
# that makes the difference largest has its low ranks at the universe's low end and its high ranks at the high end.

MOST_MISSING = 200
"""The worlds are counted by pairs of ranks, exactly: the work grows with the square of the missing people."""


def quantiles_leave_one_out(values: Floats, fraction: Fraction) -> Floats:
    """Return the quantile without person i, for every i."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    answers = np.zeros(len(values))
    for index, weight in _quantile_weights(fraction * (len(values) - 2)).items():
        # without rank r, index i holds rank i if i < r and rank i + 1 otherwise
        answers += float(weight) * np.where(rank <= index, ranked[index + 1], ranked[index])
    return answers


def quantile_noise_sensitivity(universe: Universe, fraction: Fraction) -> float:
    """Return Δf for adding or removing `distance` people."""
    ranked, k = np.sort(universe.values), universe.distance
    best = 0.0
    for size in (universe.released, universe.released + k):
        whole, part = fraction * (size - 1), fraction * (size - k - 1)
        from_top = _quantile_spread(ranked, size, _quantile_weights(whole), _quantile_weights(part))
        from_bottom = _quantile_spread(ranked, size, _quantile_weights(part + k), _quantile_weights(whole))
        best = max(best, from_top, from_bottom)
    return best


def quantile_world_sensitivity(universe: Universe, fraction: Fraction) -> float:
    """Return Δv for exchanging `distance` people: both samples lie in one of m + k, without its top or bottom k."""
    ranked, k = np.sort(universe.values), universe.distance
    index = fraction * (universe.released - 1)
    return _quantile_spread(ranked, universe.released + k, _quantile_weights(index + k), _quantile_weights(index))


def quantile_worlds(universe: Universe, fraction: Fraction) -> Iterator[tuple[float, int]]:
    """Yield the quantile's possible values and in how many worlds each occurs; a value may come more than once.

    If the kept people of rank i and i + 1 are s and t in the universe, the others can be chosen in
    C(s, i)·C(n − 1 − t, m − i − 2) ways.
    """
    ranked, m, k = np.sort(universe.values).tolist(), universe.released, universe.missing
    if k > MOST_MISSING:
        raise BadInput(f"{k} people missing are too many for a quantile; the limit is {MOST_MISSING}")
    index = fraction * (m - 1)
    i, share = math.floor(index), float(index - math.floor(index))
    for s in range(i, i + k + 1):
        if share == 0:
            yield ranked[s], math.comb(s, i) * math.comb(len(ranked) - 1 - s, m - 1 - i)
            continue
        for t in range(s + 1, i + k + 2):
            ways = math.comb(s, i) * math.comb(len(ranked) - 1 - t, m - 2 - i)
            yield (1 - share) * ranked[s] + share * ranked[t], ways


def _quantile_weights(index: Fraction) -> dict[int, Fraction]:
    """Return the order statistics (from 0) that make up the value at a fractional index."""
    below, share = math.floor(index), index - math.floor(index)
    return {below: 1 - share, below + 1: share} if share else {below: Fraction(1)}


def _quantile_spread(ranked: Floats, size: int, plus: dict[int, Fraction], minus: dict[int, Fraction]) -> float:
    """Return the largest value of Σ plus·D − Σ minus·D over samples D of `size`, D by rank, `plus` the higher ranks."""
    weights = {index: plus.get(index, Fraction(0)) - minus.get(index, Fraction(0)) for index in {*plus, *minus}}
    shift = len(ranked) - size
    return float(sum(float(w) * ranked[index + shift if w > 0 else index] for index, w in weights.items()))


# Closed forms for variance and standard deviation when one person is missing, in O(n log n).
#
# Values are centred at the median, which is never further from the mean than one standard deviation, and who is left out
# is never subtracted from a sum that includes them: so an outlier takes no digits away from the others.


def spreads_leave_one_out(values: Floats, statistic: StudiedStatistic) -> Floats:
    """Return the answer without person i, for every i."""
    centred = values - np.median(values)
    return _spread_answers(_without_each(centred), _without_each(centred**2), len(values) - 1, statistic)


def spread_noise_sensitivity(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return Δf for one person: either the missing one joins, or a second one leaves.

    When i is missing, the variance without j as well is a concave parabola in j's value. So j at either end of the
    values, or next to the parabola's vertex, changes the answer most; i itself is why two candidates are tried on
    each side.
    """
    _require_one(universe)
    ranked = np.sort(universe.values)
    centred, n = ranked - np.median(ranked), len(ranked)
    one_less = spreads_leave_one_out(ranked, statistic)
    everybody = _spread_answers(centred.sum(), (centred**2).sum(), n, statistic)
    best = float(np.abs(everybody - one_less).max())
    for end in (0, 1, n - 2, n - 1):
        two_less = spreads_leave_one_out(np.delete(ranked, end), statistic)
        best = max(best, float(np.abs(two_less - np.delete(one_less, end)).max()))
    total, squares, me = _without_each(centred), _without_each(centred**2), np.arange(n)
    near = np.searchsorted(centred, total / (n - 1))
    for offset in (-2, -1, 0, 1):
        other = np.clip(near + offset, 0, n - 1)
        value = centred[other]
        two_less = _spread_answers(total - value, squares - value**2, n - 2, statistic)
        best = max(best, float(np.abs(two_less - one_less)[other != me].max(initial=0.0)))
    return best


def spread_world_sensitivity(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return Δv for exchanging one person: the range of the leave-one-out answers."""
    _require_one(universe)
    return float(np.ptp(spreads_leave_one_out(universe.values, statistic)))


def _require_one(universe: Universe) -> None:
    if universe.missing != 1:
        raise BadInput("the sensitivity of variances has a closed form for one missing person only")


def _without_each(values: Floats) -> Floats:
    """Return the sum of all but the i-th value, for every i."""
    before = np.append(0.0, np.cumsum(values)[:-1])
    after = np.append(np.cumsum(values[::-1])[-2::-1], 0.0)
    return np.asarray(before + after)


def _spread_answers(total: Floats, squares: Floats, size: int, statistic: StudiedStatistic) -> Floats:
    variance = np.maximum(squares - total**2 / size, 0.0) / (size - statistic.lost)
    return np.asarray(np.sqrt(variance) if statistic.kind is StatisticFamily.DEVIATION else variance)


# Sums over k missing people, counted without enumerating C(n, k) subsets: dynamic programming on integers.
#
# T[j][s] is the number of ways to choose j people whose values, counted from the smallest, add up to s.

SUBSET_WORK = 4_000_000_000
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
    counts = _subset_table(values - values.min(), universe.missing)[-1]
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
    table = _subset_table(shifted, k)
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
    if reach * universe.missing * universe.people > SUBSET_WORK:
        raise BadInput("the values reach too far for so many missing people: round them, or let fewer be missing")
    # Worlds are counted in double precision, which ends at 10³⁰⁸.
    if math.comb(universe.people, universe.missing) > 10**300:
        raise BadInput("the worlds are too many to count: let fewer people be missing")
    return integers


def _subset_table(shifted: np.ndarray[tuple[int], np.dtype[np.int64]], k: int) -> Floats:
    """Return T, by numbers of people and by sums."""
    table = np.zeros((k + 1, int(shifted.max()) * k + 1))
    table[0, 0] = 1.0
    for value in shifted.tolist():
        # Downwards: upwards, the row below would have this person in it already, who would then be chosen twice.
        for chosen in range(k, 0, -1):
            table[chosen, value:] += table[chosen - 1, : table.shape[1] - value]
    return table


def _without(table: Floats, value: int) -> Floats:
    """Return the numbers of (k − 1)-subsets by sum that avoid one person of this value."""
    avoiding: Floats = np.zeros_like(table[0])
    avoiding[0] = 1.0
    for chosen in range(1, len(table) - 1):
        # Choices of j people that have this one are choices of j − 1 others, moved up by the value; all but these avoid
        # it.
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


# Worlds and empirical sensitivities by looking at every subset: the definition itself, for small universes.
#
# The closed forms are tested against this file; it also answers what has no closed form, up to `LIMIT` subsets.

BRUTE_LIMIT = 300_000
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
    if subsets > BRUTE_LIMIT:
        raise BadInput(f"{subsets:.3g} subsets are too many to look at one by one; the limit is {BRUTE_LIMIT}")


# The worlds that are possible, and how probable each is.

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
        ways = quantile_worlds(universe, statistic.fraction)
        return Worlds.of_counts((value, math.log(count)) for value, count in ways if count)
    if universe.worlds <= BRUTE_LIMIT:
        return Worlds.of_answers(world_answers(universe, statistic))
    if statistic.kind in (StatisticFamily.SUM, StatisticFamily.MEAN):
        size = universe.released if statistic.kind is StatisticFamily.MEAN else 1
        total = float(universe.values.sum())
        return Worlds.of_counts(((total - gone) / size, ways) for gone, ways in missing_sums(universe))
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
            return spreads_leave_one_out(values, statistic)
        case StatisticFamily.QUANTILE:
            return quantiles_leave_one_out(values, statistic.fraction)
    assert_never(statistic.kind)


# Empirical sensitivities of a universe: Δf, which the noise is scaled with, and Δv, how far two worlds lie apart.
#
# Count, sum and mean are solved here, quantiles and variances above; variances with several missing
# people are enumerated while the universe is small.


def noise_sensitivity(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return Δf: the most that adding or removing `distance` people changes the answer (unbounded neighbours)."""
    universe.require(statistic)
    k = universe.distance
    match statistic.kind:
        case StatisticFamily.COUNT:
            return float(k)
        case StatisticFamily.SUM:
            ranked = np.sort(universe.values)
            return max(abs(_top(ranked, k)), abs(_bottom(ranked, k)))
        case StatisticFamily.MEAN:
            ranked = np.sort(universe.values)
            return max(_mean_removal(ranked, size, k) for size in (universe.released, universe.released + k))
        case StatisticFamily.VARIANCE | StatisticFamily.DEVIATION:
            if universe.missing > 1:
                return brute_noise_sensitivity(universe, statistic)
            return spread_noise_sensitivity(universe, statistic)
        case StatisticFamily.QUANTILE:
            return quantile_noise_sensitivity(universe, statistic.fraction)
    assert_never(statistic.kind)


def world_sensitivity(universe: Universe, statistic: StudiedStatistic) -> float:
    """Return Δv: the most that exchanging `distance` people changes the answer (bounded neighbours)."""
    universe.require(statistic)
    k = universe.distance
    match statistic.kind:
        case StatisticFamily.COUNT:
            return 0.0
        case StatisticFamily.SUM | StatisticFamily.MEAN:
            ranked = np.sort(universe.values)
            size = universe.released if statistic.kind is StatisticFamily.MEAN else 1
            return (_top(ranked, k) - _bottom(ranked, k)) / size
        case StatisticFamily.VARIANCE | StatisticFamily.DEVIATION:
            if universe.missing > 1:
                return brute_world_sensitivity(universe, statistic)
            return spread_world_sensitivity(universe, statistic)
        case StatisticFamily.QUANTILE:
            return quantile_world_sensitivity(universe, statistic.fraction)
    assert_never(statistic.kind)


def _mean_removal(ranked: Floats, size: int, k: int) -> float:
    """Return the most that taking k people from `size` moves the mean.

    It moves by k/size times the distance between the means of those who stay and those who go, which is largest when
    they stand at opposite ends.
    """
    kept = size - k
    go_high = _top(ranked, k) / k - _bottom(ranked, kept) / kept
    go_low = _top(ranked, kept) / kept - _bottom(ranked, k) / k
    return k / size * max(go_high, go_low)


def _top(ranked: Floats, count: int) -> float:
    return float(ranked[len(ranked) - count :].sum())


def _bottom(ranked: Floats, count: int) -> float:
    return float(ranked[:count].sum())
