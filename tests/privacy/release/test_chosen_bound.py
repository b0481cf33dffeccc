"""The C that is chosen is nearly as good as the best in hindsight, whatever rows units have; no noise makes it fail."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.features.feature import ONE
from dpsql.privacy.features.readout import Readout
from dpsql.privacy.measurement.plan import as_chosen
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import SHARE, RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.chosen_bound import chosen_bound
from dpsql.privacy.release.exact import ExactCells
from dpsql.privacy.release.noisy_ladder import NoisyLadder
from dpsql.privacy.release.release import release_cells
from dpsql.rewrite.translate.rows.aggregates import Moment
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory

_RUNS = 60


@cache
def _units() -> Mapping[str, Sequence[int]]:
    """Return how many rows each unit has: like the demo's trips, few and many of equal size, and a heavy tail."""
    draw = np.random.default_rng(5)
    spread = draw.lognormal(1.3, 1.1, 100_000)
    return {
        "regulars": np.maximum(spread, 1).astype(int).tolist(),
        "few rows": np.maximum(spread[:3_000] / 8, 1).astype(int).tolist(),
        "one row": [1] * 20_000,
        "alike": (draw.poisson(6, 50_000) + 1).tolist(),
        "heavy": np.minimum(draw.pareto(1.6, 100_000) + 1, 20_000).astype(int).tolist(),
        "nobody": [],
    }


@pytest.fixture(scope="module")
def counted(policy: Policy, world: World) -> Sums:
    """Give a count whose C is to be chosen."""
    engine = Memory(policy)
    (sums,) = measurements("SELECT count(*) FROM rides", policy, world, engine)
    engine.close()
    assert isinstance(sums, Sums)
    return replace(sums, bound=replace(sums.bound, up_to=2**20))


def _cells(search: RowsPerUnit, units: Sequence[int]) -> list[int]:
    counts = Counter(units)
    below = {n: max((place for place, rung in enumerate(search.rungs) if rung < n), default=-1) for n in counts}
    return search.cells([(below[n], number, number * n) for n, number in counts.items()])


def _error(units: Sequence[int], rows: int, epsilon: float) -> float:
    """Return the typical error of a count: what is taken off, and noise."""
    return float(np.hypot(np.maximum(np.array(units, dtype=float) - rows, 0).sum(), np.sqrt(2) * rows / epsilon))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10), Fraction(1, 100)])
@pytest.mark.parametrize("kind", ["regulars", "few rows", "one row", "alike", "heavy"])
def test_it_is_nearly_the_best(kind: str, epsilon: Fraction, counted: Sums) -> None:
    """The typical error is within four times the least that any C has: six where tails are heavy and ε is little.

    Of one row each three count, as nothing tells that nobody has more.
    """
    units, search = _units()[kind], RowsPerUnit(counted, epsilon / (SHARE + 1))
    draw, exact = np.random.default_rng(11), _cells(search, units)
    size = float(search.scale)
    paid = float(epsilon * SHARE / (SHARE + 1))
    errors = []
    for _ in range(_RUNS):
        noisy = [round(cell + draw.laplace(0, size)) for cell in exact]
        errors.append(_error(units, chosen_bound(NoisyLadder.of(search, noisy), counted).rows, paid))
    best = min(_error(units, rung, float(epsilon)) for rung in search.rungs)
    assert np.median(errors) <= best * (6 if kind == "heavy" else 4)


COVERED = [(kind, epsilon) for kind in ("regulars", "few rows", "one row", "alike") for epsilon in (1, 10, 100)]


@pytest.mark.parametrize(("kind", "epsilon"), [c for c in COVERED if c != ("few rows", 10)])
@pytest.mark.parametrize("runs", [300, pytest.param(2_000, marks=pytest.mark.slow)])
def test_margins_cover_the_count_of_all_rows(kind: str, epsilon: int, runs: int, counted: Sums) -> None:
    """Noise, and what the chosen C takes off: in 93.5 of 100 answers at least.

    Where few units have a few rows more than the others, and none of them can be seen, they do not.
    """
    units, search = _units()[kind], RowsPerUnit(counted, Fraction(1, epsilon * (SHARE + 1)))
    draw, exact, size = np.random.default_rng(13), _cells(search, units), float(search.scale)
    measured = replace(counted, epsilon=search.epsilon * SHARE)
    kept = {rung: int(np.minimum(units, rung).sum()) for rung in search.rungs}
    errors, margins = [], []
    for _ in range(runs):
        chosen = chosen_bound(NoisyLadder.of(search, [round(cell + draw.laplace(0, size)) for cell in exact]), measured)
        sums = as_chosen(measured, chosen.rows)
        assert isinstance(sums, Sums)
        noise = draw.laplace(0, sums.scale / sums.steps_per_row)
        margin = Margins.of(sums, chosen.cut).shown(Readout(Moment("count", ()), ONE), {ONE: 0.0})
        assert margin is not None
        errors.append(abs(kept[chosen.rows] + noise - sum(units)))
        margins.append(margin)
    covered = np.mean(np.array(errors) <= np.array(margins))
    assert covered >= (0.935 if runs > 1_000 else 0.91)
    assert np.median(margins) <= 2.5 * np.quantile(errors, 0.95) + 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 7), Fraction(2), Fraction(50)])
def test_the_cells_have_the_noise_that_is_claimed(epsilon: Fraction, counted: Sums) -> None:
    """Of the scale sensitivity/ε, where that is what the ledger is charged: its mean size is that, and not half of it."""
    search = RowsPerUnit(counted, epsilon)
    noisy = release_cells(search, ExactCells([0] * 4_000), np.random.default_rng(3).bytes).numbers[0]
    assert PricedMeasurement(search, "", "").cost.epsilon == epsilon
    assert np.mean(np.abs(np.array(noisy, dtype=float))) == pytest.approx(float(search.sensitivity / epsilon), rel=0.08)


def test_nothing_is_seen_of_nobody(counted: Sums) -> None:
    """Where there seems to be nobody a unit counts with a row or two."""
    search = RowsPerUnit(counted, Fraction(1, 5))
    assert chosen_bound(NoisyLadder.of(search, [0] * len(search.rungs)), counted).rows <= 3


def test_more_groups_take_less(counted: Sums) -> None:
    """What is taken off is spread over groups, each of which has all of the noise."""
    search = RowsPerUnit(counted, Fraction(1, 50))
    exact = _cells(search, _units()["regulars"])
    ladder = NoisyLadder.of(search, exact)
    assert chosen_bound(ladder, counted, 200).rows < chosen_bound(ladder, counted).rows


@pytest.mark.parametrize("cell", [0, 2**200, -(2**200), 1])
def test_no_noise_makes_it_fail(cell: int, counted: Sums) -> None:
    """It is post-processing: whatever was released, there is a C on the ladder, and something that it takes off."""
    for end in (1, 2, 7, 2**20, 2**40):
        search = RowsPerUnit(replace(counted, bound=replace(counted.bound, up_to=end)), Fraction(1, 10**6))
        for cells in ([cell] * len(search.rungs), [cell, *[-cell] * (len(search.rungs) - 1)]):
            chosen = chosen_bound(NoisyLadder.of(search, cells), counted)
            assert chosen.rows in search.rungs
            assert chosen.cut >= 0
