"""The page Explore: the story of what ε does, told with built-in samples, and questions about the visitor's own data."""

import asyncio
import math
from datetime import UTC
from fractions import Fraction

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.accounting.balance import Account
from dpsql.accounting.privacy_loss import compose, left_of, show_down
from dpsql.epsilon.refusal import BadInput
from dpsql.gateway.explaining.explained import Explained
from dpsql.policy.model import Privacy
from dpsql.web.amounts import brief
from dpsql.web.bounded_columns import Bounded, bounded_columns
from dpsql.web.curves import Json, noise_facts
from dpsql.web.inputs import fraction, one_of
from dpsql.web.page_context import PageContext
from dpsql.web.samples import LEAST_SAMPLE_EPSILON, MOST_SAMPLE_EPSILON, SAMPLE_UNITS, SMOOTHINGS, story_data
from dpsql.web.sessions import Visitor
from dpsql.web.site import Site

_RECENT = 1_000
_WITHIN = math.log(20)
"""Of Laplace noise 95 % is within so many times its scale."""


def story_page() -> Json:
    """Return what the template of the story needs, for any reader."""
    samples = story_data()["samples"]
    assert isinstance(samples, list)
    groups = dict.fromkeys(sample["group"] for sample in samples)
    return {
        "groups": {group: [sample for sample in samples if sample["group"] == group] for group in groups},
        "units": SAMPLE_UNITS,
        "smoothings": SMOOTHINGS,
    }


async def explore_page(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the page."""
    policy, role = context.site.policy, visitor.role
    columns = await bounded_columns(visitor.client, policy)
    return context.page(
        request,
        "explore.html",
        visitor,
        story=story_page(),
        columns=columns,
        protects=role.protects,
        cap=min(role.per_query.epsilon, MOST_SAMPLE_EPSILON),
    )


async def story(_: Request, __: PageContext, ___: Visitor) -> Response:
    """Return what the story is told with: public and made-up rows."""
    return JSONResponse(await asyncio.to_thread(story_data))


async def explore_price(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return what asking about a real column would cost; nothing is asked."""
    column, epsilon = await _chosen(request, context, visitor)
    left = await asyncio.to_thread(_left, context.site, visitor)
    paid = await asyncio.to_thread(_when_paid, context.site, visitor, column.statement, epsilon)
    return JSONResponse(
        {
            "left": brief(left.epsilon),
            "enough": epsilon <= left.epsilon,
            "paid": paid,
            **await _facts(column, epsilon, context.site, visitor),
        }
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
            "counts": column.counts(rows),
            "charged": show_down(left_of(after, before).epsilon),
            "left": brief(left.epsilon),
            **await _facts(column, epsilon, context.site, visitor),
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


async def _facts(column: Bounded, epsilon: Fraction, site: Site, visitor: Visitor) -> Json:
    """Return what is known of a question before it is asked: how far its counts err is what EXPLAIN says to this visitor."""
    rows = [site.policy.tables[column.table].units[visitor.role.protects].max_rows]
    ((plan,),) = await visitor.client.rows(f"EXPLAIN (FORMAT JSON) {column.statement}", str(float(epsilon)))
    (output,) = Explained.of(plan[0]["Plan"]).outputs
    if output.given:  # as many rows of each person as have these margins by noise alone
        rows = [*dict.fromkeys(max(1, round(margin * float(epsilon) / _WITHIN)) for margin in output.margins)]
    return {
        "title": column.description or column.name,
        "axis": column.name,
        "low": float(column.low),
        "high": float(column.high),
        "statement": column.statement,
        "role": visitor.role.name,
        "given": output.given or None,
        "rows": rows,
        **noise_facts(rows[-1], epsilon),
    }


def _paid(site: Site, visitor: Visitor, statement: str) -> Privacy:
    """Return what this visitor has paid for a statement lately."""
    lines = site.ledger.entries(visitor.role.name, _RECENT)
    return compose(line.cost for line in lines if (line.user, line.statement) == (visitor.user, statement))


def _when_paid(site: Site, visitor: Visitor, statement: str, epsilon: Fraction) -> str | None:
    """Return when the role last paid this much for a statement, as people read it: in the same epoch it is free."""
    lines = [line for line in site.ledger.entries(visitor.role.name, _RECENT) if line.statement == statement]
    # One statement may be charged in several lines: what chooses how many rows of a unit count is one of its own.
    for time in dict.fromkeys(line.time for line in lines):
        if compose(line.cost for line in lines if line.time == time).epsilon == epsilon:
            return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return None


def _left(site: Site, visitor: Visitor) -> Privacy:
    account = Account(visitor.user, visitor.role, site.policy.budgets[visitor.role.protects])
    balance = site.ledger.balance(account, read=site.read())
    return min(balance.role_left, balance.dataset_left, key=lambda left: left.epsilon)
