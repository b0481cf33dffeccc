"""Statements with Gaussian noise are tried in its own norm, and mistakes in their weights are caught there, too."""

from fractions import Fraction

import pytest

from dpsql.errors import TrialFailed
from dpsql.policy.model import MechanismName, Policy
from dpsql.privacy.measurement.sums import Sums
from tests.properties import test_euclidean as properties
from tests.properties.test_euclidean import STATEMENTS
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import counting_rho, with_epsilon, with_rows
from tests.support.fix_world import World
from tests.support.mutants import Break
from tests.support.tried import Court, court


@pytest.fixture(params=ENGINES)
def trials(request: pytest.FixtureRequest, policy: Policy, world: World, tiny: Engines) -> Court:
    """Where statements of a role that counts ρ are tried."""
    counting = counting_rho(with_epsilon(with_rows(policy, "rides", "passenger", 3), Fraction(1)), "owner")
    return court(counting, world, tiny[request.param])


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
        properties.rows_instead_of_squares,
        properties.a_root_one_too_low,
        properties.no_limit,
        properties.every_row_a_group,
        properties.one_dimension,
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
