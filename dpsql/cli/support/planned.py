"""The noise of a statement, for `dpsql epsilon noise`: from EXPLAIN, which is free."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import dpsql
from dpsql.cli.support.epsilon_tables import OutputNoise, StatementNoise
from dpsql.gateway.explaining.explained import ExplainedChoice, ExplainedOutput, explained
from dpsql.policy.load import load

_NAMES = {0.0: "min", 0.5: "median", 1.0: "max"}
_NOTHING = OutputNoise("–", "", "", "nothing can be said of these statistics before they are asked")
RANKS = "ranks"
"""The unit of what is chosen and not summed."""


def planned(config: Path, role: str, statement: str) -> StatementNoise:
    """Return the cost and the noise of a statement for a role.

    Raises:
        ConfigError: the configuration can't be used.
    """
    level = load(config).policy.roles[role].noise if role in load(config).policy.roles else None
    with dpsql.connect(config, role=role) as connection:
        plan = explained(connection, statement)
    if plan is None:
        return StatementNoise(level, Fraction(0), (_NOTHING,))
    ranks = {output.name: output.margin for output in plan.outputs if output.unit == RANKS}
    lines = (*outputs([output for output in plan.outputs if output.unit != RANKS]), *quantiles(plan.choices, ranks))
    return StatementNoise(level, Fraction(plan.epsilon), lines or (_NOTHING,))


def outputs(outputs_planned: Sequence[ExplainedOutput]) -> Iterator[OutputNoise]:
    """Yield what is read off noisy sums; shares are of what EXPLAIN compares with, which is no value of the data."""
    for output in outputs_planned:
        share = "" if output.relative is None else f"{100 * output.relative:.3g} %"
        yield OutputNoise(
            output.name, f"± {output.margin:.6g} {output.unit}".rstrip(" ,") + " with 95 %", share, _compared(output)
        )


def _compared(output: ExplainedOutput) -> str:
    """Return what a margin is a share of."""
    match output.name.partition("(")[0]:
        case _ if output.relative is None:
            return "in its own units, if the values lie in the middle of their bounds"
        case "count":
            return "of the rows that a group is expected to have"
        case "sum":
            return "of so many rows with values in the middle of their bounds"
        case _:
            return "of a value in the middle of its bounds"


def quantiles(choices: Sequence[ExplainedChoice], ranks: Mapping[str, float]) -> Iterator[OutputNoise]:
    """Yield what is chosen among buckets: `ranks` says by how many it may be off, and too small groups are NULL."""
    for choice in choices:
        for point in choice.points:
            name = f"{_NAMES.get(point, f'{point:g}-quantile')}({choice.of.expression})"
            off = _extreme_ranks(choice) if point in (0, 1) else ranks.get(name)
            error = "" if off is None else f"± {off:,.0f} ranks with 95 %"
            yield OutputNoise(name, error, "", f"mostly NULL in groups of far fewer than {choice.enough:,} rows")


def _extreme_ranks(choice: ExplainedChoice) -> float:
    """Return how far off an extreme's rank may be: ln(20·buckets)·5/2 scales of noise, of which `enough` is ln(8)·5/3."""
    return choice.enough * math.log(20 * choice.buckets) * 2.5 / (math.log(8) * 5 / 3)
