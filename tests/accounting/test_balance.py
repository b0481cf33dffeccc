"""Whether an account can pay, and what it is told where it can't."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest

from dpsql.accounting.balance import Account, Balance, afford
from dpsql.errors import BudgetExhausted
from dpsql.policy.model import DatasetBudget, Privacy, Role, RoleBudget


def _balance(role_spent: str, dataset_spent: str, renews: date | None = None, *, owner: bool = False) -> Balance:
    budget = RoleBudget(Privacy(Fraction(1), Fraction("1e-6")))
    role = Role("analyst", "passenger", budget, Privacy(Fraction(1)), owner=owner)
    account = Account("ana", role, DatasetBudget(Privacy(Fraction(5), Fraction(1))))
    return Balance(account, Privacy(Fraction(role_spent)), Privacy(Fraction(dataset_spent)), renews)


def test_budget_can_be_spent_to_the_last() -> None:
    """What is left exactly may be spent."""
    afford(_balance("0.9", "4.9", owner=True), [Privacy(Fraction("0.1"), Fraction("1e-6"))], [Privacy(Fraction("0.1"))])


def test_message_names_what_is_left_asked_and_when() -> None:
    """Enough to know what to do next."""
    with pytest.raises(BudgetExhausted, match=r"ε = 0\.1 left, the statement asks for ε = 0\.3") as caught:
        afford(_balance("0.9", "0", date(2024, 3, 4)), [Privacy(Fraction("0.3"))], [])
    assert "2024-03-04" in (caught.value.hint or "")


def test_delta_has_its_own_limit() -> None:
    """δ can run out while ε is left."""
    with pytest.raises(BudgetExhausted, match=r"δ = 1e-6 left, the statement asks for δ = 2e-6"):
        afford(_balance("0", "0"), [Privacy(Fraction("0.1"), Fraction("2e-6"))], [])


def test_owner_is_told_what_the_dataset_has_left() -> None:
    """The data set's own budget is told apart from the role's."""
    with pytest.raises(BudgetExhausted, match='data set\'s budget for privacy unit "passenger" has ε = 0 left'):
        afford(_balance("0", "6", owner=True), [Privacy(Fraction("0.1"))], [Privacy(Fraction("0.1"))])


def test_others_are_not_told_what_the_dataset_has_left() -> None:
    """Nor do they find out by trying: from the point on where a statement might cost too much, all that cost are refused."""
    told = set()
    for left, asked in (("0.9", "1"), ("0.9", "0.001"), ("0", "0.5"), ("0.0001", "0.0001")):
        cost = Privacy(Fraction(asked))
        with pytest.raises(BudgetExhausted) as caught:
            afford(_balance("0", str(5 - float(left))), [cost], [cost])
        told.add((caught.value.message, caught.value.hint))
    ((message, _),) = told
    assert message == 'the data set\'s budget for privacy unit "passenger" is used up'
    afford(_balance("0", "5"), [Privacy(Fraction(1))], [])


def test_measurements_of_a_day_are_limited() -> None:
    """However little each costs; the message names the limit and what was asked."""
    balance = replace(_balance("0", "0"), runs=9_999)
    afford(balance, [Privacy(Fraction("1e-3"))], [])
    with pytest.raises(
        BudgetExhausted, match=r'"analyst" may ask for 10,000 measurements a day .* 9,999, .* asks for 2'
    ):
        afford(balance, [Privacy(Fraction("1e-3"))] * 2, [])
