"""What follows from the policy alone is said to: a condition beyond what is declared is no measurement of 0."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dpsql.gateway.plans.views import with_checked_conditions
from dpsql.policy.model import RowCondition
from tests.support.fix_world import Client, NewClient, World, replied
from tests.support.memory import Memory
from tests.support.schema import of

BEYOND = {
    "SELECT count(*) FROM rides WHERE fare > 200": "fare: it is declared as double precision from 0 to 150 (what",
    "SELECT count(*), count(*) FILTER (WHERE picked > '2024-01-01') FROM rides": "picked: it is declared as timestamp from",
    "SELECT paid, count(*) FROM rides WHERE paid = 'kiosk' GROUP BY paid": "paid: it is declared as one of 3 values; nothing",
    "SELECT count(*) FROM rides WHERE seats IS NULL": ", never NULL; nothing was measured",
}


@pytest.fixture
def client(rides: Memory, new_client: NewClient) -> Client:
    """Give a client of the rides."""
    return new_client(rides)


def _told(asked: str, client: Client) -> Sequence[str]:
    question = client.gateway.examine(asked, client.asker)
    assert question is not None
    return [text for text in replied(client.gateway, client.request(question)).notices if "no row " in text]


@pytest.mark.parametrize("asked", BEYOND)
def test_nothing_that_is_declared_so_is_told_as_such(asked: str, client: Client) -> None:
    """Beside the answer, and by EXPLAIN."""
    (told,) = _told(asked, client)
    assert BEYOND[asked] in told
    assert any("Nowhere: no row can satisfy" in str(line) for line in client.ask(f"EXPLAIN {asked}").rows)


def test_what_a_role_does_not_see_is_not_named(rides: Memory, new_client: NewClient) -> None:
    """A view's own condition is about columns that its readers may not know; a computed number is declared nowhere."""
    of_units = "SELECT count(*) FROM (SELECT rider, count(*) AS n FROM rides GROUP BY rider) AS t WHERE n > 1000"
    for user, asked in (("nell", "SELECT count(*) FROM card_rides WHERE fare > 200"), ("ana", of_units)):
        said = _told(asked, new_client(rides, user))
        assert said == ["no row can satisfy what is said, by what is declared; nothing was measured"]


OTHERS = {
    "SELECT count(*) FROM rides WHERE paid = 'cash' AND fare > 10": 1,
    "SELECT paid, count(*) FROM rides WHERE paid = 'cash' GROUP BY 1": 1,
    "SELECT count(*), count(*) FILTER (WHERE paid = 'cash') FROM rides": 1,
    "SELECT EXISTS (SELECT 1 FROM rides WHERE paid = 'cash')": 1,
    "SELECT count(*) FROM rides WHERE paid = 'card'": 0,
    "SELECT count(*) FROM rides WHERE 1 = 0": 0,
    "SELECT count(*) FROM trips WHERE fare > 10": 0,
}


@pytest.mark.parametrize("asked", OTHERS)
def test_rows_that_a_role_does_not_see_are_no_measurement_of_0(
    asked: str, rides: Memory, world: World, new_client: NewClient
) -> None:
    """It is told of which rows it sees no others, where it asks for those."""
    role = replace(world.policy.roles["owner"], where={of("rides"): RowCondition("paid = 'card'")})
    policy = replace(world.policy, roles={**world.policy.roles, "owner": role})
    client = new_client(rides, policy=with_checked_conditions(policy, world.oracle()))
    told = _told(asked, client)
    assert len(told) == OTHERS[asked], told
    assert all("it sees of rides those for which paid = 'card'; nothing was measured" in text for text in told)


@pytest.mark.parametrize("condition", ["1 = 0", "seats = 1 AND seats = 2"])
def test_what_contradicts_itself_is_not(condition: str, client: Client) -> None:
    """Tools ask so for columns, and know."""
    assert not _told(f"SELECT count(*) FROM rides WHERE {condition}", client)
