"""Noise levels: from "low, medium or high" to the ε of one statement, by public numbers only.

A level is a target for the expected error, relative to what a group is expected to hold. The owner declares how many
rows a table is expected to have, so nothing is learnt from the data. Laplace noise of scale C/ε on a count of n rows
has the expected relative error C/(ε·n). `outputs` has the other statistics: what they pay, and what they err by.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from dpsql.epsilon.noise.outputs import OutputKind, output_price
from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.rounding import down_to_digits
from dpsql.policy.model import NoiseLevel

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
