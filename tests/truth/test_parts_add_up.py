"""Parts of a whole, each asked for by itself with a C of its own, add up to it within their margins."""

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import cache
from math import hypot

import pytest

from tests.truth.asking import Asked, Place, Served, place
from tests.truth.data_sets import FLIGHTS, PATIENTS, TRIPS, DataSet

pytestmark = pytest.mark.slow

_RUNS = 200
_WEEK = [f"pickup_ts >= '2019-03-{day:02d}' AND pickup_ts < '2019-03-{day + 1:02d}'" for day in range(4, 11)]
WHOLES: list[tuple[DataSet, str, str, list[str]]] = [
    (TRIPS, "count(*)", "TRUE", ["passenger_count = 1", "passenger_count <> 1"]),
    (TRIPS, "sum(fare)", "TRUE", ["fare <= 10", "fare > 10"]),
    (TRIPS, "count(*)", "pickup_ts >= '2019-03-04' AND pickup_ts < '2019-03-11'", _WEEK),
    (FLIGHTS, "count(*)", "TRUE", [f"month = {month}" for month in range(1, 13)]),
    (FLIGHTS, "sum(distance)", "TRUE", [f"origin = '{origin}'" for origin in ("EWR", "JFK", "LGA")]),
    (PATIENTS, "count(*)", "TRUE", ["smoker", "NOT smoker"]),
    (
        PATIENTS,
        "sum(cost)",
        "TRUE",
        [f"ward = '{ward}'" for ward in ("Surgery", "Cardiology", "Oncology", "Paediatrics")],
    ),
]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """Give the pieces of a server for each data set."""
    with ExitStack() as until:
        yield cache(lambda data: until.enter_context(place(data)))


def added_up(served: Place, what: str, whole: str, parts: list[str], epsilon: Fraction, runs: int = _RUNS) -> float:
    """Return in which share of answers the parts add up."""
    served.client(epsilon).ask("SELECT dpsql.take_profile()")
    data, margin = served.filled.data, f"dpsql.margin({what})"
    asked = [served.repeated(Asked(data, what, where), epsilon, None, margin) for where in (whole, *parts)]
    within = 0
    for _ in range(runs):
        (total, *values), margins = zip(*(one.answer()[None] for one in asked), strict=True)
        within += abs(total - sum(values)) <= hypot(*margins)
    return within / runs


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10)], ids=str)
@pytest.mark.parametrize(
    ("data", "what", "whole", "parts"),
    WHOLES,
    ids=[f"{data.name} {what} in {len(parts)}" for data, what, _, parts in WHOLES],
)
def test_parts_add_up(
    data: DataSet, what: str, whole: str, parts: list[str], epsilon: Fraction, served: Served
) -> None:
    """In 95 of 100 cases, or 92 by chance: margins of independent noise are added up as such."""
    assert added_up(served(data), what, whole, parts, epsilon) >= 0.92
