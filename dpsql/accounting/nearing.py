"""The notice that a budget nears its end: once at 80 and once at 95 %, to its user and in the operator's log."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.accounting.balance import Balance
from dpsql.accounting.composition import compose
from dpsql.accounting.privacy_filter import PrivacyFilter, counted
from dpsql.accounting.privacy_loss import show_down
from dpsql.policy.model import Privacy

_LOG = logging.getLogger("dpsql.ledger")
MARKS = (95, 80)
"""Per cent of a budget, of ε or of δ."""
_SHARED = "all roles share it"


def nearing(balance: Balance, costs: Sequence[Privacy], dataset_costs: Sequence[Privacy]) -> tuple[str, ...]:
    """Return the notice for a user who has just paid so much on top of a balance, and log it; None if no mark is passed.

    Only owners are told what all roles together have spent, as everywhere.
    """
    role = balance.account.role
    own, shared = f'the budget of role "{role.name}"', f'the data set\'s budget for privacy unit "{role.protects}"'
    told = tuple(_passed(own, balance.role_filter, costs, _renews(balance)))
    of_all = tuple(_passed(shared, balance.dataset_filter, dataset_costs, _SHARED))
    for line in (*told, *of_all):
        _LOG.warning("a budget nears its end: %s", line)
    return (*told, *of_all) if role.owner else told


def _passed(name: str, budget: PrivacyFilter, costs: Sequence[Privacy], renews: str) -> Iterator[str]:
    """Yield the mark that a charge passes, the highest one, with the rest."""
    price, limit, before = counted(costs, budget.accounting), budget.limit, budget.charged
    after = replace(budget, charged=compose((before, price)))
    for letter, whole, old, new, cost, which in (
        ("ε", limit.epsilon, before.epsilon, after.charged.epsilon, price.epsilon, "epsilon"),
        ("δ", limit.delta, before.delta, after.charged.delta, price.delta, "delta"),
    ):
        mark = next((mark for mark in MARKS if whole and old * 100 < mark * whole <= new * 100), None)
        if mark is not None:
            yield (
                f"{mark} % of {name} is spent: {letter} = {show_down(getattr(after.left, which))} left, "
                f"enough for {max(whole - new, Fraction(0)) // cost:,} more questions at the price of this one; {renews}"
            )


def _renews(balance: Balance) -> str:
    return f"it renews on {balance.renews} (UTC)" if balance.renews else "it does not renew"
