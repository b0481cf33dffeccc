"""The page Choose: how large ε may be, what that means, and how noisy answers become. Public numbers only."""

import asyncio
import re

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.epsilon.advising.rule import MEMBERSHIP, VALUE
from dpsql.epsilon.noise.outputs import OutputKind
from dpsql.gateway.explaining.explained import Explained
from dpsql.policy.model import NoiseLevel, Period, Policy, Role, Table
from dpsql.web.choosing.asked_lately import asked_lately
from dpsql.web.choosing.planning import plan_of
from dpsql.web.choosing.policies import CHARTS, STAYS, rule_of
from dpsql.web.choosing.published import PUBLISHED
from dpsql.web.choosing.study import QUERIES, study_of
from dpsql.web.page_context import PageContext
from dpsql.web.sessions import Visitor
from dpsql.web.site import Refused, VisitorClient

_PEOPLE = 10_000
"""How many people the page begins with, unless the table has rows for more."""


async def choose_page(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the page, with the visitor's own role as the example."""
    policy, role = context.site.policy, visitor.role
    tables = [t for t in policy.tables.values() if role.protects in t.units]
    largest = max(tables, key=lambda table: table.expected_rows or 0, default=None)
    rows = (largest and largest.expected_rows) or _PEOPLE
    max_rows, given = await _counted(largest, role, policy, visitor.client) if largest else (1, "")
    return context.page(
        request,
        "choose.html",
        visitor,
        kinds=sorted(policy.budgets),
        role=role,
        people=max(_PEOPLE, -(-rows // max_rows)),
        rows=rows,
        max_rows=max_rows,
        given=given,
        periods=[str(period) for period in Period],
        stays=STAYS,
        levels=[str(level) for level in NoiseLevel],
        outputs=[str(output) for output in OutputKind],
        membership=f"{float(100 * MEMBERSHIP):g}",
        value=f"{float(100 * VALUE):g}",
        charts=CHARTS,
        queries=QUERIES,
        published=PUBLISHED,
    )


async def _counted(table: Table, role: Role, policy: Policy, client: VisitorClient) -> tuple[int, str]:
    """Return how many rows of one person count, and where that is chosen for each statement, for which C it stands."""
    declared = table.units[role.protects].max_rows
    try:
        ((plan,),) = await client.rows(f"EXPLAIN (FORMAT JSON) SELECT count(*) FROM {policy.asked_as(table.name)}")  # noqa: S608
    except Refused:
        return declared, ""
    (output,) = Explained.of(plan[0]["Plan"]).outputs
    known = re.match(r"C is ([\d,]+), ", output.given)
    return int(known[1].replace(",", "")) if known else declared, output.given


async def rule(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the rule for a role's total: what is acceptable, what a chosen ε means, levels, and the YAML."""
    return JSONResponse(await asyncio.to_thread(rule_of, request.query_params, context.site.policy, visitor.role))


async def study(request: Request, _: PageContext, __: Visitor) -> Response:
    """Return what one answer about a few people, typed in by the visitor, could reveal."""
    return JSONResponse(await asyncio.to_thread(study_of, request.query_params))


async def plan(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return what a month of questions would err by and risk; nothing is asked and nothing paid."""
    return JSONResponse(await plan_of(await context.form(request), visitor.role, visitor.client))


async def last_month(_: Request, __: PageContext, visitor: Visitor) -> Response:
    """Return the questions of the last month that the visitor may see, and where they were taken from."""
    return JSONResponse(await asked_lately(visitor.client, visitor.role))
