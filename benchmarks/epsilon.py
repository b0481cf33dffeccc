"""How the disclosure study scales: `python -m benchmarks.epsilon`.

Claims: 10,000 people in less than 1 second, 1,000,000 in less than 10, sensitivities, worlds and search together.
"""

import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from dpsql.epsilon.databases.statistic import Floats, StudiedStatistic, Universe
from dpsql.epsilon.risks.study import person_risk_at, study_risk

STATISTICS = ("mean", "sum", "median", "p90", "variance", "stddev")
LIMITS = {10_000: 1.0, 1_000_000: 10.0}
_THIRD = Fraction(1, 3)


def main() -> None:
    """Print the seconds of each study; end with 1 if a claim does not hold."""
    table = Table("people", "missing", "statistic", "seconds", "claim")
    slow = False
    for people, limit in LIMITS.items():
        values = np.random.default_rng(1).lognormal(3, 1, people)
        for name in STATISTICS:
            seconds = _timed(partial(_one, values, name))
            slow |= seconds > limit
            table.add_row(f"{people:,}", "1", name, f"{seconds:.2f}", f"< {limit:g}")
    ages = np.random.default_rng(2).normal(60, 12, 10_000).clip(18, 100).round()
    for missing in (2, 5):
        seconds = _timed(partial(_several, ages, missing))
        slow |= seconds > LIMITS[10_000]
        table.add_row("10,000", str(missing), "mean, one person", f"{seconds:.2f}", "< 1")
    Console().print(table)
    sys.exit(slow)


def _one(values: Floats, name: str) -> None:
    study_risk(Universe.of(values), StudiedStatistic.named(name), _THIRD)


def _several(ages: Floats, missing: int) -> None:
    person_risk_at(study_risk(Universe.of(ages, missing), StudiedStatistic.named("mean"), _THIRD), 1.0)


def _timed(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


if __name__ == "__main__":
    main()
