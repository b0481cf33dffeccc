"""The page Budget: what was spent by the visitor's own role, or by every role if theirs is an owner.

It only reads the ledger (`LedgerReader`); `visible` decides whose lines.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import accumulate

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.ledger import Entry, usual_price
from dpsql.accounting.privacy_loss import show_down
from dpsql.epsilon.advising.rule import MEMBERSHIP, VALUE, belief_after, membership_epsilon, value_epsilon
from dpsql.epsilon.numbers import percent
from dpsql.policy.model import Accounting, DatasetBudget, Privacy, Role
from dpsql.privacy.release.release import is_share, is_unknown
from dpsql.web.inputs import Json, brief
from dpsql.web.page_context import PageContext
from dpsql.web.sessions import Visitor
from dpsql.web.site import ServerLost, ServerRefused, Site, visible

_PROFILE = "SELECT concat_ws('.', table_name, column_name), what, value, margin FROM dpsql.profile"
_STANDING = """SELECT role_name, table_name, term, state, epsilon::text, statement, periods, last_period, measured_until::date
  FROM dpsql.standing ORDER BY state = 'stands' DESC, began DESC LIMIT 100"""
_RECENT = 2_000
"""How many of a role's newest lines the page looks at."""
_MOST_SHOWN = 10
_USUAL = min(membership_epsilon(MEMBERSHIP), value_epsilon(VALUE))
"""The largest total ε that keeps the promises of membership and value where the visitor has set no others."""


@dataclass(frozen=True, slots=True)
class BudgetBar:
    """A budget as a bar."""

    name: str
    note: str
    total: str
    spent: str
    left: str
    share: float
    """How much of it is spent, from 0 to 1."""
    delta: str
    now: str
    """The spent ε as a risk."""
    end: str
    """All of it as a risk, and the promises that it breaks."""
    kept: bool


@dataclass(frozen=True, slots=True)
class ExpensiveStatement:
    """One question, however often it was paid for."""

    statement: str
    roles: str
    times: int
    epsilon: str
    last: datetime


@dataclass(frozen=True, slots=True)
class KnownLine:
    """The facts of a profile about a table or a column."""

    of: str
    what: str
    value: str
    margin: str


@dataclass(frozen=True, slots=True)
class StandingLine:
    """A question that is paid once a term."""

    role: str
    about: str
    """The table, and the term."""
    state: str
    epsilon: str
    statement: str
    told: str
    """How far it was measured."""
    until: str
    """From which day on nothing more of it is measured, and its cost counts no more."""


async def budget_page(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the page."""
    # On a thread: the pages share their loop with all SQL clients, and a ledger may have to be waited for.
    bars, whole, asked, count = await asyncio.to_thread(_read, context.site, visitor)
    profile, stands = await _profile(context.site, visitor), await _stands(context.site, visitor)
    return context.page(
        request, "budget.html", visitor, bars=bars, whole=whole, asked=asked, count=count, known=profile, stands=stands
    )


async def _profile(site: Site, visitor: Visitor) -> list[KnownLine]:
    """Return what the visitor's role knows of whole tables; without it the page is what it is."""
    if site.policy.budgets[visitor.role.protects].profile is None:
        return []
    try:
        return [_known(*row) for row in await visitor.client.rows(_PROFILE)]
    except (ServerRefused, ServerLost):
        return []


async def _stands(site: Site, visitor: Visitor) -> list[StandingLine]:
    """Return the questions that stand, or stood; without them the page is what it is."""
    if all(table.grows is None for table in site.policy.tables.values()):
        return []
    try:
        return [_stand(*row) for row in await visitor.client.rows(_STANDING)]
    except (ServerRefused, ServerLost):
        return []


def _stand(*row: object) -> StandingLine:
    role, table, term, state, epsilon, statement, periods, last, until = row
    told = "nothing yet" if last is None else f"{periods} periods, the last from {last}"
    about = f"{table}, {term}"
    return StandingLine(str(role), about, str(state), brief(Fraction(str(epsilon))), str(statement), told, str(until))


def _known(of: object, what: object, value: object, margin: object) -> KnownLine:
    """Return a line of the profile, shares in per cent."""
    if is_unknown(what, margin):
        return KnownLine(str(of), str(what), "unknown", "")
    in_percent = is_share(what)

    def shown(number: object) -> str:
        return "" if not isinstance(number, float) else f"{100 * number:.2g} %" if in_percent else f"{number:,.0f}"

    return KnownLine(str(of), str(what), shown(value), shown(margin))


async def charges(_: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return each visible role's charges over time, added up."""
    site = context.site
    every_series = [await asyncio.to_thread(_series, site, role) for role in visible(site.policy, visitor.role)]
    return JSONResponse({"roles": [series for series in every_series if series["times"]]})


def _read(site: Site, visitor: Visitor) -> tuple[list[BudgetBar], list[BudgetBar], list[ExpensiveStatement], int]:
    roles = visible(site.policy, visitor.role)
    balances = [_balance(site, visitor, role) for role in roles]
    lines = {role.name: site.ledger.entries(role.name, _RECENT) for role in roles}
    kinds = {balance.account.role.protects: balance for balance in balances} if visitor.role.owner else {}
    whole = [
        _bar(
            kind,
            f"all roles together, {_often(balance.account.dataset)}",
            balance.account.dataset.total,
            (balance.dataset_filter.spent, balance.dataset_left),
            _risk(balance.dataset_filter.spent.epsilon),
            _often(balance.account.dataset),
        )
        for kind, balance in kinds.items()
    ]
    bars = [_role_bar(balance, lines[balance.account.role.name]) for balance in balances]
    every = [line for role in roles for line in lines[role.name]]
    return bars, whole, _most_expensive(every), len(every)


def _often(budget: DatasetBudget) -> str:
    """Say in what time a data set's budget may be spent."""
    return "ever" if budget.window is None else f"in any {budget.window} days"


def _balance(site: Site, visitor: Visitor, role: Role) -> Balance:
    return site.ledger.balance(Account(visitor.user, role, site.policy.budgets[role.protects]), read=site.read())


def _role_bar(balance: Balance, lines: Sequence[Entry]) -> BudgetBar:
    """Return a role's bar; its risk is that of all periods together, since what was learnt is not forgotten."""
    role, spent = balance.account.role, (balance.role_filter.spent, balance.role_left)
    renews = f"renews on {balance.renews} (UTC)" if balance.renews else "does not renew"
    note = f"protects each {role.protects}; {renews}; at most ε = {brief(role.per_query.epsilon)} a question"
    price = usual_price(lines, role)
    note += f"; enough for {balance.role_filter.questions(price):,} more at the usual ε = {brief(price.epsilon)}"
    note += "; its charges add up with zCDP" if balance.role_filter.accounting is Accounting.ZCDP else ""
    note += "; closed, because measurements have failed" if balance.closed else ""
    note += "; a form of statement is refused, because of a bug" if balance.broken and not balance.closed else ""
    if not balance.renews:
        return _bar(role.name, note, balance.role_total, spent, _risk(spent[0].epsilon), "ever")
    # Only the newest lines are read: the present period alone may have more.
    ever = max(_cost(lines), balance.role_spent.epsilon)
    least = "at least " if len(lines) == _RECENT else ""
    now = f"{_risk(ever)}: {least}ε = {brief(ever)} in all its periods so far"
    return _bar(role.name, note, balance.role_total, spent, now, f"each {role.budget.period}, and they add up")


def _bar(name: str, note: str, budget: Privacy, amounts: tuple[Privacy, Privacy], now: str, often: str) -> BudgetBar:
    spent, left = amounts
    # More than all may be spent: a correction is charged whatever is left, and the configuration may lower a budget.
    share = float(min(spent.epsilon / budget.epsilon, Fraction(1)))
    delta = f"δ: {show_down(spent.delta)} of {show_down(budget.delta)} spent" if budget.delta else ""
    kept = budget.epsilon <= _USUAL
    verdict = "within" if kept else "more than"
    end = f"{_risk(budget.epsilon)}, {often}: {verdict} the ε ≤ {brief(_USUAL)} of the usual promises"
    return BudgetBar(
        name, note, show_down(budget.epsilon), brief(spent.epsilon), brief(left.epsilon), share, delta, now, end, kept
    )


def _risk(epsilon: Fraction) -> str:
    """Return what an amount means for beliefs that began at 50 to 50."""
    belief = belief_after(epsilon, 2)
    return f"membership {percent(belief.membership)}, attribute {percent(belief.value)}"


def _most_expensive(lines: Iterable[Entry]) -> list[ExpensiveStatement]:
    """Return the statements that cost most, the most expensive first."""
    together: dict[str, list[Entry]] = {}
    for line in lines:
        together.setdefault(line.statement, []).append(line)
    ranked = sorted(together.items(), key=lambda pair: _cost(pair[1]), reverse=True)[:_MOST_SHOWN]
    return [
        ExpensiveStatement(
            statement,
            ", ".join(sorted({line.role for line in same})),
            # An answer may be charged in several lines, which have one time.
            len({line.time for line in same}),
            brief(_cost(same)),
            max(line.time for line in same),
        )
        for statement, same in ranked
    ]


def _cost(lines: Iterable[Entry]) -> Fraction:
    return sum((line.cost.epsilon for line in lines), Fraction(0))


def _series(site: Site, role: Role) -> Json:
    # Oldest first. The sums begin at the oldest of these lines, which need not be the role's first.
    lines = site.ledger.entries(role.name, _RECENT)[::-1]
    costs = accumulate(float(line.cost.epsilon) for line in lines)
    return {
        "name": role.name,
        "times": [line.time.isoformat() for line in lines],
        "spent": [round(cost, 6) for cost in costs],
    }
