"""The tables that `dpsql epsilon` prints: risks, levels and advice."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dpsql.epsilon.advising.advice import Advice, Affordable, Example
from dpsql.epsilon.advising.belief import Belief
from dpsql.epsilon.advising.lines import decimal
from dpsql.epsilon.advising.plan import EpsilonPlan
from dpsql.epsilon.advising.promises import Promises
from dpsql.epsilon.noise.outputs import OutputKind, is_answered, share_of
from dpsql.epsilon.risks.study import Study, person_risk_at, risks_at
from dpsql.epsilon.rounding import percent
from dpsql.policy.model import NoiseLevel
from dpsql.privacy.accuracy.dashboards import Dashboard


@dataclass(frozen=True, slots=True)
class OutputNoise:
    """How far one output of a statement may be off, in words."""

    output: str
    error: str
    """In units of the output."""
    share: str
    """As a share."""
    of: str
    """The whole that it is a share of; or why there is none."""


@dataclass(frozen=True, slots=True)
class StatementNoise:
    """The cost of a statement and the noise of its outputs, by public numbers only."""

    level: NoiseLevel | None
    epsilon: Fraction
    outputs: tuple[OutputNoise, ...]


def study_tables(result: Study, epsilons: Iterable[float]) -> tuple[RenderableType, ...]:
    """Return the study's numbers and the risks at some ε."""
    universe = result.universe
    facts = _table(f"Disclosure risk: {universe.people} people, {universe.missing} missing", "", "")
    rows = (
        ("worlds", f"{universe.worlds:.6g}"),
        ("a blind guess", f"{float(result.prior):.6g}"),
        ("Δf, which the noise is scaled with", f"{result.noise_sensitivity:.10g}"),
        ("Δv, how far two worlds lie apart", f"{result.world_sensitivity:.10g}"),
        (f"ε from the upper bound, risk {float(result.requirement):.4g}", _epsilon(result.epsilon_upper)),
        (f"ε from the tight bound, risk {float(result.requirement):.4g}", _epsilon(result.epsilon_tight)),
    )
    for row in rows:
        facts.add_row(*row)
    asked = [epsilon for epsilon in epsilons if math.isfinite(epsilon)]
    if not asked:
        return (facts,)
    several = universe.missing > 1
    risks = _table("Largest posterior", "ε", "upper bound", "tight bound", *(["of one person"] if several else []))
    for epsilon in asked:
        person = person_risk_at(result, epsilon) if several else None
        shown = [f"{person.risk:.6g}" if person else "–"] if several else []
        risks.add_row(_epsilon(epsilon), *(f"{value:.10g}" for value in risks_at(result, epsilon)), *shown)
    return facts, risks


def belief_table(title: str, first: str, beliefs: Iterable[tuple[object, Belief]]) -> Table:
    """Return what can be inferred after some ε."""
    headings = ("re-identification", "membership inference", "attribute inference")
    table = _table(title, first, "ε", *headings)
    for name, belief in beliefs:
        shares = (belief.singled_out, belief.membership, belief.value)
        table.add_row(str(name), decimal(belief.epsilon), *map(percent, shares))
    return table


def binding_line(promises: Promises) -> str:
    """Return which promises decide, and what the others would allow."""
    limits, binding = promises.limits(), promises.binding()
    others = [
        f"{promise.risk} alone would allow {decimal(limit)}"
        for promise, limit in limits.items()
        if promise not in binding
    ]
    return "; ".join([f"Limited by: {' and '.join(promise.risk for promise in binding)}", *others]) + "."


def advice_tables(advice: Advice) -> tuple[RenderableType, ...]:
    """Return budgets, errors, beliefs, renewals and what else the budget would pay for."""
    wish, plan = advice.wish, advice.plan
    budget = _table("Budget", "", "ε")
    stay = "for good" if wish.stay is None else f"{wish.stay:,} days"
    budget.add_row(f"while a person is there, {stay}", decimal(plan.total))
    if plan.periods > 1:
        budget.add_row(f"each {plan.period}; they may be there in {plan.periods:,}", decimal(plan.each))
    budget.add_row(f"for each of {wish.questions:,} questions", decimal(advice.per_query))
    errors = _table("Expected error of one question", "question", "rows", "error", "")
    for example in advice.examples:
        where = "all rows" if example.groups == 1 else f"one of {example.groups:,} groups"
        errors.add_row(
            f"{example.output.upper()}, {where}",
            f"{float(example.rows):,.6g}",
            *_relative_words(example),
        )
    levels = _table("Or fewer, better answers: per_query: {noise: …}", "questions, ε and error of each", *NoiseLevel)
    for output, entries in advice.affordable.items():
        levels.add_row(output.upper(), *map(_affordable, entries.values()))
    blocks = [budget, errors, levels, belief_table("Worst-case inference", "after", advice.beliefs)]
    if plan.periods > 1:
        counts = [(_stay_mark(plan, count), belief) for count, belief in plan.milestones()]
        blocks.append(belief_table(f"As the budget renews each {plan.period}", "periods", counts))
    return tuple(blocks)


def dashboard_table(advice: Advice, of_rho: Dashboard) -> Table:
    """Return the errors of the same questions where ε adds up, and where ρ is counted."""
    spread = [f"ρ, a person in {of_rho.in_groups:,} groups"] if any(one.spread for one in of_rho.compared) else []
    title = f"A dashboard of {advice.wish.questions:,} questions by {advice.wish.size.groups:,} groups: expected errors"
    table = _table(title, "question", "pure ε", "ρ counted", *spread, "times nearer")
    for one in of_rho.compared:
        errors = [one.pure, one.of_rho, *([one.of_rho if one.spread is None else one.spread] if spread else [])]
        table.add_row(one.output.upper(), *map(_share, errors), f"{one.nearer:.2g}")
    return table


def _share(error: float) -> str:
    return f"{100 * error:.3g} %" if error <= 1 else "only noise"


def _affordable(entry: Affordable) -> str:
    if not entry.answered:
        return "says nothing"
    less = "" if entry.reached else "only "
    return f"{entry.questions:,} at {_short(entry.epsilon)}, {less}{100 * entry.error:.2g} %"


def _short(epsilon: Fraction) -> str:
    return f"{float(epsilon):.3g}"


def _relative_words(example: Example) -> tuple[str, str]:
    """Return an expected error, and what it is a share of."""
    if example.answered:
        return f"{100 * example.error:.3g} %", "of the answer"
    return ("mostly NULL", "too few rows") if example.output is OutputKind.MEDIAN else ("only noise", "")


def _stay_mark(plan: EpsilonPlan, count: int) -> str:
    return (
        f"{count:,}"
        + (", all of a stay" if count == plan.periods else "")
        + (", twice as long" if count > plan.periods else "")
    )


def error_words(output: OutputKind, error: float) -> tuple[str, str]:
    """Return an expected error and what it is a share of."""
    if is_answered(output, error):
        return f"{100 * error:.3g} %", share_of(output)
    return ("mostly NULL", "too few rows") if output is OutputKind.MEDIAN else ("only noise", "")


def noise_table(noise: StatementNoise) -> Table:
    """Return what a statement costs and its noise."""
    title = f"ε = {decimal(noise.epsilon, 3)}" + (f", {noise.level} noise" if noise.level else "")
    table = _table(title, "output", "error", "share", "of what")
    for line in noise.outputs:
        # Text, not str: a name that the asker chose is not markup.
        table.add_row(Text(line.output), line.error, line.share, Text(line.of))
    return table


def _epsilon(value: float) -> str:
    return "any" if math.isinf(value) else f"{value:.10g}"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", show_header=any(columns))
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    return table
