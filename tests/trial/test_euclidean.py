"""Statements with Gaussian noise are tried in its own norm, and mistakes in their weights are caught there, too."""

from fractions import Fraction

import pytest

from dpsql.errors import TrialFailed
from dpsql.policy.model import MechanismName, Policy
from dpsql.privacy.measurement import pricing
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from tests.properties.test_euclidean import STATEMENTS
from tests.support import euclidean_mutants
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import counting_rho, with_chosen_rows, with_epsilon, with_rows
from tests.support.fix_world import World
from tests.support.mutants import Break
from tests.support.tried import Court, court


@pytest.fixture(autouse=True)
def _of_few_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose a C for lengths over any number of groups."""
    monkeypatch.setattr(pricing, "FEWEST_CHOSEN", 2)


@pytest.fixture(params=ENGINES)
def trials(request: pytest.FixtureRequest, policy: Policy, world: World, tiny: Engines) -> Court:
    """Where statements of a role that counts ρ are tried."""
    counting = counting_rho(with_epsilon(with_rows(policy, "rides", "passenger", 3), Fraction(1)), "owner")
    return court(counting, world, tiny[request.param])


@pytest.fixture(params=ENGINES)
def choosing(request: pytest.FixtureRequest, policy: Policy, world: World, tiny: Engines) -> Court:
    """The same where C is chosen."""
    chosen = with_chosen_rows(with_epsilon(policy, Fraction(1)), "rides", "passenger")
    return court(counting_rho(chosen, "owner"), world, tiny[request.param])


@pytest.mark.parametrize("sql", STATEMENTS[:3])
def test_a_chosen_bound_is_tried_with_its_ladder(sql: str, choosing: Court) -> None:
    """Both are tried in their own norms."""
    priced = choosing.priced(sql, "owner")
    ladder, sums = (part.measurement for part in priced.measurements)
    assert isinstance(ladder, RowsPerUnit)
    assert ladder.is_by_length
    assert isinstance(sums, Sums)
    assert sums.mechanism is MechanismName.GAUSSIAN
    choosing.see(priced, "owner")


@pytest.mark.parametrize(
    "mistake", [euclidean_mutants.rows_stand_for_units, euclidean_mutants.shares_that_do_not_add_up]
)
def test_a_wrong_ladder_fails(mistake: Break, choosing: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a record is read."""
    mistake(monkeypatch)
    with pytest.raises(TrialFailed):
        choosing.tried(STATEMENTS[0], "owner")


@pytest.mark.parametrize("sql", STATEMENTS)
def test_what_is_right_passes(sql: str, trials: Court) -> None:
    """And is tried as what it is."""
    priced = trials.priced(sql, "owner")
    for part in priced.measurements:
        assert isinstance(part.measurement, Sums)
        assert part.measurement.mechanism is MechanismName.GAUSSIAN
    trials.see(priced, "owner")


@pytest.mark.parametrize(
    "mistake",
    [
        euclidean_mutants.rows_instead_of_squares,
        euclidean_mutants.a_root_one_too_low,
        euclidean_mutants.no_limit,
        euclidean_mutants.every_row_a_group,
        euclidean_mutants.one_dimension,
    ],
)
def test_what_is_wrong_fails(mistake: Break, trials: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    """By some of the statements, as a server would meet it."""
    mistake(monkeypatch)

    def fails(sql: str) -> bool:
        try:
            trials.tried(sql, "owner")
        except TrialFailed:
            return True
        return False

    assert any(fails(sql) for sql in STATEMENTS)
