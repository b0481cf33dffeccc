"""What `dpsql epsilon noise` asks about a statement: EXPLAIN, as any client could, and free like it."""

import math
import re
from fractions import Fraction
from pathlib import Path

import dpsql
from dpsql.cli.support.epsilon_tables import OutputNoise, StatementNoise
from dpsql.policy.load import load

_TO_SCALE = math.log(20)
"""A Laplace scale b has the 95 % margin b·ln 20; the scale shown is that of Laplace noise with the same margin."""
_COST = re.compile(r"Private answer: ε = ([0-9.e+-]+)")
_OUTPUT = re.compile(r"Output (.+): ±([0-9.e+-]+) with 95 %(?:, about ([0-9.e+-]+) %)?$")


def planned(config: Path, role: str, statement: str) -> StatementNoise:
    """Return the cost and the noise of a statement for a role.

    Raises:
        ConfigError: the configuration can't be used.
    """
    level = load(config).policy.roles[role].noise if role in load(config).policy.roles else None
    with dpsql.connect(config, role=role) as connection:
        lines = [str(line) for (line,) in connection.execute(f"EXPLAIN {statement}".encode()).fetchall()]
    cost = _COST.match(lines[0])
    found = [match for line in lines if (match := _OUTPUT.search(line))]
    outputs = tuple(
        OutputNoise(m[1], float(m[2]) / _TO_SCALE, float(m[3]) / 100 / _TO_SCALE if m[3] else None) for m in found
    )
    return StatementNoise(level, Fraction(cost[1]) if cost else Fraction(0), outputs)
