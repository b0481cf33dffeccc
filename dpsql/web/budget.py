"""The page Budget: what was spent, by whom the visitor may see: their own role, or every role if theirs is an owner.

The lines are read from the ledger's narrow side (`Books`). `visible` decides whose.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import accumulate

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.ledger import Entry
from dpsql.accounting.privacy_loss import show
from dpsql.epsilon.rounding import down_to_digits
from dpsql.policy.model import Privacy, Role
from dpsql.web.curves import Json
from dpsql.web.rooms import Rooms
from dpsql.web.sessions import Visitor
from dpsql.web.site import Site
from dpsql.web.visible import visible

_RECENT = 2_000
"""How many of a role's newest lines the page looks at."""
_DEAREST = 10


@dataclass(frozen=True, slots=True)
class Bar:
    """A budget as a bar."""

    name: str
    note: str
    total: str
    spent: str
    left: str
    share: float
    """How much of it is spent, from 0 to 1."""
    delta: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, however often it was paid for."""

    statement: str
    roles: str
    times: int
    epsilon: str
    last: datetime


async def page(request: Request, rooms: Rooms, visitor: Visitor) -> Response:
    """Return the page."""
    bars, whole, asked, count = await asyncio.to_thread(_read, rooms.site, visitor)
    return rooms.page(request, "budget.html", visitor, bars=bars, whole=whole, asked=asked, count=count)


async def charges(_: Request, rooms: Rooms, visitor: Visitor) -> Response:
    """Return each visible role's charges over time, added up."""
    site = rooms.site
    found = [await asyncio.to_thread(_series, site, role) for role in visible(site.policy, visitor.role)]
    return JSONResponse({"roles": [series for series in found if series["times"]]})


def _read(site: Site, visitor: Visitor) -> tuple[list[Bar], list[Bar], list[Asked], int]:
    roles = visible(site.policy, visitor.role)
    balances = [_balance(site, visitor, role) for role in roles]
    lines = [line for role in roles for line in site.books.entries(role.name, _RECENT)]
    kinds = {balance.account.role.protects: balance for balance in balances} if visitor.role.owner else {}
    whole = [
        _bar(kind, "all roles together, ever", balance.account.dataset, balance.dataset_spent, balance.dataset_left)
        for kind, balance in kinds.items()
    ]
    return [_role_bar(balance) for balance in balances], whole, _dearest(lines), len(lines)


def _balance(site: Site, visitor: Visitor, role: Role) -> Balance:
    return site.books.balance(Account(visitor.user, role, site.policy.budgets[role.protects]))


def _role_bar(balance: Balance) -> Bar:
    role = balance.account.role
    renews = f"renews on {balance.renews} (UTC)" if balance.renews else "does not renew"
    note = f"protects each {role.protects}; {renews}; at most ε = {show(role.per_query.epsilon)} a question"
    note += "; closed, because measurements have failed" if balance.closed else ""
    return _bar(role.name, note, role.budget.total, balance.role_spent, balance.role_left)


def _bar(name: str, note: str, budget: Privacy, spent: Privacy, left: Privacy) -> Bar:
    share = float(min(spent.epsilon / budget.epsilon, Fraction(1)))
    delta = f"δ: {show(spent.delta)} of {show(budget.delta)} spent" if budget.delta else ""
    return Bar(name, note, show(budget.epsilon), _brief(spent.epsilon), _brief(left.epsilon), share, delta)


def _dearest(lines: Iterable[Entry]) -> list[Asked]:
    """Return the statements that cost most, the dearest first."""
    together: dict[str, list[Entry]] = {}
    for line in lines:
        together.setdefault(line.statement, []).append(line)
    ranked = sorted(together.items(), key=lambda pair: _cost(pair[1]), reverse=True)[:_DEAREST]
    return [
        Asked(
            statement,
            ", ".join(sorted({line.role for line in same})),
            len({line.time for line in same}),
            _brief(_cost(same)),
            max(line.time for line in same),
        )
        for statement, same in ranked
    ]


def _brief(amount: Fraction) -> str:
    """Write an amount with six digits, rounded down."""
    return show(down_to_digits(amount, 6)) if amount else "0"


def _cost(lines: Iterable[Entry]) -> Fraction:
    return sum((line.cost.epsilon for line in lines), Fraction(0))


def _series(site: Site, role: Role) -> Json:
    lines = site.books.entries(role.name, _RECENT)[::-1]
    costs = accumulate(float(line.cost.epsilon) for line in lines)
    return {
        "name": role.name,
        "times": [line.time.isoformat() for line in lines],
        "spent": [round(cost, 6) for cost in costs],
    }
