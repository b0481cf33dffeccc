"""Margins hold against the exact answer of the clamped table, on three tables whose units have few rows, many, and one.

C is chosen for each answer, and the table's profile is known. Neither what a C takes off nor noise is seen by who reads an
answer: the truth is what an analyst would have been told.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from tests.truth.asking import Asked, Place, Served, place
from tests.truth.data_sets import DATA_SETS

pytestmark = pytest.mark.slow

_ASKED = ("count(*)", "sum({a})", "avg({a})", "variance({a})", "median({a})", "count(DISTINCT {owner})")
_ANSWERS = 2_000
_LEAST, _MOST = 0.935, 0.965
_WIDE, _WIDER = 1.2, 2.0
"""How many times as wide as the 95 % quantile of errors margins are at most: of sums, and of what is chosen."""
CELLS = [
    (Asked(data, asked, where), epsilon)
    for data in DATA_SETS
    for asked in _ASKED
    for where in (data.filters[0], data.filters[2], data.filters[3])
    for epsilon in (Fraction(1), Fraction(1, 10))
]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """Give the pieces of a server for each data set, whose profile is taken."""
    with ExitStack() as until:
        yield cache(lambda data: until.enter_context(place(data)))


def covered(place: Place, asked: Asked, epsilon: Fraction, answers: int = _ANSWERS) -> tuple[float, float, float]:
    """Return the share of answers that are within their margins, how wide these are beside errors, and which are NULL."""
    client = place.client(epsilon)
    client.ask("SELECT dpsql.take_profile()")
    repeated, ((true,),) = (
        place.repeated(asked, epsilon, None, f"dpsql.margin({asked.value})"),
        place.true(asked).values(),
    )
    said = [repeated.answer()[None] for _ in range(answers)]
    pairs = np.array(
        [(abs(value - (true or 0.0)), margin) for value, margin in said if value is not None and margin is not None]
    )
    if not len(pairs):
        return 1.0, 1.0, 1.0
    errors, margins = pairs.T
    wide = float(np.median(margins) / np.quantile(errors, 0.95))
    return float(np.mean(errors <= margins)), wide, 1 - len(pairs) / answers
