"""The price of the usual statistics, and of any on made-up rows, at a noise level, and their error at an ε.

The gateway measures a count, or a sum, by itself; a mean as a cube of two statistics; a variance as three cells. So, with
b = C/ε, n rows, and u the place of a value within its bounds from −1 to 1:

- alone: Laplace noise, E|z| = b.
- cube of d = 2: the largest coordinate is Gamma(d) and each is as likely the largest, so E|z| = b·(d + 1)/2, and of the
  difference of both E = 2b. A mean μ errs by (z₁ − μ·z₀)/n, whose expectation is convex in μ, so largest at μ = ±1: 2b/n of
  half the declared range, b/n of all of it.
- three cells, each with noise of its own, add up to the count: E|z₁ + z₂ + z₃| = 15b/8. The mean's error is largest at its
  ends, E|2z₁ + z₂| = 7b/3, and so is the variance's: 4b/n of (U − L)²/4, the largest variance that there can be.
- quantiles: one of k buckets is chosen by permute-and-flip. With 95 % the chosen one is at most b·ln(20·k) rows away in
  rank, and with fewer than twice as many rows there is mostly no answer (McKenna & Sheldon 2020; union over k buckets).

Errors of means and variances hold for groups of many more rows than the noise; in smaller ones the bounds limit them.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import assert_never

import numpy as np

from dpsql.epsilon.databases.statistic import Floats
from dpsql.epsilon.numbers import BadInput, down_to_digits
from dpsql.policy.model import NoiseLevel


class OutputKind(StrEnum):
    """The kinds of answers whose price and error have a closed form."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    VARIANCE = "variance"
    MEDIAN = "median"


QUANTILE_BUCKETS = 1024
"""How many buckets a quantile is chosen from, in few groups."""
_ODDS = 20

_OF_CUBE = Fraction(1_414_214, 10**6)
_OF_CELLS = 4 * Fraction(1_825_742, 10**6)
"""Prices that the gateway asks at a noise level, in units of a lone count's: √2, and 4·√(10/3)."""

_ERRORS: Mapping[int, Mapping[OutputKind, Fraction]] = {
    1: {OutputKind.COUNT: Fraction(1), OutputKind.SUM: Fraction(1)},
    2: {OutputKind.COUNT: Fraction(3, 2), OutputKind.SUM: Fraction(3, 2), OutputKind.AVG: Fraction(1)},
    3: {
        OutputKind.COUNT: Fraction(15, 8),
        OutputKind.SUM: Fraction(15, 8),
        OutputKind.AVG: Fraction(7, 6),
        OutputKind.VARIANCE: Fraction(4),
    },
}
"""By the number of statistics that are measured: expected errors in units of b/n, of what `share_of` says."""


def output_price(outputs: frozenset[OutputKind]) -> Fraction:
    """Return what a statement pays in units of a lone count, `SELECT` of these outputs of one column."""
    factors = {0: Fraction(0), 1: Fraction(1), 2: _OF_CUBE, 3: _OF_CELLS}
    sums = factors[_measured(outputs)]
    chosen = Fraction(OutputKind.MEDIAN in outputs)
    # Both parts get the same share, enough for the more demanding one.
    return max(sums, chosen) * ((sums > 0) + chosen)


def expected_error(
    output: OutputKind,
    epsilon: Fraction,
    *,
    contribution: int,
    rows: Fraction,
    beside: frozenset[OutputKind] = frozenset(),
) -> float:
    """Return the expected error at this ε as the share that `share_of` names; `beside` are the statement's other outputs.

    For a median it is what 95 % of the answers do not exceed, in rank.
    """
    if contribution < 1 or rows <= 0 or epsilon <= 0:
        raise BadInput("the contribution, the expected rows and ε must be positive")
    together = beside | {output}
    parts = (1 if together - {OutputKind.MEDIAN} else 0) + (OutputKind.MEDIAN in together)
    scale = contribution * parts / (epsilon * rows)
    if output is OutputKind.MEDIAN:
        return float(scale) * math.log(_ODDS * QUANTILE_BUCKETS)
    return float(scale * _ERRORS[_measured(together)][output])


def share_of(output: OutputKind) -> str:
    """Return what an expected error is a share of."""
    match output:
        case OutputKind.COUNT:
            return "of the rows"
        case OutputKind.SUM:
            return "of the largest possible sum"
        case OutputKind.AVG:
            return "of the declared range"
        case OutputKind.VARIANCE:
            return "of the largest possible variance"
        case OutputKind.MEDIAN:
            return "of the rows, in rank, with 95 %"
        case _:
            assert_never(output)


def median_epsilon(*, contribution: int, rows: Fraction) -> Fraction:
    """Return the ε from which on a median of so many rows is answered, and not mostly NULL, rounded up."""
    return Fraction(math.ceil(2 * contribution * math.log(_ODDS * QUANTILE_BUCKETS) / float(rows) * 10**6), 10**6)


def is_answered(output: OutputKind, error: float) -> bool:
    """Return whether an answer with this expected error says anything: a median is mostly NULL in too small groups."""
    return error <= (0.5 if output is OutputKind.MEDIAN else 1)


def _measured(outputs: frozenset[OutputKind]) -> int:
    """Return how many statistics are measured together."""
    if OutputKind.VARIANCE in outputs:
        return 3
    if OutputKind.AVG in outputs or {OutputKind.COUNT, OutputKind.SUM} <= outputs:
        return 2
    return 1 if outputs & {OutputKind.COUNT, OutputKind.SUM} else 0


# Noise levels: from "low, medium or high" to the ε of one statement, by public numbers only.
#
# A level is a target for the expected error, relative to what a group is expected to hold. The owner declares how many
# rows a table is expected to have, so nothing is learnt from the data. Laplace noise of scale C/ε on a count of n rows
# has the expected relative error C/(ε·n). `outputs` has the other statistics: what they pay, and what they err by.

TARGETS = {level: level.error for level in NoiseLevel}
"""The expected relative error that a level asks for."""


LEAST_EPSILON = Fraction(1, 10**9)
"""The smallest ε that a search returns: below it an answer is nothing but noise."""

_STEPS = 40
"""Each halves the logarithm of the rest: after 40 it is one part in 10^10."""


def rows_per_group(expected_rows: int, groups: int) -> Fraction:
    """Return how many rows a group is expected to have, from the public numbers of both."""
    if expected_rows < 1 or groups < 1:
        raise BadInput(f"{expected_rows} expected rows in {groups} groups: both must be at least 1")
    return Fraction(expected_rows, groups)


def level_epsilon(
    level: NoiseLevel, outputs: Iterable[OutputKind], *, contribution: int, rows: Fraction, cap: Fraction | None
) -> Fraction:
    """Return the ε of a statement: what the gateway charges for these outputs of one column, never more than `cap`.

    `contribution` is C, the most rows of one person that count; `rows` is what a group is expected to have; `cap` is
    the role's ε for one statement, or the rest of its budget if that is less (None only where nothing will be paid).
    """
    if contribution < 1 or rows <= 0:
        raise BadInput(f"a contribution of {contribution} and {float(rows):g} expected rows: both must be positive")
    wanted = output_price(frozenset(outputs)) * contribution / (TARGETS[level] * rows)
    return wanted if cap is None else min(wanted, cap)


def search_epsilon(error_at: Callable[[Fraction], float], target: Fraction, cap: Fraction) -> Fraction:
    """Return an ε for an arbitrary query: the largest one, nearly, whose error is not below `target`.

    `error_at` gives the expected relative error of the query at an ε, computed from public numbers; it must not grow
    with ε. The search has a fixed number of steps, so it ends for all values of `error_at`, and the result is rounded
    down and never more than `cap`.
    """
    if cap <= 0:
        raise BadInput(f"an ε of {float(cap):g} for one statement: it must be positive")
    if error_at(cap) >= target:
        return cap
    below, above = min(LEAST_EPSILON, cap), cap
    for _ in range(_STEPS):
        middle = Fraction(math.sqrt(below * above))
        if error_at(middle) >= target:
            below = middle
        else:
            above = middle
    return max(down_to_digits(below, 6), min(LEAST_EPSILON, cap))


# The final cost of an answer at a noise level: the first look that public numbers suggest, and all that follows it.
#
# The gateway looks first, at the ε of `level_epsilon`, and then measures again until what was released says that the error is
# small beside the value (`privacy.release.target`). Here the same steps are taken with the errors that are expected, for
# values that are spread evenly from 0 to twice their mean. How large answers are nobody knows beforehand: an average that
# lies at a tenth of the largest value takes about ten times as much as one at the largest.
#
# With b = C/ε and n rows, the mean at a share m of the largest value U, and V = m²/3 and q = 4m²/3 the variance and the mean
# of squares in units of U²: a sum errs by b·U beside n·m·U; a mean by (z₁ − μ·z₀)·U/2n of a cube with μ = 2m − 1, so (3 +
# μ²)/4m; a variance by a sum over three cells with the weights 2m² − q, 2m² − q − m and 2m² − q − 2m + 1. A quantile that is
# chosen with its width errs by about 1.6·b rows, which is 3.2·b/n of the median; from 56·b rows on a width can be told.

USUAL_MEAN = Fraction(1, 2)
"""Where values lie unless the owner says otherwise: evenly from 0 to the largest."""
_SEARCH_STEPS, _DECADES = 16, 3
"""The price goes up by factors of 10^(1/16), from a thousandth of the most."""
_NOISE = tuple(sign * -math.log((place + 0.5) / 8) for place in range(8) for sign in (1, -1))
"""Laplace noise of scale 1, as likely one as another: it makes values look larger or smaller, and so what they take."""
_NEARLY, _DOUBT, _WORTH, _FURTHER, _WIDTH, _TOLD_FROM, _CELLS = 0.9, 2, 4, 3, 72, 56, 0.79
"""As the gateway's own (`privacy.release.target`); and of three cells' Laplace noise, its mean beside its deviation."""
_MORE_DOUBT, _LOCATED = 3, frozenset({OutputKind.AVG, OutputKind.VARIANCE})
"""Of these the noise's size is noisy, too."""
_TOLD, _OF_WIDTHS = 1.4, 0.15
"""A median's error as widths say it, over its real one, and the noise of these widths as a part of their own size."""


@dataclass(frozen=True, slots=True)
class SoughtAnswer:
    """A question for one statistic: public numbers, and a guess of where values lie."""

    output: OutputKind
    contribution: int
    rows: Fraction
    mean: Fraction = USUAL_MEAN
    """The mean value as a share of the largest; others are spread evenly around it."""

    def __post_init__(self) -> None:
        if not 0 < self.mean <= USUAL_MEAN:
            raise BadInput(
                f"a typical value of {float(self.mean):g} of the largest: it must be above 0 and at most 1/2"
            )

    def is_answered(self, epsilon: Fraction) -> bool:
        """Return whether an answer at one ε says anything: a median of too few rows is mostly NULL, others are only noise."""
        if self.output is OutputKind.MEDIAN:
            return epsilon >= median_epsilon(contribution=self.contribution, rows=self.rows)
        return self.error(float(epsilon)) <= 1

    def error(self, epsilon: float) -> float:
        """Return the expected error at an ε, relative to the answer."""
        return _relative(self.output, float(self.mean)) * self.contribution / (epsilon * float(self.rows))


@dataclass(frozen=True, slots=True)
class PricedQuestion:
    """The whole price of one question, and the error of its answer."""

    epsilon: Fraction
    error: float
    """Relative to the answer."""
    answered: bool
    """Whether it says anything."""


def price_question(asked: SoughtAnswer, level: NoiseLevel, cap: Fraction) -> PricedQuestion:
    """Return what a role of a noise level pays for a question, within `cap` for a statement, and what it gets."""
    target = float(TARGETS[level])
    first = level_epsilon(level, [asked.output], contribution=asked.contribution, rows=asked.rows, cap=cap)
    follows, worth = (_chosen, max) if asked.output is OutputKind.MEDIAN else (_summed, _worth)
    ladder = _ladder(float(cap))
    ways = [follows(asked, target, [float(first)], ladder, noise) for noise in _NOISE]
    paid = Fraction(sum(map(sum, ways)) / len(ways)).limit_denominator(10**12)
    error = sum(asked.error(worth(way)) for way in ways) / len(ways)
    median = asked.output is OutputKind.MEDIAN  # of which fewer rows tell next to nothing
    told = _TOLD_FROM * asked.contribution / float(asked.rows)
    answered = all(max(way) >= told for way in ways) if median else error <= 1
    return PricedQuestion(max(first, paid), error, answered)


def _summed(asked: SoughtAnswer, target: float, paid: list[float], ladder: list[float], noise: float) -> list[float]:
    """Pay until the error is small beside the value less twice its noise; all releases are read together."""
    doubt = _MORE_DOUBT if asked.output in _LOCATED else _DOUBT
    while True:
        now = _worth(paid)
        error = asked.error(now)
        # In units of the true answer: what is released is 1 and some noise, by which the gateway has to judge it.
        noisy = abs(1 + noise * error)
        if error * _NEARLY <= (noisy - doubt * error) * target:
            return paid
        allowed = max(noisy, _DOUBT * error) * target / (1 + doubt * target)
        place = bisect_left(ladder, 1, key=lambda epsilon: int(asked.error(epsilon) <= allowed))
        step = ladder[min(place, len(ladder) - 1)]
        wanted = ladder[-1] if place == len(ladder) else math.sqrt(step**2 - now**2) if step > now else now
        if not _pay(paid, wanted, now, ladder):
            return paid


def _chosen(asked: SoughtAnswer, target: float, paid: list[float], ladder: list[float], noise: float) -> list[float]:
    """Pay what it takes to tell a width, and until that is small beside the value."""
    enough = _WIDTH * asked.contribution / float(asked.rows)
    while True:
        now = max(paid)
        errs = _TOLD * asked.error(now) * max(1 + _OF_WIDTHS * noise, 1 / _FURTHER)
        allowed = (1 - _DOUBT * errs) * target
        more = max(enough / now, _FURTHER) if now < enough else errs / max(allowed, errs / _FURTHER)
        if more <= 1 or not _pay(paid, now * more, now, ladder):
            return paid


def _pay(paid: list[float], wanted: float, now: float, ladder: list[float]) -> bool:
    """Pay the step of the ladder that is wanted, or the largest that is left; return False where none is worth it."""
    left = ladder[-1] - sum(paid)
    free = [epsilon for epsilon in ladder[: bisect_right(ladder, left * (1 + 1e-9))] if epsilon not in paid]
    if not free:
        return False
    step = free[min(bisect_left(free, max(wanted, now)), len(free) - 1)]
    if step < now / _WORTH:
        return False
    paid.append(step)
    return True


def _worth(paid: list[float]) -> float:
    """Return the ε at which one release has as much noise as all together."""
    return math.sqrt(sum(epsilon**2 for epsilon in paid))


def _ladder(cap: float) -> list[float]:
    last = math.floor(_SEARCH_STEPS * math.log10(cap))
    steps = (float(f"{10 ** (step / _SEARCH_STEPS):.5e}") for step in range(last - _SEARCH_STEPS * _DECADES, last + 1))
    return [*(epsilon for epsilon in steps if epsilon < cap), cap]


def cell_weights(mean: float) -> tuple[float, float, float]:
    """Return how much each cell's noise moves a variance, of n times the square of the largest value."""
    beside = 2 * mean**2 - 4 * mean**2 / 3
    return beside, beside - mean, beside - 2 * mean + 1


def _relative(output: OutputKind, mean: float) -> float:
    """Return the expected error in units of b/n, relative to the answer."""
    match output:
        case OutputKind.COUNT:
            return 1.0
        case OutputKind.SUM:
            return 1 / mean
        case OutputKind.AVG:
            return (3 + (2 * mean - 1) ** 2) / (4 * mean)
        case OutputKind.VARIANCE:
            return _CELLS * math.sqrt(2) * math.hypot(*cell_weights(mean)) / (mean**2 / 3)
        case OutputKind.MEDIAN:
            return 3.2
        case _:
            assert_never(output)


# Rows made up from the declared bounds and domains: an arbitrary query's error is predicted on them, without data.
#
# They are spread evenly and contain no randomness: row i of column j is the fractional part of (i + 1)·αⱼ, with α the
# powers of a generalised golden ratio (Roberts 2018), mapped to the column's range.

Bounds = tuple[Fraction, Fraction]
Domain = Sequence[object]
SyntheticRows = Mapping[str, Floats | tuple[object, ...]]
"""By column: numbers of a column with bounds, values of a column with a domain."""


def synthetic_rows(declared: Mapping[str, Bounds | Domain], count: int) -> SyntheticRows:
    """Return `count` rows over the declared columns: a pair of fractions is a range, anything else a list of values."""
    if count < 1:
        raise BadInput(f"{count} synthetic rows: there must be at least 1")
    ratio = _golden(len(declared))
    rows: dict[str, Floats | tuple[object, ...]] = {}
    for place, (name, domain) in enumerate(declared.items(), start=1):
        spread = np.arange(1, count + 1, dtype=np.float64) * ratio**-place % 1.0
        rows[name] = _made_up_column(domain, spread)
    return rows


def level_epsilon_of_query(
    error: Callable[[SyntheticRows, Fraction], float],
    declared: Mapping[str, Bounds | Domain],
    *,
    level: NoiseLevel,
    expected_rows: int,
    cap: Fraction,
) -> Fraction:
    """Return a level's ε for a query without a closed form, by bisection on synthetic rows.

    `error` gives the query's expected relative error on the rows at an ε.
    """
    rows = synthetic_rows(declared, expected_rows)
    return search_epsilon(lambda epsilon: error(rows, epsilon), TARGETS[level], cap)


def _made_up_column(domain: Bounds | Domain, spread: Floats) -> Floats | tuple[object, ...]:
    match domain:
        case (Fraction() as low, Fraction() as high):
            return np.asarray(float(low) + spread * float(high - low))
        case []:
            raise BadInput("a domain without values has no rows")
        case _:
            return tuple(domain[int(share * len(domain))] for share in spread.tolist())


def _golden(dimensions: int) -> float:
    """Return the root above 1 of x^(d + 1) = x + 1."""
    root = 2.0
    for _ in range(60):
        root = math.pow(1 + root, 1 / (dimensions + 1))
    return root
