"""Averages of small groups that are drawn together are several times nearer to the truth, all groups taken together."""

import pytest

from tests.truth.data_sets import TRIPS, DataSet
from tests.truth.shrunk import ASKED, cells

pytestmark = pytest.mark.slow

_ANSWERS = 10


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked[0].name)
def test_they_are_nearer(asked: tuple[DataSet, str, str]) -> None:
    """At each ε and C by a third, and by far more at ε = 1; and what C takes off is covered where it is chosen."""
    for cell in cells(asked, _ANSWERS):
        assert cell.shrunk < cell.plain * (0.4 if cell.epsilon == 1 else 0.75)
        assert cell.covered > 0.75 or cell.most is not None


def test_rankings_are_nearer() -> None:
    """Of the zones with the largest tips."""
    (asked,) = (each for each in ASKED if each[0] is TRIPS)
    assert all(cell.shrunk_first > cell.plain_first + 1 for cell in cells(asked, _ANSWERS))
