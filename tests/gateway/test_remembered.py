"""What the gateway remembers has a limit in bytes, and the bytes are those that it takes."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from dpsql.byte_limited_cache import ByteLimitedCache
from dpsql.gateway import planned_questions
from dpsql.policy.model import Policy
from tests.support.fix_world import NewClient, answered
from tests.support.memory import Memory

MINUTES = "EXPLAIN SELECT date_trunc('minute', pickup_ts), corr(fare, tip) FROM trips WHERE fare > {} GROUP BY 1"
"""Of 44,640 groups."""
DAYS = MINUTES.format(1).replace("WHERE", "WHERE pickup_ts < timestamp '2019-03-08' AND")
"""Of 10,080."""
MIB = 2**20


@contextmanager
def _traced() -> Iterator[Callable[[], int]]:
    """Give what says how much was allocated since, and not freed: while it listens everything takes twice as long."""

    def taken() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    gc.collect()
    tracemalloc.start()
    try:
        yield taken
    finally:
        tracemalloc.stop()


def test_what_was_used_least_lately_is_forgotten() -> None:
    """As soon as there is no room for what is new."""
    remembered: ByteLimitedCache[bytes] = ByteLimitedCache(
        10_000, lambda value: len(value) if isinstance(value, bytes) else 0
    )
    for key in "abc":
        remembered.keep(key, bytes(3_000))
    assert remembered.get("a") is not None
    remembered.keep("d", bytes(3_000))
    assert [key for key in "abcd" if remembered.get(key) is not None] == ["a", "c", "d"]
    assert remembered.size == 3 * 3_300


def test_what_has_no_room_forgets_nothing() -> None:
    """It is not kept, nor is what was under its key."""
    remembered: ByteLimitedCache[bytes] = ByteLimitedCache(
        10_000, lambda value: len(value) if isinstance(value, bytes) else 0
    )
    remembered.keep("a", b"small")
    remembered.keep("b", b"small")
    remembered.keep("b", bytes(10_000))
    assert (remembered.get("a"), remembered.get("b")) == (b"small", None)


@pytest.mark.parametrize(
    "statement",
    [
        DAYS,
        "EXPLAIN SELECT count(*), sum(fare) FROM trips",
        "EXPLAIN SELECT count(*) FROM trips JOIN generate_series(1, 2000) AS s (n) ON passenger_count = n",
        f"EXPLAIN SELECT count(*) FROM trips WHERE pickup_zone IN ({', '.join(map(str, range(1_000)))})",
    ],
    ids=["groups", "little", "rows of constants", "list"],
)
def test_a_plan_weighs_what_it_takes(new_client: NewClient, policy: Policy, statement: str) -> None:
    """Of many groups or constants, or of none: not much less, and at most five times as much.

    What is written of constants is weighed wherever it stands in the engine's statement, and the constants are there once.
    """
    client = new_client(Memory(policy))
    client.ask("EXPLAIN SELECT count(*) FROM trips WHERE tip > 1")
    question = client.gateway.examine(statement, client.asker)
    assert question is not None
    request = client.request(question)
    plans = client.gateway._known.plans
    answered(client.gateway, request)  # what is made once for all is there
    plans._entries.clear()
    plans.size = 0
    with _traced() as allocated:
        answered(client.gateway, request)
        taken = allocated()
    assert taken * 3 / 4 < plans.size < 5 * max(taken, 16_000)


def test_many_large_plans_take_no_more_than_they_may(
    new_client: NewClient, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three, of which each takes nine megabytes, two are remembered in twenty."""
    monkeypatch.setattr(planned_questions, "_MOST", 20 * MIB)
    client = new_client(Memory(policy))
    for fare in range(3):
        client.ask(MINUTES.format(fare))
    plans = client.gateway._known.plans
    assert len(plans._entries) == 2
    assert 15 * MIB < plans.size <= 20 * MIB
