"""What is read off releases depends on them and on nothing else: no record, no engine; it tells no more than was paid."""

import math
from collections.abc import Sequence

import pytest

from dpsql.engines.base import Engine
from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.support.fix_dirty import Records
from tests.support.fix_policy import with_chosen_rows
from tests.support.fix_world import Answer, Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Row

PAID = (
    "SELECT payment_type, count(*), avg(fare), sum(tip) FROM trips GROUP BY 1",
    "SELECT date_trunc('day', pickup_ts), count(*) FROM trips GROUP BY 1",
    "SELECT count(*) FROM trips",
    "SELECT payment_type, median(fare) FROM trips GROUP BY 1",
)
FREE = (
    *PAID,
    "SELECT count(*), dpsql.margin(count(*)), dpsql.cut(count(*)) FROM trips WHERE payment_type = 'cash'",
    "SELECT date_trunc('week', pickup_ts), count(*), dpsql.margin(count(*)) FROM trips GROUP BY 1",
    "SELECT sum(fare), avg(fare) FROM trips",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY fare) FROM trips WHERE payment_type = 'cash'",
    "SELECT payment_type, count(*), rank() OVER (ORDER BY count(*)) FROM trips GROUP BY ROLLUP (1)",
)
SOME = Settings(epsilon="1", reuse="all")


@pytest.mark.parametrize("chosen", [False, True], ids=["declared", "auto"])
def test_other_records_answer_alike(
    chosen: bool, engine: Memory, policy: Policy, tidy: Records, new_client: NewClient
) -> None:
    """Where nobody has a row, and where the engine is gone: the same texts, notices and margins."""
    policy = with_chosen_rows(policy, "trips", "passenger") if chosen else policy
    client = new_client(engine, policy=policy)
    for sql in PAID:
        client.ask(sql, Settings(epsilon="1", reuse="off"))
    before = [client.ask(sql, SOME) for sql in FREE]
    charged = client.charges
    assert _free(new_client(Memory(policy, enforced=True), policy=policy, ledger=client.ledger)) == before
    assert _free(new_client(_Gone(policy, enforced=True), policy=policy, ledger=client.ledger)) == before
    assert client.charges == charged
    assert tidy["trips"]


def _free(client: Client) -> list[Answer]:
    return [client.ask(sql, SOME) for sql in FREE]


class _Gone(Memory):
    """An engine that nobody may ask for a row."""

    def measured(self, sql: str) -> list[tuple[int | str | None, ...]]:
        """Fail."""
        raise AssertionError(sql)

    def prepare(self, *_: object, **__: object) -> Engine:
        """Fail."""
        raise AssertionError


@pytest.mark.parametrize("rounds", [150, pytest.param(1_500, marks=pytest.mark.slow)])
def test_guesses_about_a_person_are_right_no_more_often(
    rounds: int, policy: Policy, tidy: Records, new_client: NewClient
) -> None:
    """By an answer that is read off another, as by that one: ε is what was paid for it."""
    rows = [row for row in tidy["rides"] if row["rider"] is not None][:40]
    alone = {row["rider"]: row for row in rows}  # a unit, a row
    values = list(alone.values())
    with_one, without = (_counts(policy, some, rounds, new_client) for some in (values, values[1:]))
    middle = len(values) - 0.5
    above, below = (sum(count > middle for count in counts) for counts in (with_one, without))
    slack = 4 * math.sqrt(rounds)
    assert above <= math.exp(_PAID) * below + slack
    assert above > below  # it does tell something


_PAID = 1.0


def _counts(policy: Policy, rows: Sequence[Row], rounds: int, new_client: NewClient) -> list[float]:
    engine = Memory(policy, unique=("rider",), enforced=True)
    engine.fill("rides", rows)
    client, counts = new_client(engine), []
    before = client.charges
    for _ in range(rounds):
        client.ledger.advance("the next guess")
        client.ask("SELECT shared, count(*) FROM rides GROUP BY 1", Settings(epsilon="1", reuse="off"))
        ((count,),) = client.ask("SELECT count(*) FROM rides", Settings(epsilon="1")).rows
        counts.append(float(str(count)))
    assert client.charges == before + rounds
    return counts
