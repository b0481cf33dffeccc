"""The page Explore: what noise does to a distribution."""

import asyncio
from fractions import Fraction

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.accounting.balance import Account
from dpsql.accounting.composition import compose, left_of
from dpsql.accounting.privacy_loss import show_down
from dpsql.epsilon.refusal import BadInput
from dpsql.plots.samples import samples
from dpsql.policy.model import Privacy
from dpsql.web.ask import Bounded, bounded_columns
from dpsql.web.curves import SMOOTHINGS, Json, curves, drawn, noise_facts
from dpsql.web.inputs import fraction, one_of
from dpsql.web.page_context import PageContext
from dpsql.web.samples import LEAST_SAMPLE_EPSILON, MOST_SAMPLE_EPSILON, SAMPLE_UNITS, noisy_sample
from dpsql.web.sessions import Visitor
from dpsql.web.site import Site

_RECENT = 1_000


async def explore_page(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the page."""
    policy, role = context.site.policy, visitor.role
    columns = await bounded_columns(visitor.client, policy)
    return context.page(
        request,
        "explore.html",
        visitor,
        samples=samples().values(),
        units=SAMPLE_UNITS.values(),
        smoothings=SMOOTHINGS,
        columns=columns,
        protects=role.protects,
        cap=min(role.per_query.epsilon, MOST_SAMPLE_EPSILON),
    )


async def sample(request: Request, context: PageContext, _: Visitor) -> Response:
    """Return a built-in sample with fresh noise."""
    return JSONResponse(await asyncio.to_thread(noisy_sample, request.query_params, context.site.entropy))


async def explore_price(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return what asking about a real column would cost; nothing is asked."""
    column, epsilon = await _chosen(request, context, visitor)
    left = await asyncio.to_thread(_left, context.site, visitor)
    enough = epsilon <= left.epsilon
    return JSONResponse(
        {"left": show_down(left.epsilon), "enough": enough, **_facts(column, epsilon, context.site, visitor)}
    )


async def ask(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Ask about a real column through the server, and return the private curve and what was charged."""
    column, epsilon = await _chosen(request, context, visitor)
    before = await asyncio.to_thread(_paid, context.site, visitor, column.statement)
    rows = await visitor.client.rows(column.statement, str(float(epsilon)))
    after = await asyncio.to_thread(_paid, context.site, visitor, column.statement)
    left = await asyncio.to_thread(_left, context.site, visitor)
    return JSONResponse(
        {
            "private": drawn(curves(column.counts(rows), float(column.low), float(column.high))),
            "charged": show_down(left_of(after, before).epsilon),
            "left": show_down(left.epsilon),
            **_facts(column, epsilon, context.site, visitor),
        }
    )


async def _chosen(request: Request, context: PageContext, visitor: Visitor) -> tuple[Bounded, Fraction]:
    """Return the column, which must be one that the visitor's own connection shows, and the ε within the role's limit."""
    given = request.query_params if request.method == "GET" else await context.form(request)
    columns = {column.name: column for column in await bounded_columns(visitor.client, context.site.policy)}
    if not columns:
        raise BadInput("your role has no table with a bounded number column")
    cap = min(visitor.role.per_query.epsilon, MOST_SAMPLE_EPSILON)
    return columns[one_of(given, "column", tuple(columns))], fraction(
        given, "epsilon", min(LEAST_SAMPLE_EPSILON, cap), cap
    )


def _facts(column: Bounded, epsilon: Fraction, site: Site, visitor: Visitor) -> Json:
    bound = site.policy.tables[column.table].units[visitor.role.protects]
    return {
        "title": column.description or column.name,
        "axis": column.name,
        "low": float(column.low),
        "high": float(column.high),
        "statement": column.statement,
        "role": visitor.role.name,
        **noise_facts(bound.max_rows, epsilon),
    }


def _paid(site: Site, visitor: Visitor, statement: str) -> Privacy:
    """Return what this visitor has paid for a statement lately."""
    lines = site.ledger.entries(visitor.role.name, _RECENT)
    return compose(line.cost for line in lines if (line.user, line.statement) == (visitor.user, statement))


def _left(site: Site, visitor: Visitor) -> Privacy:
    account = Account(visitor.user, visitor.role, site.policy.budgets[visitor.role.protects])
    balance = site.ledger.balance(account)
    return min(balance.role_left, balance.dataset_left, key=lambda left: left.epsilon)
