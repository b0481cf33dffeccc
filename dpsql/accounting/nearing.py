"""What is said when a budget nears its end: once at 80 and once at 95 %, to who spends it and in the operator's log."""

import logging
from collections.abc import Iterator
from fractions import Fraction

from dpsql.accounting.balance import Balance
from dpsql.accounting.composition import compose
from dpsql.accounting.privacy_loss import show_down
from dpsql.policy.model import Privacy

_LOG = logging.getLogger("dpsql.ledger")
MARKS = (95, 80)
"""Per cent of a budget, of ε or of δ."""
_SHARED = "all roles share it"


def nearing(balance: Balance, role_cost: Privacy, dataset_cost: Privacy) -> tuple[str, ...]:
    """Return what whoever has just paid so much on top of a balance is told, and log it; nothing where no mark is passed.

    What all roles together have spent only owners are told, as everywhere.
    """
    role = balance.account.role
    own, shared = f'the budget of role "{role.name}"', f'the data set\'s budget for privacy unit "{role.protects}"'
    told = tuple(_passed(own, balance.role_total, balance.role_spent, role_cost, _renews(balance)))
    of_all = tuple(_passed(shared, balance.account.dataset.total, balance.dataset_spent, dataset_cost, _SHARED))
    for line in (*told, *of_all):
        _LOG.warning("a budget nears its end: %s", line)
    return (*told, *of_all) if role.owner else told


def _passed(budget: str, total: Privacy, before: Privacy, cost: Privacy, renews: str) -> Iterator[str]:
    """Yield the mark that a charge passes, the highest one, with what is left."""
    after = compose((before, cost))
    for name, whole, old, new, price in (
        ("ε", total.epsilon, before.epsilon, after.epsilon, cost.epsilon),
        ("δ", total.delta, before.delta, after.delta, cost.delta),
    ):
        mark = next((mark for mark in MARKS if whole and old * 100 < mark * whole <= new * 100), None)
        if mark is not None:
            left = max(whole - new, Fraction(0))
            yield (
                f"{mark} % of {budget} is spent: {name} = {show_down(left)} left, "
                f"enough for {left // price:,} more questions at the price of this one; {renews}"
            )


def _renews(balance: Balance) -> str:
    return f"it renews on {balance.renews} (UTC)" if balance.renews else "it does not renew"
