"""The page Choose: how large ε may be, what that means, and how noisy answers become. Public numbers only."""

import asyncio
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.accounting.privacy_loss import show
from dpsql.epsilon import study as studies
from dpsql.epsilon.belief import belief_after, renewals
from dpsql.epsilon.levels import TARGETS, Output, expected_error, level_epsilon, rows_per_group
from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.rounding import down_to_digits
from dpsql.epsilon.rule import membership_epsilon, singling_out_epsilon
from dpsql.epsilon.statistic import Statistic
from dpsql.epsilon.universe import Universe
from dpsql.policy.model import NoiseLevel, Period
from dpsql.web.curves import Json, short
from dpsql.web.inputs import number, numbers, one_of, whole
from dpsql.web.rooms import Rooms
from dpsql.web.sessions import Visitor

QUERIES = ("mean", "median", "variance", "std", "sum", "p90")
_POINTS = 160
_LEAST, _MOST = Fraction(1, 10_000), Fraction(100)
_PERIODS = (1, 2, 3, 6, 12)
_SHARES = (Fraction(1, 1000), Fraction(999, 1000))


async def page(request: Request, rooms: Rooms, visitor: Visitor) -> Response:
    """Return the page, with the visitor's own role as the example."""
    policy, role = rooms.site.policy, visitor.role
    tables = [t for t in policy.tables.values() if role.protects in t.units]
    largest = max(tables, key=lambda table: table.expected_rows or 0, default=None)
    return rooms.page(
        request,
        "choose.html",
        visitor,
        kinds=sorted(policy.budgets),
        role=role,
        rows=(largest and largest.expected_rows) or 10_000,
        max_rows=largest.units[role.protects].max_rows if largest else 1,
        periods=[str(period) for period in Period],
        levels=[str(level) for level in NoiseLevel],
        queries=QUERIES,
    )


async def rule(request: Request, rooms: Rooms, _: Visitor) -> Response:
    """Return the rule for a role's total: what is acceptable, what a chosen ε means, levels, and the YAML."""
    return JSONResponse(_rule(request.query_params, frozenset(rooms.site.policy.budgets)))


async def study(request: Request, _: Rooms, __: Visitor) -> Response:
    """Return what one answer about a few people, typed in by the visitor, could reveal."""
    return JSONResponse(await asyncio.to_thread(_study, request.query_params))


def _rule(given: Mapping[str, str], kinds: frozenset[str]) -> Json:
    people = whole(given, "people", 2, 10**9)
    naming = singling_out_epsilon(people, number(given, "risk", *_SHARES))
    membership = membership_epsilon(number(given, "membership", *_SHARES))
    largest = min(naming, membership)
    chosen = number(given, "epsilon", _LEAST, _MOST) if given.get("epsilon") else largest
    end = 1.15 * float(max(chosen, min(naming, 20 * membership), membership))
    grid = [float(epsilon) for epsilon in np.linspace(0, end, _POINTS)]
    beliefs = [belief_after(Fraction(epsilon), people) for epsilon in grid]
    now = belief_after(chosen, people)
    levels = _levels(given, chosen)
    return {
        "naming_epsilon": float(naming),
        "membership_epsilon": float(membership),
        "largest": float(largest),
        "epsilon": float(chosen),
        "named": now.singled_out,
        "guess": now.membership,
        "x": short(grid),
        "naming": short([belief.singled_out for belief in beliefs]),
        "membership": short([belief.membership for belief in beliefs]),
        "levels": levels,
        "renewals": [
            {"periods": count, "epsilon": float(b.epsilon), "named": b.singled_out, "guess": b.membership}
            for count, b in zip(_PERIODS, renewals(chosen, people, _PERIODS), strict=True)
        ],
        "yaml": _yaml(given, kinds, chosen),
    }


def _levels(given: Mapping[str, str], chosen: Fraction) -> list[Json]:
    """Return for each noise level what a question costs and how many the total pays for."""
    rows = rows_per_group(whole(given, "rows", 1, 10**12), whole(given, "groups", 1, 10**6))
    contribution = whole(given, "max_rows", 1, 10**6)
    return [
        {
            "name": str(level),
            "target": float(TARGETS[level]),
            "epsilon": float(epsilon := _level(level, contribution, rows, chosen)),
            "error": expected_error(Output.COUNT, epsilon, contribution=contribution, rows=rows),
            "scale": float(contribution / epsilon),
            "questions": int(chosen / epsilon),
        }
        for level in NoiseLevel
    ]


def _level(level: NoiseLevel, contribution: int, rows: Fraction, cap: Fraction) -> Fraction:
    return level_epsilon(level, [Output.COUNT], contribution=contribution, rows=rows, cap=cap)


def _yaml(given: Mapping[str, str], kinds: frozenset[str], chosen: Fraction) -> str:
    """Return the lines of `config.yaml`."""
    name = given.get("role", "")
    if not (name.isidentifier() and name.isascii() and len(name) <= 63):
        raise BadInput("role must be a name of letters, digits and underscores")
    kind = one_of(given, "protects", tuple(sorted(kinds)))
    period = one_of(given, "period", tuple(Period))
    level = NoiseLevel(one_of(given, "noise", tuple(NoiseLevel)))
    rows = rows_per_group(whole(given, "rows", 1, 10**12), whole(given, "groups", 1, 10**6))
    each = _level(level, whole(given, "max_rows", 1, 10**6), rows, chosen)
    renewing = "" if period == Period.NEVER else f", period: {period}"
    return (
        f"roles:\n  {name}:\n    protects: {kind}\n"
        f"    budget: {{epsilon: {show(down_to_digits(chosen, 6))}{renewing}}}\n"
        f"    per_query: {{noise: {level}, epsilon: {show(down_to_digits(each, 6))}}}\n"
    )


def _study(given: Mapping[str, str]) -> Json:
    requirement = number(given, "risk", *_SHARES)
    universe = Universe.of(numbers(given.get("values", "")))
    found = studies.study(universe, Statistic.named(one_of(given, "query", QUERIES)), requirement)
    marks = [epsilon for epsilon in (found.epsilon_upper, found.epsilon_tight) if math.isfinite(epsilon)]
    chosen = number(given, "epsilon", _LEAST, _MOST)
    end = max(1.5 * max(marks, default=1.0), 1.2 * float(chosen))
    drawn = studies.curve(found, [float(epsilon) for epsilon in np.linspace(0, end, _POINTS)])
    upper, tight = studies.risks_at(found, float(chosen))
    return {
        "x": short(drawn.epsilons),
        "upper": short(drawn.upper),
        "tight": short(drawn.tight),
        "requirement": float(requirement),
        "epsilon": float(chosen),
        "upper_now": upper,
        "tight_now": tight,
        "epsilon_upper": short([found.epsilon_upper])[0],
        "epsilon_tight": short([found.epsilon_tight])[0],
        "noise_sensitivity": found.noise_sensitivity,
        "world_sensitivity": found.world_sensitivity,
    }
