"""Rows made up from the declared bounds and domains: an arbitrary query's error is predicted on them, without data.

They are spread evenly and contain no randomness: row i of column j is the fractional part of (i + 1)·αⱼ, with α the
powers of a generalised golden ratio (Roberts 2018), mapped to the column's range.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from dpsql.epsilon.databases.statistic import Floats
from dpsql.epsilon.noise.outputs import TARGETS, search_epsilon
from dpsql.epsilon.numbers import BadInput
from dpsql.policy.model import NoiseLevel

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
        rows[name] = _column(domain, spread)
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


def _column(domain: Bounds | Domain, spread: Floats) -> Floats | tuple[object, ...]:
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
