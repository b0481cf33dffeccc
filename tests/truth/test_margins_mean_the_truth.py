"""Margins hold against the exact answer of the clamped table, on tables whose units have many rows, and one.

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
from tests.truth.data_sets import FLIGHTS, PATIENTS

pytestmark = pytest.mark.slow

_ANSWERS = 2_000
_LEAST = 0.935
_WIDE, _WIDER = 1.5, 4.0
"""How many times as wide as the 95 % quantile of errors margins are at most: of means, and where what is cut off counts."""
_MEANS = ("avg({a})", "variance({a})")
CELLS = [
    (Asked(data, asked, where), epsilon)
    for data, questions, filters in (
        (PATIENTS, ("count(*)", "sum({a})", *_MEANS), (0, 2, 3)),
        (FLIGHTS, ("count(*)",), (0, 1, 2)),
    )
    for asked in questions
    for where in (data.filters[place] for place in filters)
    for epsilon in (Fraction(1), Fraction(1, 10))
]
"""What is asked of which rows; tests/demo has the demo's trips. Of a hundred planes that are not seen too little is known."""


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


@pytest.mark.parametrize(
    ("asked", "epsilon"), CELLS, ids=lambda one: one.value + one.where if isinstance(one, Asked) else str(one)
)
def test_the_truth_is_within_the_margin(asked: Asked, epsilon: Fraction, served: Served) -> None:
    """In 93.5 of 100 answers at least; and margins are not far too wide."""
    share, wide, missing = covered(served(asked.data), asked, epsilon)
    assert share >= _LEAST
    assert wide <= (_WIDE if asked.question in _MEANS else _WIDER)
    assert missing < 1 / 2
