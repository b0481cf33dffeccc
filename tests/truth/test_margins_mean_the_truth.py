"""Margins hold against the exact answer of the clamped table, on tables whose units have many rows, and one.

C is chosen for each answer, and the table's profile is known. Neither what a C takes off nor noise is seen by who reads an
answer: the truth is what an analyst would have been told.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import cache

import pytest

from tests.truth.asking import Asked, Served, place
from tests.truth.coverage import covered
from tests.truth.data_sets import FLIGHTS, PATIENTS

pytestmark = pytest.mark.slow

_LEAST = 0.935
_WIDE, _WIDER = 1.5, 4.0
"""How many times as wide as the 95 % quantile of errors margins are at most: of means, and where what is cut off counts."""
_DISTINCT = "count(DISTINCT {owner})"
_MEANS = ("avg({a})", "variance({a})", _DISTINCT)
CELLS = [
    (Asked(data, asked, where), epsilon)
    for data, questions, filters in (
        (PATIENTS, ("count(*)", "sum({a})", *_MEANS), (0, 2, 3)),
        (FLIGHTS, ("count(*)", _DISTINCT), (0, 1, 2)),
        (FLIGHTS, ("median({a})",), (0, 1)),
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


@pytest.mark.parametrize(
    ("asked", "epsilon"), CELLS, ids=lambda one: one.value + one.where if isinstance(one, Asked) else str(one)
)
def test_the_truth_is_within_the_margin(asked: Asked, epsilon: Fraction, served: Served) -> None:
    """In 93.5 of 100 answers at least; and margins are not far too wide."""
    seen = covered(served(asked.data), asked, epsilon, answers=500 if "median" in asked.question else 2_000)
    assert seen.share >= _LEAST - (0.02 if seen.answers < 2_000 else 0)
    assert seen.width <= (_WIDE if asked.question in _MEANS else _WIDER)
    assert seen.missing < 1 / 2
