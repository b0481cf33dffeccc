"""What `dpsql epsilon` prints: tables of risks, levels and advice."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from dpsql.epsilon.advice import Advice
from dpsql.epsilon.belief import Belief
from dpsql.epsilon.study import Study, person_risk_at, risks_at
from dpsql.policy.model import NoiseLevel


@dataclass(frozen=True, slots=True)
class OutputNoise:
    """The noise of one output of a statement."""

    output: str
    scale: float
    """Of the noise, in units of the output."""
    expected: float | None
    """The expected relative error; None where it is not known without data."""


@dataclass(frozen=True, slots=True)
class StatementNoise:
    """What a statement costs and how noisy its outputs are, by public numbers only."""

    level: NoiseLevel | None
    epsilon: Fraction
    outputs: tuple[OutputNoise, ...]


def show(*blocks: RenderableType) -> None:
    """Write blocks to the standard output."""
    console = Console(highlight=False)
    for block in blocks:
        console.print(block, soft_wrap=isinstance(block, str))


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
    """Return what can be believed after some ε."""
    table = _table(title, first, "ε", "one person is named", "a 50/50 guess becomes")
    for name, belief in beliefs:
        table.add_row(
            str(name), decimal(belief.epsilon), f"{100 * belief.singled_out:.4g} %", f"{100 * belief.membership:.4g} %"
        )
    return table


def advice_tables(advice: Advice) -> tuple[RenderableType, ...]:
    """Return budgets, errors, beliefs, renewals and what else the total would pay for."""
    wish = advice.wish
    budget = _table("Budget", "", "ε")
    budget.add_row(f"in {wish.days} days", decimal(advice.total))
    budget.add_row(f"for each of {wish.queries_per_day * wish.days} questions", decimal(advice.per_query))
    errors = _table("Expected error of a question", "question", "rows", "error")
    for example in advice.examples:
        shown = f"{100 * example.relative:.3g} %" if example.relative < 1 else "more than the answer itself"
        errors.add_row(example.question, f"{float(example.rows):g}", shown)
    levels = _table("Or fewer, better answers", "noise", "ε a question", "questions")
    for entry in advice.affordable:
        levels.add_row(str(entry.level), decimal(entry.epsilon), str(entry.questions))
    return (
        budget,
        errors,
        levels,
        belief_table("What can be believed at worst", "after", advice.beliefs),
        belief_table("If the budget renews", "periods", advice.renewals),
    )


def noise_table(noise: StatementNoise) -> Table:
    """Return what a statement costs and its noise."""
    title = f"ε = {decimal(noise.epsilon)}" + (f", {noise.level} noise" if noise.level else "")
    table = _table(title, "output", "noise scale", "expected error")
    for line in noise.outputs:
        # Text, not str: a name that the asker chose is not markup.
        expected = "–" if line.expected is None else f"{100 * line.expected:.3g} %"
        table.add_row(Text(line.output), f"{line.scale:.4g}", expected)
    return table


def decimal(value: Fraction) -> str:
    """Return an ε with at most six significant digits, rounded down so that it can be copied into a configuration."""
    digits = 5 - math.floor(math.log10(value)) if value < 1 else 5
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}".rstrip("0").rstrip(".")


def _epsilon(value: float) -> str:
    return "any" if math.isinf(value) else f"{value:.10g}"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", show_header=any(columns))
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    return table
