"""Whether an account can pay: what was spent, beside the budgets of the policy in force."""

from dataclasses import dataclass
from datetime import date

from dpsql.errors import BudgetExhausted
from dpsql.policy.model import Privacy, Role
from dpsql.privacy.budget import left_of, show


@dataclass(frozen=True, slots=True)
class Account:
    """Who pays, and within which budgets."""

    user: str
    role: Role
    dataset: Privacy
    """The data set's own budget for the unit kind that the role protects; it never renews."""


@dataclass(frozen=True, slots=True)
class Balance:
    """What an account's two budgets have been charged."""

    account: Account
    role_spent: Privacy
    """By the role in its current period."""
    dataset_spent: Privacy
    """By all roles that protect the same unit kind, ever."""
    renews: date | None
    """The day (UTC) on which the role's budget renews."""

    @property
    def role_left(self) -> Privacy:
        """Return what the role may still spend in this period, were it alone."""
        return left_of(self.account.role.budget.total, self.role_spent)

    @property
    def dataset_left(self) -> Privacy:
        """Return what all roles of the unit kind may still spend together."""
        return left_of(self.account.dataset, self.dataset_spent)


def afford(balance: Balance, role_cost: Privacy, dataset_cost: Privacy) -> None:
    """Return if both budgets can pay.

    Raises:
        BudgetExhausted: with what is left, what is asked and when the budget renews.
    """
    role = balance.account.role
    short = _shortfall(balance.role_left, role_cost)
    if short:
        wait = f"or wait until {balance.renews} (UTC)" if balance.renews else "the budget does not renew"
        raise BudgetExhausted(
            f'the budget of role "{role.name}" has {short}',
            hint=f"Ask with a smaller dpsql.epsilon, or a question that was answered before; {wait}.",
        )
    short = _shortfall(balance.dataset_left, dataset_cost)
    if short:
        raise BudgetExhausted(
            f'the data set\'s budget for privacy unit "{role.protects}" has {short}',
            hint="It is shared by all roles and does not renew; questions that were answered before stay available.",
        )


def _shortfall(left: Privacy, asked: Privacy) -> str | None:
    """Name the parameter that does not suffice; None if both do."""
    if asked.epsilon > left.epsilon:
        return f"ε = {show(left.epsilon)} left, the statement asks for ε = {show(asked.epsilon)}"
    if asked.delta > left.delta:
        return f"δ = {show(left.delta)} left, the statement asks for δ = {show(asked.delta)}"
    return None
