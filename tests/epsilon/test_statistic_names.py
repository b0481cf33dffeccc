"""The names of statistics and the universes that they accept."""

from fractions import Fraction

import pytest

from dpsql.epsilon.databases.statistic import StatisticFamily, StudiedStatistic, Universe
from dpsql.epsilon.numbers import BadInput


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean", StudiedStatistic(StatisticFamily.MEAN)),
        ("AVG", StudiedStatistic(StatisticFamily.MEAN)),
        ("median", StudiedStatistic(StatisticFamily.QUANTILE)),
        ("p12.5", StudiedStatistic(StatisticFamily.QUANTILE, fraction=Fraction(1, 8))),
        ("variance", StudiedStatistic(StatisticFamily.VARIANCE, 1)),
        ("var_pop", StudiedStatistic(StatisticFamily.VARIANCE, 0)),
        ("stddev_pop", StudiedStatistic(StatisticFamily.DEVIATION, 0)),
    ],
)
def test_names_are_those_of_sql(name: str, expected: StudiedStatistic) -> None:
    """`variance` and `stddev` are the sample's, as in SQL."""
    assert StudiedStatistic.named(name) == expected


@pytest.mark.parametrize("name", ["mode", "p", "p101", "pnan", "p-1", "", "pinf", "p1e999999999", "p1e-999999999"])
def test_unknown_names_are_refused(name: str) -> None:
    """The message names what was typed or the range."""
    with pytest.raises(BadInput, match=r"unknown statistic|not between 0 and 100"):
        StudiedStatistic.named(name)


@pytest.mark.parametrize(
    ("values", "missing", "name", "message"),
    [
        ([1, 2], 1, "mean", "at least 3"),
        ([1, 2, 3], 1, "variance", "at least 4"),
        ([1, 2, 3, 4], 2, "mean", "at least 5"),
    ],
)
def test_too_few_people_are_refused(values: list[float], missing: int, name: str, message: str) -> None:
    """The statistic must be defined for a release with k people fewer."""
    with pytest.raises(BadInput, match=message):
        Universe.of(values, missing=missing).require(StudiedStatistic.named(name))


def test_values_must_be_finite_numbers() -> None:
    """NaN and infinities have no place in a universe."""
    for bad in (float("nan"), float("inf")):
        with pytest.raises(BadInput, match="finite"):
            Universe.of([1.0, bad, 2.0])


@pytest.mark.parametrize(("missing", "distance"), [(0, None), (2, 3), (2, 0)])
def test_missing_and_distance_have_limits(missing: int, distance: int | None) -> None:
    """At least one is missing, and neighbours differ in no more people than are missing."""
    with pytest.raises(BadInput, match=r"at least 1|between 1"):
        Universe.of(range(9), missing=missing, distance=distance)
