"""`dpsql.clamp`: a session says whether its answers are kept to what is possible; else its role does."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.errors import InvalidSetting
from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker

AGES = "SELECT age, count(*) FROM rides GROUP BY age"


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """A few rides, all of people of one age: of the others noise is negative half of the time."""
    engine, maker = Memory(policy), Maker(7)
    engine.fill("rides", [maker.row(policy.tables["rides"]) | {"rider": n, "age": 20} for n in range(60)])
    return engine


def _least(client: Client, settings: Settings) -> int:
    return min(int(str(row[1])) for row in client.ask(AGES, settings).rows)


@pytest.mark.parametrize("by_role", [False, True])
def test_the_session_decides(by_role: bool, rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Over its role, for the same release: what was asked before is free in both ways."""
    policy = with_epsilon(policy, Fraction(1))
    roles = {name: replace(role, clamp=by_role) for name, role in policy.roles.items()}
    client = new_client(rides, policy=replace(policy, roles=roles))
    assert (_least(client, Settings()) < 0) is not by_role
    assert _least(client, Settings(clamp="off")) < 0
    assert _least(client, Settings(clamp="on")) == 0
    assert _least(client, Settings(clamp=" ON ")) == 0
    assert len(client.ledger.entries(None, 10)) == 1


def test_nothing_else_is_a_value(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Where the shadow has not refused it."""
    with pytest.raises(InvalidSetting, match="on or off"):
        new_client(rides, policy=policy).ask(AGES, Settings(clamp="maybe"))
