"""Answers that aim at an error err by no more against the truth, typically, or say so; and they say so for a reason."""

from itertools import product

import pytest

from tests.truth.asking import Asked, place
from tests.truth.data_sets import LABS, PATIENTS, TRIPS, DataSet
from tests.truth.targets import FILTERS, MARK, PAGE, QUESTIONS, measured, page_with, shares

_SELDOM = 0.02
"""The share of answers that may err by more in silence."""
_OFTEN = {TRIPS: 0.15, PATIENTS: 0.15, LABS: 0.35}
"""The shares that may say so for nothing: most where units are few, and nobody can tell what their C takes off."""
_EPOCHS = 40


@pytest.mark.slow
@pytest.mark.parametrize("data", _OFTEN, ids=lambda data: data.name)
def test_targets_keep_their_word(data: DataSet) -> None:
    """At each level, of each statistic, in parts of a thousand rows to a million."""
    with place(data) as served:
        asked = [Asked(data, question, where) for where, question in product(FILTERS[data.name], QUESTIONS)]
        found = [cell for one in asked if served.true(one) for cell in measured(served, one, epochs=_EPOCHS)]
    silent, alarmed = shares(found)
    assert silent < _SELDOM
    assert alarmed < _OFTEN[data]


def test_the_page_has_a_place_for_the_table() -> None:
    """It is written anew between two marks."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, after = page.split(MARK)
    written = page_with(page, [])
    assert written.startswith(before)
    assert written.endswith(after)
