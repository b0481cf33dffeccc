"""A ledger with a clock that is set by hand, and the accounts and questions of its tests."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem, Ledger
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.policy.model import DatasetBudget, Period, Privacy, Role, RoleBudget


class Clock:
    """A clock that is set by hand; it starts on a Wednesday."""

    def __init__(self) -> None:
        self.now = datetime(2024, 5, 15, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return a clock."""
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[SqliteLedger]:
    """Open a new ledger."""
    with SqliteLedger(tmp_path / "ledger.db", clock) as opened:
        yield opened


class WithoutLog(sqlite3.Connection):
    """A connection to a file of some network file systems: without shared memory there is no write-ahead log."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Run a statement."""
        return super().execute(statement.replace("journal_mode = WAL", "journal_mode"), *values)


@pytest.fixture
def without_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ledgers be opened where there can be no log."""
    monkeypatch.setattr("dpsql.accounting.sqlite.ledger.sqlite3.connect", partial(sqlite3.connect, factory=WithoutLog))


@pytest.fixture
def unclaimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody's claims on what they measure keep others from measuring it, as where they are lost."""
    for kind in ("sqlite.ledger.FileClaims", "postgres.ledger.ServerClaims"):
        monkeypatch.setattr(f"dpsql.accounting.{kind}.take", lambda *_: True)


def account_of(
    role: str = "analyst",
    total: str = "1",
    *,
    dataset: str = "10",
    period: str = "never",
    protects: str = "passenger",
    window: int | None = None,
) -> Account:
    """Return an account; each statement costs it up to ε = 0.4."""
    budget = RoleBudget(Privacy(Fraction(total), Fraction("1e-6")), Period(period))
    made = Role(role, protects, budget, per_query=Privacy(Fraction("0.4")))
    return Account("ana", made, DatasetBudget(Privacy(Fraction(dataset), Fraction("1e-6")), window))


def item_of(key: str, epsilon: str = "0.4", delta: str = "0") -> ChargeItem:
    """Return a measurement."""
    return ChargeItem(key, Privacy(Fraction(epsilon), Fraction(delta)), "count of trips")


def ask(ledger: Ledger, account: Account, *items: ChargeItem, store: bool = True) -> dict[str, bytes | None]:
    """Open a statement, store what is to be measured, and return what was stored before, by key."""
    with ledger.open_statement(account, "SELECT …", items) as statement:
        for key in statement.charge.keys if store else ():
            statement.store(key, f"release of {key}".encode())
        return {item.key: statement.stored.get(item.key) for item in items}


def spent(ledger: Ledger, account: Account) -> tuple[Fraction, Fraction]:
    """Return the ε that the role and the data set were charged."""
    balance = ledger.balance(account)
    return balance.role_spent.epsilon, balance.dataset_spent.epsilon
