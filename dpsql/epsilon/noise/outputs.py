"""The price of the usual statistics of one column at a noise level, and their error at an ε.

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
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from fractions import Fraction
from typing import assert_never

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
