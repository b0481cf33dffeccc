"""The C that follows from a ladder of lengths is near the best one, where units are in many groups and where not."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import isqrt, sqrt
from statistics import median

import numpy as np
import pytest

from dpsql.accounting.zcdp import rho_of
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.pricing import in_euclidean_norm
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit, cells_of
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.noisy_ladder import chosen_by
from tests.support.exactness import plans
from tests.support.fix_policy import with_chosen_rows
from tests.support.fix_world import World
from tests.support.memory import Memory

EPSILON = Fraction(1)


@pytest.fixture(scope="module")
def counted(policy: Policy, world: World) -> Sums:
    """A count by two hundred groups, whose C is chosen."""
    engine, chosen = Memory(policy), with_chosen_rows(policy, "rides", "passenger")
    (plan,) = plans("SELECT age, count(*) FROM rides WHERE age < 200 GROUP BY age", chosen, world, engine)
    engine.close()
    (part,) = in_euclidean_norm(plan, EPSILON).parts
    assert isinstance(part, Sums)
    return replace(part, epsilon=Fraction(98, 100))


def _lost(units: Sequence[tuple[int, int]], most: int) -> float:
    return sum(rows * max(1 - most / length, 0.0) for length, rows in units)


def _error(units: Sequence[tuple[int, int]], most: int, groups: int, sigma: float) -> float:
    """Return about how far a group is off: by what is lost of it, and by noise."""
    return sqrt((_lost(units, most) / groups) ** 2 + (most * sigma) ** 2)


def _length(rows: Sequence[int]) -> tuple[int, int]:
    return isqrt(sum(n * n for n in rows) - 1) + 1, sum(rows)


WORLDS = {
    "scattered": [_length([1] * n) for n in range(1, 101) for _ in range(40)],
    "alike": [_length([n]) for n in (1, 2, 3, 5, 8) for _ in range(800)],
    "one row each": [_length([1])] * 20_000,
    "heavy": [_length([1 + k % 3] * n) for k, n in enumerate([5] * 3_000 + [90] * 900 + [100] * 200)],
}


@pytest.mark.parametrize("name", WORLDS)
def test_it_is_near_the_best(name: str, counted: Sums) -> None:
    """At the median of 40 draws the error is 2.5 times that of the best C in hindsight at most, and what is cut is told."""
    units, groups = WORLDS[name], max(len(counted.groups.grouped), 1)
    search = RowsPerUnit(counted, epsilon=Fraction(1, 5))
    assert search.is_by_length
    exact = np.array(cells_of(search.rungs, groups, [(*unit, 1) for unit in units]), dtype=np.float64)
    sigma, draw = sqrt(1 / (2 * float(rho_of(counted.epsilon)))), np.random.default_rng(5)
    best = min(_error(units, c, groups, sigma) for c in (1, 2, 4, 8, 16, 32, 64, 128))
    errors, told = [], 0
    for _ in range(40):
        noisy = exact + draw.laplace(0, float(search.scale), len(exact))
        chosen = chosen_by(search, [round(cell) for cell in noisy], counted, groups)
        errors.append(_error(units, chosen.rows, groups, sigma))
        told += chosen.cut + chosen.doubt + 3 * groups * chosen.rows * sigma >= _lost(units, chosen.rows)
    assert median(errors) <= 2.5 * best
    assert told >= 36
