"""The page Choose: how large ε may be, what that means, and how noisy answers become. Public numbers only."""

import asyncio
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.epsilon.advising.rule import MEMBERSHIP, VALUE
from dpsql.epsilon.databases.statistic import StudiedStatistic
from dpsql.epsilon.databases.universe import Universe
from dpsql.epsilon.noise.outputs import OutputKind
from dpsql.epsilon.risks import study as studies
from dpsql.policy.model import NoiseLevel, Period
from dpsql.web.choosing.policies import LEAST_POLICY_EPSILON, MOST_POLICY_EPSILON, POINTS, STAYS, rule_of
from dpsql.web.curves import Json, short
from dpsql.web.inputs import fraction, numbers, one_of, share
from dpsql.web.page_context import PageContext
from dpsql.web.sessions import Visitor

QUERIES = ("mean", "median", "variance", "std", "sum", "p90")
_PEOPLE = 10_000
"""How many people the page begins with, unless the table has rows for more."""


async def choose_page(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the page, with the visitor's own role as the example."""
    policy, role = context.site.policy, visitor.role
    tables = [t for t in policy.tables.values() if role.protects in t.units]
    largest = max(tables, key=lambda table: table.expected_rows or 0, default=None)
    rows = (largest and largest.expected_rows) or _PEOPLE
    max_rows = largest.units[role.protects].max_rows if largest else 1
    return context.page(
        request,
        "choose.html",
        visitor,
        kinds=sorted(policy.budgets),
        role=role,
        people=max(_PEOPLE, -(-rows // max_rows)),
        rows=rows,
        max_rows=max_rows,
        periods=[str(period) for period in Period],
        stays=STAYS,
        levels=[str(level) for level in NoiseLevel],
        outputs=[str(output) for output in OutputKind],
        membership=f"{float(100 * MEMBERSHIP):g}",
        value=f"{float(100 * VALUE):g}",
        queries=QUERIES,
    )


async def rule(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the rule for a role's total: what is acceptable, what a chosen ε means, levels, and the YAML."""
    return JSONResponse(await asyncio.to_thread(rule_of, request.query_params, context.site.policy, visitor.role))


async def study(request: Request, _: PageContext, __: Visitor) -> Response:
    """Return what one answer about a few people, typed in by the visitor, could reveal."""
    return JSONResponse(await asyncio.to_thread(_study, request.query_params))


def _study(given: Mapping[str, str]) -> Json:
    requirement = share(given, "study_risk")
    universe = Universe.of(numbers(given.get("values", "")))
    found = studies.study_risk(universe, StudiedStatistic.named(one_of(given, "query", QUERIES)), requirement)
    marks = [epsilon for epsilon in (found.epsilon_upper, found.epsilon_tight) if math.isfinite(epsilon)]
    chosen = fraction(given, "study_epsilon", Fraction(LEAST_POLICY_EPSILON), Fraction(MOST_POLICY_EPSILON))
    end = max(1.5 * max(marks, default=1.0), 1.2 * float(chosen))
    drawn = studies.risk_curve(found, [float(epsilon) for epsilon in np.linspace(0, end, POINTS)])
    upper, tight = studies.risks_at(found, float(chosen))
    return {
        "x": short(drawn.epsilons),
        "upper": short(drawn.upper),
        "tight": short(drawn.tight),
        "requirement": float(requirement),
        "epsilon": float(chosen),
        "upper_now": upper,
        "tight_now": tight,
        "epsilon_upper": _cut(found.epsilon_upper),
        "epsilon_tight": _cut(found.epsilon_tight),
        "noise_sensitivity": found.noise_sensitivity,
        "world_sensitivity": found.world_sensitivity,
    }


def _cut(epsilon: float) -> float | None:
    """Return the largest ε, rounded down to six digits so that it still meets the requirement; None if every ε does."""
    if not math.isfinite(epsilon):
        return None
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 5) if epsilon else 1.0
    return float(f"{math.floor(epsilon / step) * step:.6g}")
