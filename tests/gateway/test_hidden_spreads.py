"""A variance that noise is larger than is 0, and a NOTICE says why: it need not be nothing."""

from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from tests.support.fix_policy import NO_NOISE, with_epsilon
from tests.support.fix_world import Client, NewClient, replied
from tests.support.memory import Memory
from tests.support.records import Maker


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """Rides of a few dollars each, of people of twelve ages."""
    engine, maker = Memory(policy), Maker(7)
    row = maker.row(policy.tables["rides"])
    engine.fill("rides", [row | {"rider": n, "age": 20 + n % 12, "fare": 5 + n // 12 % 2} for n in range(12_000)])
    return engine


def _told(client: Client, sql: str) -> list[str]:
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    notices = replied(client.gateway, client.request(question)).notices
    return [notice for notice in notices if "noise is larger" in notice]


@pytest.mark.parametrize("name", ["variance", "stddev", "var_pop", "stddev_pop"])
def test_it_is_said(name: str, rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Of how many groups, and where to read how large it may be."""
    client = new_client(rides, policy=with_epsilon(policy, Fraction(3, 10)))
    sql = f"SELECT age, {name}(fare) FROM rides GROUP BY age"
    zeros = sum(row[1] is not None and float(str(row[1])) == 0 for row in client.ask(sql).rows)
    told = _told(client, sql)
    assert zeros > 0
    assert [f"is 0 in {zeros} of 105 groups" in notice for notice in told] == [True]
    assert "dpsql.margin(" in told[0]


def test_nothing_is_said_without_noise(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """What is 0 then is nothing, nearly."""
    client = new_client(rides, policy=with_epsilon(policy, NO_NOISE))
    assert _told(client, "SELECT variance(fare), avg(fare) FROM rides") == []
