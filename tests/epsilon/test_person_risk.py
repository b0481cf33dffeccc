"""Several people missing: the dynamic programme against enumeration."""

import itertools

import numpy as np
import pytest

from dpsql.epsilon.databases import worlds
from dpsql.epsilon.databases.statistic import StudiedStatistic, Universe
from dpsql.epsilon.databases.worlds import missing_sums, person_risk
from dpsql.epsilon.numbers import BadInput
from dpsql.epsilon.risks.study import tight_risk


def enumerated(universe: Universe, rate: float) -> tuple[float, float]:
    """Return the largest posterior of a world and of one person being missing, over a grid of noisy answers."""
    groups = list(itertools.combinations(range(universe.people), universe.missing))
    sums = np.array([universe.values[list(group)].sum() for group in groups])
    grid = np.concatenate([sums, np.linspace(sums.min() - 5, sums.max() + 5, 300)])
    belief = np.exp(-rate * np.abs(grid[:, None] - sums))
    belief /= belief.sum(axis=1, keepdims=True)
    inside = np.array([[person in group for person in range(universe.people)] for group in groups], dtype=float)
    return float(belief.max()), float((belief @ inside).max())


def test_person_risk_equals_enumeration() -> None:
    """On 40 random universes, to nine digits."""
    rng = np.random.default_rng(10)
    for _ in range(40):
        people = int(rng.integers(5, 9))
        universe = Universe.of(rng.integers(-3, 12, people), missing=int(rng.integers(1, 4)))
        rate = float(rng.uniform(0.02, 0.8))
        assert person_risk(universe, rate).risk == pytest.approx(enumerated(universe, rate)[1], abs=1e-9)


def test_world_risk_from_sums_equals_enumeration() -> None:
    """The sums with their numbers of worlds give the same risk of a world."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        universe = Universe.of(rng.integers(-3, 12, 8), missing=3)
        possible = worlds.Worlds.of_counts(missing_sums(universe))
        risk = tight_risk(possible, epsilon=0.3, sensitivity=1.0)
        assert risk == pytest.approx(enumerated(universe, 0.3)[0], abs=1e-9)


def test_one_missing_person_is_one_world() -> None:
    """With one person missing, the person's risk is the world's."""
    universe = Universe.of([1, 2, 3, 10])
    possible = worlds.of_universe(universe, StudiedStatistic.named("sum"))
    risk = person_risk(universe, 0.5 / 10)
    assert risk.risk == pytest.approx(tight_risk(possible, epsilon=0.5, sensitivity=10.0), abs=1e-12)
    assert (risk.value, risk.prior) == (10, 0.25)


def test_thousands_of_people_with_several_missing() -> None:
    """C(2000, 3) worlds are summed without being enumerated; the outlier is the one who is exposed."""
    values = np.append(np.arange(1999) % 60, 200)
    universe = Universe.of(values, missing=3)
    risk = person_risk(universe, 1 / 600)
    assert risk.value == 200
    assert risk.prior < risk.risk < 2 * risk.prior


@pytest.mark.parametrize(
    ("values", "missing", "message"),
    [([0.5] * 9, 2, "whole numbers"), ([0, 10**12] * 5, 2, "too far"), (range(5000), 300, "too far")],
)
def test_what_the_table_can_not_hold_is_refused(values: list[float], missing: int, message: str) -> None:
    """Fractions, and values that reach too far."""
    with pytest.raises(BadInput, match=message):
        person_risk(Universe.of(values, missing=missing), 0.1)
