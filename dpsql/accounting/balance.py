"""Whether an account can pay: what was spent, beside the budgets of the policy in force."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction

from dpsql.accounting.privacy_loss import compose, covers, remaining, show_down
from dpsql.accounting.zcdp import epsilon_of, epsilon_paid_by, rho_of, rho_within
from dpsql.errors import AccountClosed, BudgetExhausted, ConfigError, InternalError
from dpsql.policy.model import Accounting, DatasetBudget, Privacy, Role

# The amounts that a budget allows, and those charged to it: a filter that no sequence of charges passes, however chosen.
#
# Of ε and δ that add up the filter is a box: no charge is made that would leave it (Rogers, Roth, Ullman, Vadhan, "Privacy
# Odometers and Filters", 2016). With zCDP it is a box of ρ and δ, fixed before the first charge. Its ρ is the largest that
# is (ε, δ′)-DP, for the part δ′ of the budget that is kept for it. The other part of δ is for the charges' own. These two
# sums are a valid filter even if each question is chosen after the answers before it (Whitehouse, Ramdas, Rogers, Wu,
# "Fully Adaptive Composition in Differential Privacy", 2023, Theorem 1). A bound by the best conversion of all charges
# together, or by their privacy loss distributions, would be none.


def total_charged(costs: Iterable[Privacy], accounting: Accounting) -> Privacy:
    """Return what charges add up to: Σε and Σδ, or with zCDP Σρ instead of Σε.

    What has a ρ of its own has no ε: where ε is added up its ρ stays apart, and no budget covers it.
    """
    if accounting is Accounting.SUM:
        return compose(costs)
    return compose(Privacy(cost.rho or rho_of(cost.epsilon), cost.delta) for cost in costs)


@dataclass(frozen=True, slots=True)
class PrivacyFilter:
    """A budget and what was charged to it."""

    total: Privacy
    """The ε and δ that are promised."""
    concentrated: Fraction | None
    """The part of δ at which ρ is turned into ε; None where ε and δ are added up."""
    charged: Privacy
    """As `total_charged`."""

    @property
    def accounting(self) -> Accounting:
        """Return how charges add up."""
        return Accounting.SUM if self.concentrated is None else Accounting.ZCDP

    @property
    def limit(self) -> Privacy:
        """Return what charges may add up to, as they are counted."""
        if self.concentrated is None:
            return self.total
        return Privacy(rho_within(self.total.epsilon, self.concentrated), self.total.delta - self.concentrated)

    @property
    def room(self) -> Privacy:
        """Return what they may yet add up to, as they are counted; nothing, where something was charged that has no ε."""
        return remaining(self.limit, self.limit) if self.charged.rho else remaining(self.limit, self.charged)

    @property
    def left(self) -> Privacy:
        """Return the most that one more charge may cost."""
        room = self.room
        return room if self.concentrated is None else Privacy(epsilon_paid_by(room.epsilon), room.delta)

    @property
    def spent(self) -> Privacy:
        """Return the ε and δ that all charges together come to; they may be more than promised, if that was lowered."""
        if self.concentrated is None:
            return self.charged
        at = self.concentrated if self.charged.epsilon else Fraction(0)
        return compose(
            (Privacy(epsilon_of(self.charged.epsilon, self.concentrated), at), Privacy(Fraction(0), self.charged.delta))
        )

    def pays(self, cost: Privacy) -> bool:
        """Return whether there is room for a cost, in the unit that is counted."""
        return covers(self.room, cost)

    def questions(self, price: Privacy) -> int:
        """Return for how many more questions at a price there is room."""
        each, room = total_charged((price,), self.accounting), self.room
        pairs = ((room.epsilon, each.epsilon), (room.delta, each.delta))
        return min(int(amount // part) for amount, part in pairs if part)


# The account that pays, its balance, and whether that suffices.

_SHARED = "It is shared by all roles and does not renew; questions that were answered before stay available."
_SLIDES = (
    "It is shared by all roles, and each charge counts for {window} days{free}; questions that were answered before stay "
    "available."
)
_OF_COPY = (
    "It is shared by all roles, and each charge counts for {window} days from the day of the copy of the records that it "
    "reads{free}; questions that were answered before stay available."
)
_NO_GRANT = compose(())


@dataclass(frozen=True, slots=True)
class Account:
    """The payer, and the budgets that it pays from."""

    user: str
    role: Role
    dataset: DatasetBudget
    """The data set's own budget for the unit kind that the role protects."""

    @property
    def counts_rho(self) -> bool:
        """Return whether all budgets that pay count ρ: of what has no ε no sum of ε says anything."""
        return self.role.counts_rho and self.dataset.concentrated is not None


@dataclass(frozen=True, slots=True)
class Balance:
    """The charges to an account's two budgets."""

    account: Account
    role_spent: Privacy
    """By the role in its current period."""
    dataset_spent: Privacy
    """By all roles that protect the same unit kind: ever, or in the fullest window that counts for what is read now."""
    renews: date | None
    """The day (UTC) on which the role's budget renews."""
    runs: int = 0
    """How many measurements the role has paid for today (UTC)."""
    closed: bool = False
    """Whether the account is closed, since measurements have failed."""
    broken: frozenset[str] = frozenset()
    """The forms of measurements that are refused to the role, since one of each was met by a bug of ours."""
    granted: Privacy = _NO_GRANT
    """The role's grants in its current period, beside its budget."""
    room_from: Callable[[Privacy], date | None] = field(default=lambda _: None, repr=False, compare=False)
    """The day (UTC) from which on so much of the data set's budget, as it counts, is free for what is read then, if nothing
    more is spent; None: never, or now."""
    user_spent: Fraction = Fraction(0)
    """The ε that the account's user has spent of the role's in its current period."""
    role_counted: Privacy | None = None
    """The sum of the role's charges of this period as its budget counts them; None: it has spent them."""
    dataset_counted: Privacy | None = None
    """The sum of those of all roles, likewise."""
    reads_copy: bool = False
    """Whether a copy of the records is read, whose days stay those on which it was made."""

    @property
    def role_filter(self) -> PrivacyFilter:
        """Return the role's budget of this period, and what was charged to it."""
        charged = self.role_spent if self.role_counted is None else self.role_counted
        return PrivacyFilter(self.role_total, self.account.role.budget.concentrated, charged)

    @property
    def dataset_filter(self) -> PrivacyFilter:
        """Return the data set's budget, and what was charged to it."""
        charged = self.dataset_spent if self.dataset_counted is None else self.dataset_counted
        return PrivacyFilter(self.account.dataset.total, self.account.dataset.concentrated, charged)

    @property
    def role_left(self) -> Privacy:
        """Return the most that the role may still spend on one question in this period, were it alone."""
        return self.role_filter.left

    @property
    def user_left(self) -> Privacy:
        """Return what the account's user may still spend of it."""
        left, share = self.role_left, self.account.role.shares.get(self.account.user)
        return (
            left if share is None else Privacy(min(left.epsilon, max(share - self.user_spent, Fraction(0))), left.delta)
        )

    def questions(self, price: Privacy) -> int:
        """Return for how many more questions at a price the account's user may spend of the role's budget."""
        often, share = self.role_filter.questions(price), self.account.role.shares.get(self.account.user)
        return often if share is None or not price.epsilon else min(often, int(self.user_left.epsilon / price.epsilon))

    @property
    def role_total(self) -> Privacy:
        """Return what the role may spend in this period in all, were it alone."""
        return compose((self.account.role.budget.total, self.granted))

    @property
    def dataset_left(self) -> Privacy:
        """Return the most that one more question may cost all roles of the unit kind together."""
        return self.dataset_filter.left


def require_rho(balance: Balance) -> None:
    """Return if no budget adds up ε while something counts in it that has none.

    Raises:
        ConfigError: one does: the sum would say too little, and the promise would not hold.
    """
    role, kind = balance.account.role, balance.account.role.protects
    whose = []
    if balance.role_spent.rho and not role.counts_rho:
        whose.append(f"roles.{role.name}.budget" if role.budget.concentrated is None else f"roles.{role.name}.users")
    if balance.dataset_spent.rho and balance.account.dataset.concentrated is None:
        whose.append(f"budget.{kind}")
    if whose:
        raise ConfigError(
            f"{whose[0]} adds up ε, and answers with Gaussian noise count in it, which have a ρ and no ε",
            hint="Leave `accounting: zcdp`, and no `users` with shares, until a new period or window has begun.",
        )


def refuse_broken_forms(balance: Balance, forms: Iterable[Callable[[], str]]) -> None:
    """Return if none of the forms of what is to be measured is refused to the role; most have to look at none.

    Raises:
        AccountClosed: one is, until the owner opens it.
    """
    role = balance.account.role.name
    if balance.broken and any(form() in balance.broken for form in forms):
        raise AccountClosed(
            f'this form of statement is refused to role "{role}", with any constants: it failed by a bug of dpsql',
            because="form-refused",
            hint=f"Ask in another form. The owner of the data opens it with: dpsql unlock {role}. "
            "What was answered before stays free.",
        )


def require_measurements_left(balance: Balance, number: int) -> None:
    """Return if the role may ask for so many measurements now, whatever they cost.

    Raises:
        AccountClosed: until the owner opens the account.
        BudgetExhausted: not today.
    """
    role = balance.account.role
    if balance.closed and number:
        raise AccountClosed(
            f'the account of role "{role.name}" is closed, because measurements have failed',
            because="account-closed",
            hint=f"The owner of the data opens it with: dpsql unlock {role.name}. What was answered before stays free.",
        )
    if balance.runs + number > role.limits.runs:
        raise BudgetExhausted(
            f'role "{role.name}" may ask for {role.limits.runs:,} measurements a day and has asked for {balance.runs:,}, '
            f"the statement asks for {number:,}",
            because="measurements-a-day",
            hint="Ask a question that was answered before, or wait until midnight (UTC).",
        )


def afford(balance: Balance, costs: Sequence[Privacy], dataset_costs: Sequence[Privacy]) -> None:
    """Return if both budgets can pay for measurements that cost the role, and the data set, so much each.

    Raises:
        BudgetExhausted: with the rest, the price and when the budget renews.
        AccountClosed: until the owner opens it.
    """
    role, role_cost = balance.account.role, compose(costs)
    if role_cost.rho and not balance.account.counts_rho:  # plans are made for the budgets: it does not come to this
        raise InternalError
    require_measurements_left(balance, len(costs))
    short = _shortfall(balance.role_filter, costs)
    if short:
        wait = f"or wait until {balance.renews} (UTC)" if balance.renews else "the budget does not renew"
        raise BudgetExhausted(
            f'the budget of role "{role.name}" has {short}',
            because="role-budget",
            hint=f"Ask {_affordable(balance.role_filter.left.epsilon)}; {wait}.",
        )
    share = role.shares.get(balance.account.user)
    if share is not None and role_cost.epsilon > share - balance.user_spent:
        left = show_down(max(share - balance.user_spent, Fraction(0)))
        raise BudgetExhausted(
            f'user "{balance.account.user}" has ε = {left} left of {show_down(share)} in the budget of role "{role.name}", '
            f"the statement asks for ε = {show_down(role_cost.epsilon)}",
            because="user-share",
            hint=f"Ask {_affordable(share - balance.user_spent)}.",
        )
    _afford_of_dataset(balance, dataset_costs)


def _afford_of_dataset(balance: Balance, costs: Sequence[Privacy]) -> None:
    """Return if the data set's own budget can pay; only owners are told what it has left."""
    role = balance.account.role
    most = _at_most(role, costs)
    # A role that is no owner's learns only whether the dearest statement would still pass: what is left is what others asked.
    short = _shortfall(balance.dataset_filter, most)
    if short and role.owner:
        raise _shared(f'the data set\'s budget for privacy unit "{role.protects}" has {short}', balance, most)
    if short:
        raise _shared(f'the data set\'s budget for privacy unit "{role.protects}" is used up', balance, most)


def _shared(message: str, balance: Balance, wanted: Sequence[Privacy]) -> BudgetExhausted:
    return BudgetExhausted(message, because="data-set-budget", hint=_hint(balance, wanted))


def _hint(balance: Balance, wanted: Sequence[Privacy]) -> str:
    """Return what there is to be done: of a window, from when on so much is free."""
    window = balance.account.dataset.window
    if window is None:
        return _SHARED
    when, cost = balance.room_from(total_charged(wanted, balance.dataset_filter.accounting)), compose(wanted)
    amount = f"ε = {show_down(cost.epsilon)}" + (f", δ = {show_down(cost.delta)}" if cost.delta else "")
    # By the day and no nearer: the minute would be that at which another role has asked.
    said, copied = (_OF_COPY, "by a copy that is made ") if balance.reads_copy else (_SLIDES, "")
    return said.format(window=window, free="" if when is None else f": {amount} is free {copied}from {when} (UTC) on")


def _at_most(role: Role, costs: Sequence[Privacy]) -> Sequence[Privacy]:
    """Return what any statement of the role may cost, where this one costs anything: in one measurement, which costs most.

    Were a cheaper statement let through, trying, which is free, would show what the other roles have left.
    """
    cost, each = compose(costs), role.per_query
    if role.owner or not cost.epsilon:
        return costs
    delta = max(cost.delta, each.delta) if cost.delta else cost.delta
    # One at the whole ε costs as much ρ, or more: with zCDP a part of it costs less than that part of its ρ.
    return (Privacy(max(cost.epsilon, each.epsilon), delta),)


def _affordable(left: Fraction) -> str:
    """Return what can be asked where so much ε is left."""
    smaller = "with a smaller dpsql.epsilon, or " if left > 0 else ""
    return f"{smaller}a question that was answered before"


def _shortfall(budget: PrivacyFilter, costs: Sequence[Privacy]) -> str | None:
    """Name the parameter that does not suffice; None if both do."""
    room, asked, cost = budget.room, total_charged(costs, budget.accounting), compose(costs)
    if asked.epsilon > room.epsilon:
        return f"ε = {show_down(budget.left.epsilon)} left, the statement asks for ε = {show_down(cost.epsilon)}"
    if asked.delta > room.delta:
        return f"δ = {show_down(room.delta)} left, the statement asks for δ = {show_down(cost.delta)}"
    return None


# The notice that a budget nears its end: once at 80 and once at 95 %, to its user and in the operator's log.

_LOG = logging.getLogger("dpsql.ledger")
MARKS = (95, 80)
"""Per cent of a budget, of ε or of δ."""
_SHARED_NEARS_END = "all roles share it"


def budget_notice(balance: Balance, costs: Sequence[Privacy], dataset_costs: Sequence[Privacy]) -> tuple[str, ...]:
    """Return the notice for a user who has just paid so much on top of a balance, and log it; None if no mark is passed.

    Only owners are told what all roles together have spent, as everywhere.
    """
    role = balance.account.role
    own, shared = f'the budget of role "{role.name}"', f'the data set\'s budget for privacy unit "{role.protects}"'
    told = tuple(_passed(own, balance.role_filter, costs, _renews(balance)))
    of_all = tuple(_passed(shared, balance.dataset_filter, dataset_costs, _SHARED_NEARS_END))
    for line in (*told, *of_all):
        _LOG.warning("a budget nears its end: %s", line)
    return (*told, *of_all) if role.owner else told


def _passed(name: str, budget: PrivacyFilter, costs: Sequence[Privacy], renews: str) -> Iterator[str]:
    """Yield the mark that a charge passes, the highest one, with the rest."""
    price, limit, before = total_charged(costs, budget.accounting), budget.limit, budget.charged
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
