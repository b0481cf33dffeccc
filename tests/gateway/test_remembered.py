"""What the gateway remembers has a limit in bytes, and the bytes are those that it takes."""

import gc
import tracemalloc
from collections.abc import Iterator

import pytest

from dpsql.gateway import known_plans
from dpsql.gateway.weight import weight
from dpsql.policy.model import Policy
from dpsql.remembered import Remembered
from tests.support.fix_world import NewClient
from tests.support.memory import Memory

MINUTES = "EXPLAIN SELECT date_trunc('minute', pickup_ts), corr(fare, tip) FROM trips WHERE fare > {} GROUP BY 1"
"""Of 44,640 groups."""
MIB = 2**20


@pytest.fixture
def traced() -> Iterator[None]:
    """Trace what is allocated."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


def _taken() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_what_was_used_least_lately_is_forgotten() -> None:
    """As soon as there is no room for what is new."""
    remembered: Remembered[bytes] = Remembered(10_000, lambda value: len(value) if isinstance(value, bytes) else 0)
    for key in "abc":
        remembered.keep(key, bytes(3_000))
    assert remembered.get("a") is not None
    remembered.keep("d", bytes(3_000))
    assert [key for key in "abcd" if remembered.get(key) is not None] == ["a", "c", "d"]
    assert remembered.size == 3 * 3_300


def test_what_has_no_room_forgets_nothing() -> None:
    """It is not kept, nor is what was under its key."""
    remembered: Remembered[bytes] = Remembered(10_000, lambda value: len(value) if isinstance(value, bytes) else 0)
    remembered.keep("a", b"small")
    remembered.keep("b", b"small")
    remembered.keep("b", bytes(10_000))
    assert (remembered.get("a"), remembered.get("b")) == (b"small", None)


@pytest.mark.parametrize("statement", [MINUTES.format(1), "EXPLAIN SELECT count(*), sum(fare) FROM trips"])
@pytest.mark.usefixtures("traced")
def test_a_plan_weighs_what_it_takes(new_client: NewClient, policy: Policy, statement: str) -> None:
    """Whether of many groups or of none, to a half."""
    client = new_client(Memory(policy))
    client.ask("EXPLAIN SELECT count(*) FROM trips WHERE tip > 1")
    question = client.gateway.examine(statement, client.asker)
    assert question is not None
    client.text(question)  # what is made once for all is there
    plans, before = client.gateway._known.plans, _taken()
    plan = next(reversed(plans._entries.values()))[0]
    plans._entries.clear()
    size = weight(plan)
    del plan
    freed = before - _taken()
    assert freed / 2 < size < 2 * max(freed, 10_000)


def test_many_large_plans_take_no_more_than_they_may(
    new_client: NewClient, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three, of which each takes nine megabytes, two are remembered in twenty."""
    monkeypatch.setattr(known_plans, "_MOST", 20 * MIB)
    client = new_client(Memory(policy))
    for fare in range(3):
        client.ask(MINUTES.format(fare))
    plans = client.gateway._known.plans
    assert len(plans._entries) == 2
    assert 15 * MIB < plans.size <= 20 * MIB
