"""The ways in which a statement is answered: what was released before is told, and the rest is measured once."""

import pytest

from dpsql.gateway.gateway import Asked, Declared, Explained, Found, Gateway, Way
from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory

COUNT = "SELECT paid, count(*) FROM rides GROUP BY paid"
PART = "SELECT count(*) FROM rides WHERE paid = 'cash'"


@pytest.fixture
def client(new_client: NewClient, policy: Policy) -> Client:
    """Give a client of a gateway of its own."""
    return new_client(Memory(policy))


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[Way]:
    """Give the ways in which statements are answered, in their order."""
    ways: list[Way] = []
    right = Gateway._way

    def way(gateway: Gateway, asked: Asked) -> Way:
        ways.append(right(gateway, asked))
        return ways[-1]

    monkeypatch.setattr(Gateway, "_way", way)
    return ways


def test_a_plan_is_explained(client: Client, ways: list[Way]) -> None:
    """With the options of EXPLAIN as they were written."""
    client.ask(f"EXPLAIN {COUNT}")
    assert ways == [Explained("EXPLAIN ")]
    assert client.charges == 0


def test_what_is_declared_needs_no_measurement(client: Client, ways: list[Way]) -> None:
    """The values that a column may have, with rows or without."""
    client.ask("SELECT paid FROM rides GROUP BY paid", Settings(empty_groups="show"))
    assert ways == [Declared()]
    assert client.charges == 0


def test_what_was_measured_is_found(client: Client, ways: list[Way]) -> None:
    """All of it, and also what can be read off it; what is not there is found to be missing."""
    for sql in (COUNT, COUNT, PART):
        client.ask(sql)
    assert [isinstance(way, Found) and way.is_whole for way in ways] == [False, True, True]
    assert [isinstance(way, Found) and bool(way.read_off.derived) for way in ways] == [False, False, True]
    assert client.charges == 1
