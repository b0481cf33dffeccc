"""Amounts, periods, and the proof of payment."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsql
from dpsql.accounting.balance import Account, Balance, afford
from dpsql.accounting.privacy_loss import Charge, first_day, issue, left_of, renewal, show, total
from dpsql.errors import BudgetExhausted, InternalError
from dpsql.policy.model import Period, Privacy, Role, RoleBudget

moments = st.integers(0, 2**32).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@pytest.mark.parametrize(
    ("period", "first", "next_first"),
    [
        (Period.DAY, date(2024, 2, 29), date(2024, 3, 1)),
        (Period.WEEK, date(2024, 2, 26), date(2024, 3, 4)),
        (Period.MONTH, date(2024, 2, 1), date(2024, 3, 1)),
        (Period.NEVER, date.min, None),
    ],
)
def test_periods_in_utc(period: Period, first: date, next_first: date | None) -> None:
    """Weeks begin on Monday, months on their first day; a leap day is a day."""
    now = datetime(2024, 2, 29, 23, 59, tzinfo=UTC)
    assert first_day(period, now) == first
    assert renewal(period, now) == next_first


@given(now=moments, period=st.sampled_from([Period.DAY, Period.WEEK, Period.MONTH]))
def test_periods_join_without_gap(now: datetime, period: Period) -> None:
    """Now lies in the current period, and the next begins with the day that `renewal` names."""
    first, then = first_day(period, now), renewal(period, now)
    assert then is not None
    assert first <= now.date() < then
    assert first_day(period, datetime(then.year, then.month, then.day, tzinfo=UTC)) == then


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(100), "100"),
        (Fraction("0.1"), "0.1"),
        (Fraction("1.50"), "1.5"),
        (Fraction(2, 3), "0.666666666666"),
        (Fraction("1e-6"), "1e-6"),
        (Fraction("0.0001"), "0.0001"),
    ],
)
def test_amounts_are_shown_in_decimals(amount: Fraction, text: str) -> None:
    """Exact where it fits, else rounded down: what is left is never overstated."""
    assert show(amount) == text


def test_amounts_add_up_exactly() -> None:
    """Ten tenths are one."""
    assert total([Privacy(Fraction("0.1"), Fraction("1e-7"))] * 10) == Privacy(Fraction(1), Fraction("1e-6"))


def test_lowered_budget_leaves_nothing() -> None:
    """A budget below what was spent leaves zero, not less."""
    assert left_of(Privacy(Fraction(1)), Privacy(Fraction(2), Fraction("1e-6"))) == Privacy(Fraction(0))


def test_charge_is_not_made_by_hand() -> None:
    """Only `issue` makes a charge."""
    cost = Privacy(Fraction(1))
    with pytest.raises(InternalError):
        Charge(frozenset({"k"}), cost, object())
    assert issue(frozenset({"k"}), cost).keys == frozenset({"k"})


def test_only_ledgers_issue_charges() -> None:
    """No other module of the product calls `issue` of privacy_loss.py."""
    package = Path(dpsql.__file__).parent
    calls = re.compile(r"(?<!def )\bissue\(")
    found = {str(path.relative_to(package)) for path in package.rglob("*.py") if calls.search(path.read_text())}
    assert found == {"accounting/sqlite/ledger.py"}


def _balance(role_spent: str, dataset_spent: str, renews: date | None = None, *, owner: bool = False) -> Balance:
    budget = RoleBudget(Privacy(Fraction(1), Fraction("1e-6")))
    role = Role("analyst", "passenger", budget, Privacy(Fraction(1)), owner=owner)
    account = Account("ana", role, Privacy(Fraction(5), Fraction(1)))
    return Balance(account, Privacy(Fraction(role_spent)), Privacy(Fraction(dataset_spent)), renews)


def test_budget_can_be_spent_to_the_last() -> None:
    """What is left exactly may be spent."""
    afford(_balance("0.9", "4.9", owner=True), [Privacy(Fraction("0.1"), Fraction("1e-6"))], Privacy(Fraction("0.1")))


def test_message_names_what_is_left_asked_and_when() -> None:
    """Enough to know what to do next."""
    with pytest.raises(BudgetExhausted, match=r"ε = 0\.1 left, the statement asks for ε = 0\.3") as caught:
        afford(_balance("0.9", "0", date(2024, 3, 4)), [Privacy(Fraction("0.3"))], Privacy(Fraction(0)))
    assert "2024-03-04" in (caught.value.hint or "")


def test_delta_has_its_own_limit() -> None:
    """δ can run out while ε is left."""
    with pytest.raises(BudgetExhausted, match=r"δ = 1e-6 left, the statement asks for δ = 2e-6"):
        afford(_balance("0", "0"), [Privacy(Fraction("0.1"), Fraction("2e-6"))], Privacy(Fraction(0)))


def test_owner_is_told_what_the_dataset_has_left() -> None:
    """The data set's own budget is told apart from the role's."""
    with pytest.raises(BudgetExhausted, match='data set\'s budget for privacy unit "passenger" has ε = 0 left'):
        afford(_balance("0", "6", owner=True), [Privacy(Fraction("0.1"))], Privacy(Fraction("0.1")))


def test_others_are_not_told_what_the_dataset_has_left() -> None:
    """Nor do they find out by trying: from the point on where a statement might cost too much, all that cost are refused."""
    told = set()
    for left, asked in (("0.9", "1"), ("0.9", "0.001"), ("0", "0.5"), ("0.0001", "0.0001")):
        cost = Privacy(Fraction(asked))
        with pytest.raises(BudgetExhausted) as caught:
            afford(_balance("0", str(5 - float(left))), [cost], cost)
        told.add((caught.value.message, caught.value.hint))
    ((message, _),) = told
    assert message == 'the data set\'s budget for privacy unit "passenger" is used up'
    afford(_balance("0", "5"), [Privacy(Fraction(1))], Privacy(Fraction(0)))


def test_measurements_of_a_day_are_limited() -> None:
    """However little each costs; the message names the limit and what was asked."""
    free = Privacy(Fraction(0))
    balance = replace(_balance("0", "0"), runs=9_999)
    afford(balance, [Privacy(Fraction("1e-3"))], free)
    with pytest.raises(
        BudgetExhausted, match=r'"analyst" may ask for 10,000 measurements a day .* 9,999, .* asks for 2'
    ):
        afford(balance, [Privacy(Fraction("1e-3"))] * 2, free)
