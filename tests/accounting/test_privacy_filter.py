"""Budgets whose charges add up in either way: what any adversary learns, however it chooses its questions, is within them."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import count, product

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_randomized_response, identity

from dpsql.accounting.balance import Account, PrivacyFilter, total_charged
from dpsql.accounting.ledger import Ledger
from dpsql.accounting.privacy_loss import compose
from dpsql.accounting.zcdp import rho_of
from dpsql.errors import BudgetExhausted
from dpsql.policy.model import Accounting, DatasetBudget, Period, Privacy, Role, RoleBudget
from tests.support.fix_ledger import Clock, ask, item_of

NOTHING = Privacy(Fraction(0))
SIZES = (1, 2, 4)


def _zcdp(epsilon: str, delta: str, own: str = "0") -> PrivacyFilter:
    total = Privacy(Fraction(epsilon), Fraction(delta))
    return PrivacyFilter(total, total.delta - Fraction(own), NOTHING)


def _charge(budget: PrivacyFilter, cost: Privacy) -> PrivacyFilter | None:
    price = total_charged((cost,), budget.accounting)
    return replace(budget, charged=compose((budget.charged, price))) if budget.pays(price) else None


def _worst(budget: PrivacyFilter, unit: Fraction) -> float:
    """Return the largest chance beyond e^ε that any adversary gets who asks for one, two or four units next, as it likes.

    Each question is a randomized response: no ε-DP answer tells more (Kairouz, Oh, Viswanath, "The Composition Theorem for
    Differential Privacy", 2015). All that matters of what was heard is the loss so far, a whole number of units, and what
    the filter has left; so the best choice is found from the end backwards, for every loss at once.
    """
    total, most = budget.total.epsilon, [budget.questions(Privacy(size * unit)) for size in SIZES]
    reach = sum(size * number for size, number in zip(SIZES, most, strict=True))
    losses = np.arange(-reach, reach + 1) * float(unit)
    value: dict[tuple[int, ...], np.ndarray] = {}
    for asked in sorted(product(*(range(number + 1) for number in most)), key=sum, reverse=True):
        costs = [Privacy(size * unit) for size, number in zip(SIZES, asked, strict=True) for _ in range(number)]
        if not budget.pays(total_charged(costs, budget.accounting)):
            continue
        best = np.maximum(1 - np.exp(np.minimum(float(total) - losses, 50)), 0)
        for place, size in enumerate(SIZES):
            after = value.get(tuple(number + (place == at) for at, number in enumerate(asked)))
            if after is not None:
                likely = 1 / (1 + math.exp(-float(size * unit)))
                best = np.maximum(best, likely * _moved(after, size) + (1 - likely) * _moved(after, -size))
        value[asked] = best
    return float(value[0, 0, 0][reach])


def _moved(value: np.ndarray, by: int) -> np.ndarray:
    """Return the values at losses that are larger by so many units; at the ends, which nobody reaches, what there is."""
    return value[np.clip(np.arange(len(value)) + by, 0, len(value) - 1)]


@pytest.mark.parametrize(("unit", "total"), [("0.15", ("5", "1e-6")), ("0.05", ("1", "1e-3")), ("0.2", ("4", "1e-2"))])
def test_no_adaptive_choice_of_charges_passes_the_filter(unit: str, total: tuple[str, str]) -> None:
    """The exact chance beyond e^ε of the best of all adversaries is at most δ, and not far from it."""
    worst = _worst(_zcdp(*total), Fraction(unit))
    assert float(Fraction(total[1])) / 100 < worst <= float(Fraction(total[1]))


@pytest.mark.parametrize(
    ("epsilon", "total"), [("0.1", ("5", "1e-6")), ("0.02", ("3", "1e-9")), ("0.05", ("1", "1e-3"))]
)
def test_a_budget_that_is_spent_is_within_it_by_the_loss_distribution(epsilon: str, total: tuple[str, str]) -> None:
    """As dp-accounting composes randomized responses, exactly; where ε adds up it would be beyond its ε."""
    budget, spent, number = _zcdp(*total), identity(value_discretization_interval=1e-4), count()
    answer = from_randomized_response(
        2 / (1 + math.exp(float(Fraction(epsilon)))), 2, value_discretization_interval=1e-4
    )
    asked = _charge(budget, Privacy(Fraction(epsilon)))
    while asked is not None:
        spent, asked = spent.compose(answer), _charge(asked, Privacy(Fraction(epsilon)))
        next(number)
    many = next(number)
    assert spent.get_delta_for_epsilon(float(budget.total.epsilon)) <= float(budget.total.delta)
    assert many * Fraction(epsilon) > budget.total.epsilon
    assert many == budget.questions(Privacy(Fraction(epsilon)))


def test_charges_with_a_delta_have_a_part_of_it() -> None:
    """The other part is for the conversion; both run out by themselves."""
    budget = _zcdp("5", "1e-6", own="5e-7")
    key = Privacy(Fraction("0.1"), Fraction("2e-7"))
    assert (budget.questions(key), budget.left.delta) == (2, Fraction("5e-7"))
    first = _charge(budget, key)
    assert first is not None
    assert first.spent.delta == Fraction("7e-7")
    second = _charge(first, key)
    assert second is not None
    assert _charge(second, key) is None
    assert _charge(second, Privacy(Fraction("0.1"))) is not None


@pytest.mark.parametrize("own", ["0", "5e-7", "9e-7"])
def test_what_can_be_charged_comes_to_no_more_than_is_promised(own: str) -> None:
    """With both parts of δ used up: the sum of ρ has no part of what is the charges' own."""
    budget, asked = _zcdp("5", "1e-6", own), Privacy(Fraction("0.1"), Fraction(own) / 10)
    for cost in (asked, replace(asked, delta=Fraction(0)), Privacy(Fraction("0.01"))):
        while (more := _charge(budget, cost)) is not None:
            budget = more
    assert Fraction("4.9") < budget.spent.epsilon <= budget.total.epsilon + Fraction(1, 10**20)
    assert budget.spent.delta == budget.total.delta


def test_what_adds_up_is_what_it_was() -> None:
    """Without zCDP limit, room and spent are plain sums."""
    budget = PrivacyFilter(Privacy(Fraction(1), Fraction("1e-6")), None, Privacy(Fraction("0.75")))
    assert (budget.limit, budget.spent, budget.accounting) == (budget.total, budget.charged, Accounting.SUM)
    assert budget.left == Privacy(Fraction("0.25"), Fraction("1e-6"))
    assert (budget.questions(Privacy(Fraction("0.1"))), _zcdp("1", "1e-6").spent) == (2, NOTHING)


def _account(epsilon: str, *, window: int | None = None, dataset: str = "5", period: str = "never") -> Account:
    delta = Fraction("1e-6")
    role = Role(
        "analyst",
        "passenger",
        RoleBudget(Privacy(Fraction(epsilon), delta), Period(period), delta),
        Privacy(Fraction("0.1")),
    )
    return Account("ana", role, DatasetBudget(Privacy(Fraction(dataset), delta), window, concentrated=delta))


def test_the_ledger_pays_for_as_many_as_there_are(ledger: Ledger) -> None:
    """92 of 0.1, which add up to 9.2; the data set's budget counts them alike."""
    account = _account("5", dataset="9")
    for number in range(92):
        ask(ledger, account, item_of(str(number), "0.1"))
    with pytest.raises(BudgetExhausted, match='budget of role "analyst" has ε = '):
        ask(ledger, account, item_of("more", "0.1"))
    balance = ledger.balance(account)
    assert (balance.role_spent.epsilon, balance.dataset_spent.epsilon) == (Fraction("9.2"), Fraction("9.2"))
    assert 4.9 < balance.role_filter.spent.epsilon <= 5
    assert balance.role_filter.charged.epsilon == 92 * rho_of(Fraction("0.1"))
    assert balance.dataset_filter.charged == balance.role_filter.charged


def test_in_a_window_what_has_left_counts_no_more(ledger: Ledger, clock: Clock) -> None:
    """It is said from which day on there is room."""
    account = _account("20", window=3, dataset="1", period="day")
    for number in range(4):
        ask(ledger, account, item_of(str(number), "0.1"))
    with pytest.raises(BudgetExhausted, match="data set") as caught:
        ask(ledger, account, item_of("more", "0.1"))
    assert "ε = 0.1 is free from 2024-05-19 (UTC) on" in (caught.value.hint or "")
    clock.now = clock.now.replace(day=19, hour=0)
    ask(ledger, account, item_of("more", "0.1"))


def test_what_has_no_epsilon_leaves_no_room_in_a_sum() -> None:
    """Its ρ counts where ρ is counted; where ε is added up nothing is left, and nothing pays for it."""
    normal, pure = Privacy(Fraction(1, 10), Fraction(0), rho_of(Fraction(1, 10))), Privacy(Fraction(1, 10))
    total = Privacy(Fraction(5), Fraction("1e-6"))
    assert total_charged((normal, pure), Accounting.ZCDP) == Privacy(2 * rho_of(Fraction(1, 10)))
    summed = total_charged((normal, pure), Accounting.SUM)
    assert summed == Privacy(Fraction(2, 10), Fraction(0), rho_of(Fraction(1, 10)))
    for charged in (summed, total_charged((normal,), Accounting.SUM)):
        budget = PrivacyFilter(total, None, charged)
        assert budget.room == budget.left == Privacy(Fraction(0))
        assert not budget.pays(pure)
        assert not budget.questions(pure)
    assert not PrivacyFilter(total, None, Privacy(Fraction(0))).pays(normal)
    concentrated = PrivacyFilter(total, total.delta, total_charged((normal,), Accounting.ZCDP))
    assert concentrated.pays(total_charged((normal,), Accounting.ZCDP))
    assert concentrated.questions(normal) == concentrated.questions(pure) > 80
