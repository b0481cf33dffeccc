"""What `dpsql epsilon noise` asks about a statement: EXPLAIN, as any client could, and free like it."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import dpsql
from dpsql.cli.support.epsilon_tables import OutputNoise, StatementNoise
from dpsql.policy.load import load

_COST = re.compile(r"Private answer: ε = ([0-9.e+-]+)")
_OUTPUT = re.compile(r"Output (.+): ±([0-9.e+-]+) with 95 %(?:, about ([0-9.e+-]+) %)?$")
_POINTS = re.compile(r"Points ([0-9., ]+) of (.+) among ([0-9,]+) buckets of \[(.+)\]$")
_READ_OFF = 7
"""So many times the square of the number of points are more than the buckets, where they are read off noisy counts."""
_OUTER = 0.1
"""A quantile so near to an end has scores of whole ranks."""
_ENOUGH = re.compile(r"Mostly NULL in groups of far fewer than ([0-9,]+) rows$")


def planned(config: Path, role: str, statement: str) -> StatementNoise:
    """Return the cost and the noise of a statement for a role.

    Raises:
        ConfigError: the configuration can't be used.
    """
    level = load(config).policy.roles[role].noise if role in load(config).policy.roles else None
    with dpsql.connect(config, role=role) as connection:
        lines = [str(line) for (line,) in connection.execute(f"EXPLAIN {statement}".encode()).fetchall()]
    cost = _COST.match(lines[0])
    found = (*outputs(lines), *quantiles(lines))
    return StatementNoise(level, Fraction(cost[1]) if cost else Fraction(0), found or (_NOTHING,))


_NOTHING = OutputNoise("–", "", "", "nothing can be said of these statistics before they are asked")


def outputs(lines: Sequence[str]) -> Iterator[OutputNoise]:
    """Give what is read off noisy sums; shares are of what EXPLAIN compares with, which is no value of the data."""
    for line in lines:
        if found := _OUTPUT.search(line):
            name, margin, share = found.groups()
            yield OutputNoise(name, f"± {margin} with 95 %", f"{share} %" if share else "", _compared(name, share))


def _compared(name: str, share: str | None) -> str:
    """Return what a margin is a share of."""
    match name.partition("(")[0]:
        case _ if share is None:
            return "in its own units, if the values lie in the middle of their bounds"
        case "count":
            return "of the rows that a group is expected to have"
        case "sum":
            return "of so many rows with values in the middle of their bounds"
        case _:
            return "of a value in the middle of its bounds"


def quantiles(lines: Sequence[str]) -> Iterator[OutputNoise]:
    """Give what is chosen among buckets: the error is one of rank, and too small groups are NULL."""
    for line, after in pairwise(lines):
        chosen, least = _POINTS.search(line), _ENOUGH.search(after)
        if not (chosen and least):
            continue
        points, rows = chosen[1].split(", "), _whole(least[1])
        # Many points are read off noisy counts of all buckets, with an error of another kind.
        chooses = len(points) == 1 or _READ_OFF * len(points) ** 2 <= _whole(chosen[3])
        for point in points:
            error = f"± {_ranks(float(point), rows):,.0f} ranks with 95 %" if chooses else ""
            yield OutputNoise(
                _named(point, chosen[2]), error, "", f"mostly NULL in groups of far fewer than {rows:,} rows"
            )


def _named(point: str, value: str) -> str:
    names = {"0": "min", "0.5": "median", "1": "max"}
    return f"{names.get(point, f'{point}-quantile')}({value})"


def _ranks(point: float, enough: int) -> float:
    """Return how far off the chosen rank may be, where `enough` is what `privacy.quantile.depth` says.

    With 95 % the choice misses by less than so many steps of its score, of which each is max(q, 1 − q) of a rank, and a whole
    one near the ends; an extreme is looked for so far inside, and missed by as much again.
    """
    outer = min(point, 1 - point) <= _OUTER
    return 2.0 * enough if point in (0, 1) else enough * (1.0 if outer else max(point, 1 - point))


def _whole(text: str) -> int:
    return int(text.replace(",", ""))
