"""What an operator adds to the ledger: no line is changed, and nobody is told more than the data set's budget allows."""

from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql.accounting.balance import Account
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import BudgetExhausted
from dpsql.policy.model import Privacy
from tests.support.fix_ledger import Clock, account_of, ask, item_of
from tests.support.quick_ledger import quick_directory

_HALF = Privacy(Fraction(1, 2))


def _lines(ledger: SqlLedger) -> list[tuple[object, ...]]:
    with ledger._store.read() as connection:
        return [
            line
            for table in ("statements", "charges", "events", "epochs", "owners")
            for line in connection.execute(f"SELECT '{table}', * FROM {table} ORDER BY 2").fetchall()
        ]


def _left(ledger: SqlLedger, account: Account) -> tuple[float, float]:
    """Return what the role and the data set have left."""
    balance = ledger.balance(account)
    return float(balance.role_left.epsilon), float(balance.dataset_left.epsilon)


def test_nothing_that_was_written_is_changed(ledger: SqlLedger) -> None:
    """There are more lines afterwards."""
    ask(ledger, account_of(), item_of("first", "1/4"))
    before = _lines(ledger)
    ledger.grant("analyst", _HALF, "the yearly report")
    ledger.correct("analyst", "passenger", _HALF, "a table was published")
    after = _lines(ledger)
    assert [line for line in after if line in before] == before
    assert len(after) == len(before) + 3


def test_a_grant_is_spent_in_its_period(ledger: SqlLedger, clock: Clock) -> None:
    """It ends with the day, the week, the month; a clock that was set back grants nothing again."""
    account = account_of(total="1", period="day")
    ledger.grant("analyst", _HALF, "more")
    ledger.grant("other", _HALF, "not for them")
    balance = ledger.balance(account)
    assert (balance.granted, balance.role_total.epsilon, balance.role_left.epsilon) == (
        _HALF,
        Fraction(3, 2),
        Fraction(3, 2),
    )
    ask(ledger, account, item_of("all", "3/2"))
    with pytest.raises(BudgetExhausted, match="ε = 0 left"):
        ask(ledger, account, item_of("more", "1/10"))
    clock.now += timedelta(days=1)
    assert ledger.balance(account).role_left.epsilon == 1
    clock.now -= timedelta(days=2)
    assert ledger.balance(account).granted == Privacy(Fraction(0))


def test_a_correction_is_charged_to_both_budgets(ledger: SqlLedger) -> None:
    """Though there is no room for it: it was told."""
    account, other = account_of(total="1", dataset="2"), account_of("other", total="1", dataset="2")
    ledger.correct("analyst", "passenger", Privacy(Fraction(3, 2)), "a table was published")
    assert _left(ledger, account) == (0, 0.5)
    assert _left(ledger, other) == (1, 0.5)
    (entry,) = ledger.entries("analyst", 9)
    assert (entry.user, entry.statement, entry.measured) == ("", "dpsql budget correct: a table was published", True)


def test_a_correction_may_be_no_roles(ledger: SqlLedger) -> None:
    """The data set pays alone."""
    ledger.correct("", "passenger", _HALF, "lost with a disk")
    assert _left(ledger, account_of(total="1", dataset="2")) == (1, 1.5)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["ask", "grant", "correct"]), st.integers(1, 8)), max_size=20))
def test_whatever_is_granted_the_data_set_pays_no_more_than_it_has(steps: list[tuple[str, int]]) -> None:
    """What was asked and corrected never passes the data set's budget, but by corrections themselves."""
    account = account_of(total="1", dataset="2")
    asked = corrected = granted = Fraction(0)
    with quick_directory() as place, SqliteLedger(place / "ledger.db", Clock()) as ledger:
        for number, (what, tenths) in enumerate(steps):
            amount = Fraction(tenths, 10)
            if what == "grant":
                ledger.grant("analyst", Privacy(amount), "more")
                granted += amount
            elif what == "correct":
                ledger.correct("analyst", "passenger", Privacy(amount), "told")
                corrected += amount
            else:
                fits = asked + corrected + amount <= min(1 + granted, Fraction(2))
                try:
                    ask(ledger, account, item_of(str(number), str(amount)))
                except BudgetExhausted:
                    assert not fits
                else:
                    assert fits
                    asked += amount
        balance = ledger.balance(account)
        assert balance.dataset_spent.epsilon == balance.role_spent.epsilon == asked + corrected
