"""A copy of the records that answers for long: who was there for two days when it was made loses one budget, and not six."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.engines.base import SnapshotVersion
from dpsql.errors import BudgetExhausted, EngineNotReady
from dpsql.policy.model import DatasetBudget, Period, Policy, Privacy, RoleBudget
from tests.support.fix_ledger import Clock
from tests.support.fix_world import NewClient
from tests.support.memory import Memory

WINDOW = 7
ONE = Privacy(Fraction(1))


def renewing(policy: Policy) -> Policy:
    """Return the policy with budgets of a day for each role, and of a week for all together."""
    role = replace(policy.roles["owner"], budget=RoleBudget(ONE, Period.DAY), per_query=Privacy(Fraction(1, 2)))
    return replace(policy, roles={**policy.roles, "owner": role}, budgets={role.protects: DatasetBudget(ONE, WINDOW)})


@pytest.mark.parametrize("days", [1, 2, 6, 30])
def test_a_copy_has_the_budget_of_one_window(
    days: int, policy: Policy, new_client: NewClient, tmp_path: Path, clock: Clock
) -> None:
    """Whoever asks every day of a copy, because its source is down or `refresh` is monthly, is told so much of it in all."""
    engine, policy = Memory(policy), renewing(policy)
    with SqliteLedger(tmp_path / "ledger.db", clock) as ledger:
        client, taken, hints = new_client(engine, policy=policy, ledger=ledger), clock.now, list[str | None]()
        engine.edition = SnapshotVersion("20240515T120000000000Z", taken, taken)
        for day in range(0, 40, days):
            clock.now = taken + timedelta(days=day)
            try:
                client.ask(f"SELECT count(*) FROM rides WHERE fare > {day}")
            except BudgetExhausted as refused:
                hints.append(refused.hint)
        assert len(hints) == len(range(0, 40, days)) - 2
        assert all("free by a copy that is made from" in (hint or "") for hint in hints)
        assert sum(entry.cost.epsilon for entry in ledger.entries(None, 99)) == 1
    engine.close()


def test_copies_as_far_apart_as_a_stay_share_a_budget(
    policy: Policy, new_client: NewClient, tmp_path: Path, clock: Clock
) -> None:
    """Who is there from one Monday's copy to the next one is in both."""
    engine, policy = Memory(policy), renewing(policy)
    with SqliteLedger(tmp_path / "ledger.db", clock) as ledger:
        client, answered = new_client(engine, policy=policy, ledger=ledger), list[tuple[int, int]]()
        for week in range(4):
            engine.edition = SnapshotVersion(f"2024051{week}T120000000000Z", clock.now, clock.now)
            for number in range(3):
                try:
                    client.ask(f"SELECT count(*) FROM rides WHERE fare > {number}")
                except BudgetExhausted:
                    break
                answered.append((week, number))
            clock.now += timedelta(days=WINDOW)
        assert answered == [(0, 0), (0, 1), (2, 0), (2, 1)]
    engine.close()


def test_nothing_is_charged_on_a_copy_that_is_too_old(policy: Policy, new_client: NewClient) -> None:
    """What was answered before stays free."""
    engine, now = Memory(policy), datetime.now(UTC)
    client = new_client(engine)
    engine.edition = SnapshotVersion("20240515T120000000000Z", now, now)
    client.ask("SELECT count(*) FROM rides")
    engine.edition = replace(engine.edition, until=now)
    client.ask("SELECT count(*) FROM rides")
    with pytest.raises(EngineNotReady):
        client.ask("SELECT count(*) FROM rides WHERE fare > 1")
    assert client.charges == 1
    engine.close()
