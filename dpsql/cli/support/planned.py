"""The noise of a statement, for `dpsql epsilon noise`: from EXPLAIN, which is free."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import dpsql
from dpsql.cli.support.epsilon_tables import OutputNoise, StatementNoise
from dpsql.gateway.explaining.explained import ExplainedChoice, ExplainedOutput, explained
from dpsql.policy.load import load

_NAMES = {0.0: "min", 0.5: "median", 1.0: "max"}
_NOTHING = OutputNoise("–", "", "", "nothing can be said of these statistics before they are asked")
_READ_OFF = 7
"""Points are read off noisy counts where this many times the square of their number exceeds the number of buckets."""
_OUTER = 0.1
"""A quantile so near to an end has scores of whole ranks."""


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
    found = (*outputs(plan.outputs), *quantiles(plan.choices))
    return StatementNoise(level, Fraction(plan.epsilon), found or (_NOTHING,))


def outputs(found: Sequence[ExplainedOutput]) -> Iterator[OutputNoise]:
    """Yield what is read off noisy sums; shares are of what EXPLAIN compares with, which is no value of the data."""
    for one in found:
        share = "" if one.relative is None else f"{100 * one.relative:.3g} %"
        yield OutputNoise(one.name, f"± {one.margin:.6g} with 95 %", share, _compared(one))


def _compared(one: ExplainedOutput) -> str:
    """Return what a margin is a share of."""
    match one.name.partition("(")[0]:
        case _ if one.relative is None:
            return "in its own units, if the values lie in the middle of their bounds"
        case "count":
            return "of the rows that a group is expected to have"
        case "sum":
            return "of so many rows with values in the middle of their bounds"
        case _:
            return "of a value in the middle of its bounds"


def quantiles(found: Sequence[ExplainedChoice]) -> Iterator[OutputNoise]:
    """Yield what is chosen among buckets: the error is one of rank, and too small groups are NULL."""
    for one in found:
        # Many points are read off noisy counts of all buckets, with an error of another kind.
        chooses = len(one.points) == 1 or _READ_OFF * len(one.points) ** 2 <= one.buckets
        for point in one.points:
            error = f"± {_ranks(point, one):,.0f} ranks with 95 %" if chooses else ""
            name = f"{_NAMES.get(point, f'{point:g}-quantile')}({one.of.expression})"
            yield OutputNoise(name, error, "", f"mostly NULL in groups of far fewer than {one.enough:,} rows")


def _ranks(point: float, one: ExplainedChoice) -> float:
    """Return how far off the chosen rank may be, where `enough` is what `privacy.quantile.depth` says.

    With 95 % the choice misses by less than so many steps of its score, of which each is max(q, 1 − q) of a rank, and a whole
    one near the ends. For an extreme `enough` is ln(8)·5/3 scales of noise, and it may miss by ln(20·buckets)·5/2 of them.
    """
    if point in (0, 1):
        return one.enough * math.log(20 * one.buckets) * 2.5 / (math.log(8) * 5 / 3)
    outer = min(point, 1 - point) <= _OUTER
    return one.enough * (1.0 if outer else max(point, 1 - point))
