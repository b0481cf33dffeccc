"""Budgets that near their end: who is told, when, and how often."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.accounting.balance import Account, Balance, budget_notice
from dpsql.accounting.ledger import ChargeItem
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.policy.load import load
from dpsql.policy.model import DatasetBudget, Privacy, RoleBudget
from tests.policy.fix_config import write_files


def _privacy(epsilon: str, delta: str = "0") -> Privacy:
    return Privacy(Fraction(epsilon), Fraction(delta))


@pytest.fixture
def account(tmp_path: Path) -> Account:
    """An account with ε = 10 of its own that is paid from ε = 100 of all."""
    role = load(write_files(tmp_path), {}).policy.roles["owner"]
    role = replace(role, budget=RoleBudget(_privacy("10"), role.budget.period), owner=False)
    return Account("ana", role, DatasetBudget(_privacy("100"), None))


def _told(account: Account, spent: str, cost: str, of_all: str = "0") -> tuple[str, ...]:
    balance = Balance(account, _privacy(spent), _privacy(of_all), None)
    return budget_notice(balance, [_privacy(cost)], [_privacy(cost)])


@pytest.mark.parametrize(
    ("spent", "cost", "per_cent"),
    [
        ("0", "7.99", 0),
        ("7.9", "0.1", 80),
        ("8", "0.1", 0),
        ("7", "2.6", 95),
        ("9.4", "0.1", 95),
        ("9.5", "0.5", 0),
        ("0", "0", 0),
    ],
)
def test_each_mark_is_told_once(account: Account, spent: str, cost: str, per_cent: int) -> None:
    """By the charge that reaches it; who passes both hears of the higher one."""
    assert [line.partition(" %")[0] for line in _told(account, spent, cost)] == [str(per_cent)] * bool(per_cent)


def test_it_says_what_is_left_and_for_how_long(account: Account, caplog: pytest.LogCaptureFixture) -> None:
    """To the client, and to the operator in the same words."""
    (line,) = _told(account, "7.7", "0.3")
    assert line == (
        '80 % of the budget of role "owner" is spent: ε = 2 left, enough for 6 more questions at the price of this one; '
        "it does not renew"
    )
    assert [record.getMessage() for record in caplog.records] == [f"a budget nears its end: {line}"]


def test_of_all_roles_budget_only_owners_are_told(account: Account, caplog: pytest.LogCaptureFixture) -> None:
    """Others could find out what the other roles ask; the operator's log has it in any case."""
    assert _told(account, "0", "1", of_all="79.5") == ()
    assert "80 % of the data set's budget" in caplog.text
    owner = replace(account, role=replace(account.role, owner=True))
    (line,) = _told(owner, "0", "1", of_all="79.5")
    assert line.startswith('80 % of the data set\'s budget for privacy unit "passenger" is spent: ε = 19.5 left')


def test_what_is_free_is_told_nothing(account: Account, tmp_path: Path) -> None:
    """The ledger tells with the charge that passes a mark; whoever asks the same again pays nothing and hears nothing."""
    item = ChargeItem("key", _privacy("8"), "count")
    with SqliteLedger(tmp_path / "ledger", lambda: datetime.now(UTC)) as ledger:
        with ledger.open_statement(account, "SELECT 1", [item]) as statement:
            assert len(statement.nearing) == 1
            statement.store("key", b"release")
        with ledger.open_statement(account, "SELECT 1", [item]) as statement:
            assert statement.nearing == ()
