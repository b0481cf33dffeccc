"""What is read off a noisy ladder: the C that follows, what it takes off, and how far that may be wrong."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.features.feature import ONE, Readout
from dpsql.privacy.measurement.plan import as_chosen
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import SHARE, RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import ExactCells
from dpsql.privacy.release.noisy_ladder import NoisyLadder, powers_of_two
from dpsql.privacy.release.release import release_cells
from dpsql.rewrite.translate.rows.aggregates import Moment
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory

_RUNS = 60
RUNGS = tuple(4**power for power in range(11))


@cache
def _units() -> Mapping[str, Sequence[int]]:
    """Return how many rows each unit has: like the demo's trips, few and many of equal size, heavy tails, few heavy units."""
    draw = np.random.default_rng(5)
    spread = draw.lognormal(1.3, 1.1, 100_000)
    return {
        "regulars": np.maximum(spread, 1).astype(int).tolist(),
        "few rows": np.maximum(spread[:3_000] / 8, 1).astype(int).tolist(),
        "one row": [1] * 20_000,
        "alike": (draw.poisson(6, 50_000) + 1).tolist(),
        "heavy": np.minimum(draw.pareto(1.6, 100_000) + 1, 20_000).astype(int).tolist(),
        "customers": [*[1] * 1_200, *[4] * 60, *[20] * 13, *[80] * 4, 300, 600],
        "planes": draw.integers(20, 160, 53).tolist(),
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
    return search.cells([*Counter(units).items()])


def _drawn(search: RowsPerUnit, units: Sequence[int], number: int) -> Iterator[NoisyLadder]:
    """Yield what may be released of units, where nobody says how many rows to expect."""
    draw, exact, size = np.random.default_rng(11), _cells(search, units), float(search.scale)
    for _ in range(number):
        ladder = NoisyLadder.of(search, [round(cell + draw.laplace(0, size)) for cell in exact])
        yield replace(ladder, expected_rows=None)


def _error(units: Sequence[int], rows: int, epsilon: float) -> float:
    """Return the typical error of a count: what is taken off, and noise."""
    return float(np.hypot(np.maximum(np.array(units, dtype=float) - rows, 0).sum(), np.sqrt(2) * rows / epsilon))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10), Fraction(1, 100)])
@pytest.mark.parametrize("kind", ["regulars", "few rows", "one row", "alike", "heavy"])
def test_it_is_nearly_the_best(kind: str, epsilon: Fraction, counted: Sums) -> None:
    """The typical error is within four times the least that any C has: six where tails are heavy and ε is little.

    Of one row each two count, as nothing tells that nobody has more.
    """
    units, search = _units()[kind], RowsPerUnit(counted, epsilon / (SHARE + 1))
    paid = float(epsilon * SHARE / (SHARE + 1))
    errors = [_error(units, ladder.chosen(counted).rows, paid) for ladder in _drawn(search, units, _RUNS)]
    best = min(_error(units, rows, float(epsilon)) for rows in powers_of_two(search.rungs[-1]))
    assert np.median(errors) <= best * (6 if kind == "heavy" else 4)


def test_few_heavy_units_are_seen(counted: Sums) -> None:
    """53 planes with up to 160 flights each, at ε = 1: on finer rungs each cell was within its noise, and 96 % were lost."""
    units, search = _units()["planes"], RowsPerUnit(counted, Fraction(1, SHARE + 1))
    rows = [ladder.chosen(counted).rows for ladder in _drawn(search, units, _RUNS)]
    kept = [np.minimum(units, most).sum() / sum(units) for most in rows]
    assert np.median(kept) >= 0.9


@pytest.mark.parametrize("people", [200, 3_740, 20_000])
def test_one_row_each_has_no_tail(people: int, counted: Sums) -> None:
    """Where each has one row, and nothing says so, noise is hardly ever taken for units with many."""
    search = RowsPerUnit(counted, Fraction(1, SHARE + 1))
    rows = [ladder.chosen(counted).rows for ladder in _drawn(search, [1] * people, 2_000)]
    assert np.median(rows) == 2
    assert np.mean(np.array(rows) >= 128) < 0.01
    assert np.mean(np.array(rows) >= 2_048) < 0.002


COVERED = [(kind, epsilon) for kind in ("regulars", "few rows", "one row", "alike") for epsilon in (1, 10, 100)]


@pytest.mark.parametrize(("kind", "epsilon"), [c for c in COVERED if c != ("few rows", 10)])
@pytest.mark.parametrize("runs", [300, pytest.param(2_000, marks=pytest.mark.slow)])
def test_margins_cover_the_count_of_all_rows(kind: str, epsilon: int, runs: int, counted: Sums) -> None:
    """Noise, and what the chosen C takes off: in 93.5 of 100 answers at least, or it is said that there are too few units.

    Where few units have a few rows more than the others, and none of them can be seen, they do not.
    """
    units, search = _units()[kind], RowsPerUnit(counted, Fraction(1, epsilon * (SHARE + 1)))
    draw, measured = np.random.default_rng(13), replace(counted, epsilon=search.epsilon * SHARE)
    errors, margins, silent = [], [], 0
    for ladder in _drawn(search, units, runs):
        chosen = ladder.chosen(measured)
        sums = as_chosen(measured, chosen.rows)
        assert isinstance(sums, Sums)
        noise = draw.laplace(0, sums.scale / sums.steps_per_row)
        margin = Margins.of(sums, chosen.cut + chosen.doubt).shown(Readout(Moment("count", ()), ONE), {ONE: 0.0})
        assert margin is not None
        errors.append(abs(int(np.minimum(units, chosen.rows).sum()) + noise - sum(units)))
        margins.append(margin)
        silent += errors[-1] > margin and not chosen.few
    assert silent / runs <= (0.065 if runs > 1_000 else 0.09)
    few = sum(units) < 10_000 * epsilon  # then margins are wide, and it is said that nobody knows
    assert few or np.median(margins) <= 2.5 * np.quantile(errors, 0.95) + 1


@pytest.mark.parametrize(
    ("people", "epsilon", "few"), [(20_000, 1, False), (2_000, 1, False), (20, 1, True), (200, 10, True)]
)
def test_it_is_said_that_units_are_few(people: int, epsilon: int, few: bool, counted: Sums) -> None:
    """Where those that might have gone unseen have as many rows as half of all that count."""
    search = RowsPerUnit(counted, Fraction(1, epsilon * (SHARE + 1)))
    said = [ladder.chosen(counted).few for ladder in _drawn(search, [1] * people, _RUNS)]
    assert np.mean(said) > 0.9 if few else np.mean(said) < 0.1


@pytest.mark.parametrize("rows", [0, 4, 16])
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1)])
def test_what_a_bound_takes_off_is_within_its_reach(rows: int, epsilon: Fraction, counted: Sums) -> None:
    """In 93.5 of 100 cases at least, and the reach is no more than four times as wide as errors are."""
    units = [min(n, 1024) for n in _units()["regulars"][:20_000]]
    truth, errors, reaches = sum(max(n - rows, 0) for n in units), [], []
    for ladder in _drawn(RowsPerUnit(counted, epsilon), units, 400):
        errors.append(abs(ladder.cut(rows) - truth))
        reaches.append(ladder.reach(rows))
    assert np.mean(np.array(errors) <= np.array(reaches)) >= 0.92
    assert np.median(reaches) <= 4 * np.quantile(errors, 0.95)


def test_it_is_said_where_many_rows_are_a_few_units(counted: Sums) -> None:
    """Nineteen customers have half of the rows, and cannot be seen: margins do not cover them, and who asks hears of it."""
    search, units = RowsPerUnit(counted, Fraction(1) / (SHARE + 1)), _units()["customers"]
    chosen = [ladder.chosen(counted) for ladder in _drawn(search, units, _RUNS)]
    missed = [one for one in chosen if np.maximum(np.array(units) - one.rows, 0).sum() > one.cut + one.doubt]
    assert len(missed) > _RUNS / 2
    assert np.mean([one.few for one in missed]) > 0.9


@pytest.mark.parametrize("place", range(4, 9))
def test_what_can_not_be_is_taken_for_noise(place: int) -> None:
    """A cell far up that would be more rows than there can be changes nothing; where so many are expected it does."""
    cells = [100.0, *[0.0] * (len(RUNGS) - 1)]
    cells[place] = 60.0
    few, many = (NoisyLadder(RUNGS, cells, Fraction(1, 7), RUNGS[place] * 60 // 4 + more).top for more in (-1, 1))
    assert (few, many) == (0, place)


@pytest.mark.parametrize("epsilon", [60, 10**3, 10**6])
def test_a_part_of_a_unit_far_up_is_noise(epsilon: int) -> None:
    """However little noise there is: a count of no rows at ε = 1,000 once had a C of millions, and was -448."""
    cells = [100.0, *[0.0] * 7, 9 * float(np.sqrt(2)) / epsilon, 0.0, 0.0]
    ladder = NoisyLadder(RUNGS, cells, Fraction(epsilon), 10**6)
    assert ladder.top == 0
    assert replace(ladder, cells=[*cells[:8], 1.0, 0.0, 0.0]).top == 8


@pytest.mark.parametrize("epsilon", [200, 10**3, 10**6])
def test_parts_of_a_unit_next_to_units_are_noise(epsilon: int) -> None:
    """Rung by rung they led to a C of thousands once in a thousand times: of no row, at ε = 1,000, -1 was told."""
    part = 4 * float(np.sqrt(2)) / epsilon
    assert NoisyLadder(RUNGS, [100.0, *[part] * (len(RUNGS) - 1)], Fraction(epsilon)).top == 0


@pytest.mark.parametrize("epsilon", [Fraction(1, 7), Fraction(2), Fraction(50)])
def test_the_cells_have_the_noise_that_is_claimed(epsilon: Fraction, counted: Sums) -> None:
    """Of the scale sensitivity/ε, where that is what the ledger is charged: its mean size is that, and not half of it."""
    search = RowsPerUnit(counted, epsilon)
    noisy = release_cells(search, ExactCells([0] * 4_000), np.random.default_rng(3).bytes).numbers[0]
    assert PricedMeasurement(search, "", "").cost.epsilon == epsilon
    assert np.mean(np.abs(np.array(noisy, dtype=float))) == pytest.approx(float(search.sensitivity / epsilon), rel=0.08)


def test_nothing_is_seen_of_nobody(counted: Sums) -> None:
    """Where there seems to be nobody a unit counts with a row or two, and it is said that nobody knows."""
    search = RowsPerUnit(counted, Fraction(1, 5))
    chosen = NoisyLadder.of(search, [0] * len(search.rungs)).chosen(counted)
    assert (chosen.rows, chosen.few) == (2, True)


def test_more_groups_take_less(counted: Sums) -> None:
    """What is taken off is spread over groups, each of which has all of the noise."""
    search = RowsPerUnit(counted, Fraction(1, 50))
    ladder = NoisyLadder.of(search, _cells(search, _units()["regulars"]))
    assert ladder.chosen(counted, 200).rows < ladder.chosen(counted).rows


@pytest.mark.parametrize("cell", [0, 2**200, -(2**200), 1])
def test_no_noise_makes_it_fail(cell: int, counted: Sums) -> None:
    """It is post-processing: whatever was released, there is a C, and something that it may take off."""
    for end in (1, 2, 7, 400, 2**20, 2**40):
        search = RowsPerUnit(replace(counted, bound=replace(counted.bound, up_to=end)), Fraction(1, 10**6))
        for cells in ([cell] * len(search.rungs), [cell, *[-cell] * (len(search.rungs) - 1)]):
            for expected in (None, 0, 1_000):
                ladder = replace(NoisyLadder.of(search, cells), expected_rows=expected)
                chosen = ladder.chosen(counted)
                assert chosen.rows in powers_of_two(end)
                assert min(chosen.cut, chosen.doubt, ladder.reach(3), ladder.cut(0)) >= 0
