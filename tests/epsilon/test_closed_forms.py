"""Closed forms equal the definition, evaluated by looking at every subset."""

from functools import partial

import pytest

from dpsql.epsilon.databases import worlds
from dpsql.epsilon.databases.statistic import StudiedStatistic, Universe
from dpsql.epsilon.numbers import BadInput
from tests.epsilon.universes import LINEAR, QUANTILES, SPREADS, universes

close = partial(pytest.approx, rel=1e-9, abs=1e-9)


def agree(universe: Universe, statistic: StudiedStatistic) -> None:
    """Compare Δf, Δv and the worlds' answers with the definition."""
    try:
        universe.require(statistic)
    except BadInput:
        return
    label = f"{universe} {statistic}"
    assert worlds.noise_sensitivity(universe, statistic) == close(
        worlds.brute_noise_sensitivity(universe, statistic)
    ), label
    assert worlds.world_sensitivity(universe, statistic) == close(
        worlds.brute_world_sensitivity(universe, statistic)
    ), label
    if universe.missing == 1:
        by_person = worlds.world_answers(universe, statistic)[::-1].tolist()
        assert worlds.leave_one_out(universe.values, statistic).tolist() == close(by_person), label


def test_one_missing_person() -> None:
    """Every statistic, one person missing, 40 universes."""
    for universe in universes(1, 40):
        for statistic in (*LINEAR, *QUANTILES, *SPREADS):
            agree(universe, statistic)


def test_several_missing_people() -> None:
    """Count, sum, mean and quantiles at every distance, up to three people missing, 40 universes."""
    for universe in universes(2, 40, most_missing=3):
        for statistic in (*LINEAR, *QUANTILES):
            agree(universe, statistic)


@pytest.mark.slow
def test_thousands_of_universes() -> None:
    """The same on 3,000 universes with one and 2,000 with several people missing."""
    for universe in universes(3, 3_000):
        for statistic in (*LINEAR, *QUANTILES, *SPREADS):
            agree(universe, statistic)
    for universe in universes(4, 2_000, most_missing=3):
        for statistic in (*LINEAR, *QUANTILES):
            agree(universe, statistic)
