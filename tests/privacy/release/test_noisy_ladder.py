"""What is read off a noisy ladder: what a C takes off, and how far that may be wrong."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.privacy.release.noisy_ladder import FOR_CHOICE, FOR_MARGINS, NoisyLadder

RUNGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
_RUNS = 400


def _cells(units: Sequence[int]) -> list[float]:
    """Return what stands at each rung: a unit between two is split."""
    cells = [0.0] * len(RUNGS)
    for n in units:
        place = max(k for k, rung in enumerate(RUNGS) if rung <= n)
        if place == len(RUNGS) - 1:
            cells[place] += 1
            continue
        part = (n - RUNGS[place]) / (RUNGS[place + 1] - RUNGS[place])
        cells[place] += 1 - part
        cells[place + 1] += part
    return cells


def _units() -> Sequence[int]:
    draw = np.random.default_rng(3)
    return [int(n) for n in np.minimum(np.maximum(draw.lognormal(1.3, 1.1, 20_000), 1), 1024)]


@pytest.mark.parametrize("rows", [0, 4, 16])
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1)])
def test_what_a_bound_takes_off_is_within_its_margin(rows: int, epsilon: Fraction) -> None:
    """In 93.5 of 100 cases at least, and the margin is no more than three times as wide as errors are."""
    units = _units()
    exact, truth = _cells(units), sum(max(n - rows, 0) for n in units)
    draw, errors, margins = np.random.default_rng(7), [], []
    for _ in range(_RUNS):
        ladder = NoisyLadder(RUNGS, [cell + draw.laplace(0, 1 / float(epsilon)) for cell in exact], epsilon, 4e5)
        cut, margin = ladder.cut(rows)
        errors.append(abs(cut - truth))
        margins.append(margin)
    assert np.mean(np.array(errors) <= np.array(margins)) >= 0.92
    assert np.median(margins) <= 3 * np.quantile(errors, 0.95)


@pytest.mark.parametrize("place", range(8, 16))
def test_what_can_not_be_is_taken_for_noise(place: int) -> None:
    """A cell far up that would be more rows than there can be changes nothing; where nothing is expected it does."""
    cells = _cells([1] * 100)
    cells[place] = 60.0
    quiet, loud = (NoisyLadder(RUNGS, cells, Fraction(1, 7), most) for most in (RUNGS[place] * 60 - 1, float("inf")))
    assert quiet.above(FOR_CHOICE)[place - 1] < 10 < loud.above(FOR_CHOICE)[place - 1]


@pytest.mark.parametrize("epsilon", [60, 10**3, 10**6])
def test_a_part_of_a_unit_far_up_is_noise(epsilon: int) -> None:
    """However little noise there is: a count of no rows at ε = 1,000 once had a C of millions, and was -448."""
    part = NoisyLadder(RUNGS, _with_far(9 * np.sqrt(2) / epsilon), Fraction(epsilon), 4e6).above(FOR_CHOICE)
    whole = NoisyLadder(RUNGS, _with_far(1.0), Fraction(epsilon), 4e6).above(FOR_CHOICE)
    assert part[15] < whole[15] / 100


@pytest.mark.parametrize("epsilon", [200, 10**3, 10**6])
def test_parts_of_a_unit_next_to_units_are_noise(epsilon: int) -> None:
    """Rung by rung they led to a C of thousands once in a thousand times: of no row, at ε = 1,000, -1 was told."""
    part = 4 * float(np.sqrt(2)) / epsilon
    seen = NoisyLadder(RUNGS, [*_cells([1] * 100)[:1], *[part] * (len(RUNGS) - 1)], Fraction(epsilon)).above(FOR_CHOICE)
    assert seen[8] < part / 100


def _with_far(units: float) -> list[float]:
    cells = _cells([1] * 100)
    cells[16] = units
    return cells


@pytest.mark.parametrize("cell", [0.0, 1e300, -1e300, 1.0])
def test_nothing_makes_it_fail(cell: float) -> None:
    """It is post-processing: whatever was released can be read."""
    for number in range(1, len(RUNGS)):
        ladder = NoisyLadder(RUNGS[:number], [cell] * number, Fraction(1, 10**6), 100.0)
        for variant in (ladder, replace(ladder, cells=[*ladder.cells[:-1], -cell])):
            assert all(units >= 0 for units in variant.above(FOR_MARGINS))
            cut, margin = variant.cut(3)
            assert cut >= 0
            assert margin >= 0


def _drawn(cells: Sequence[float], epsilon: Fraction, number: int = _RUNS) -> list[NoisyLadder]:
    draw = np.random.default_rng(7)
    return [
        NoisyLadder(RUNGS, [cell + draw.laplace(0, 1 / float(epsilon)) for cell in cells], epsilon, 4e5)
        for _ in range(number)
    ]


def test_units_at_many_rungs_are_seen_together() -> None:
    """Of which no rung has more than its noise: they were taken for nothing, and a C of 2 took off nine rows of ten."""
    ladders = _drawn([0.0] * 2 + [9.0] * 12 + [0.0] * 6, Fraction(1, 5))
    assert np.mean([ladder.above(FOR_CHOICE)[2] > 54 for ladder in ladders]) >= 0.7


@pytest.mark.parametrize("rows", [1, 2, 8])
def test_rows_of_units_that_are_not_seen_are_found_by_their_count(rows: int) -> None:
    """Where units have few rows at each rung and together; where they are seen there are none but once in fifty times."""
    hidden, seen = [12.0] * 14 + [0.0] * 6, _cells([1] * 3_000 + [2] * 2_000 + [5] * 1_000)
    for cells, epsilon, least, most in ((hidden, Fraction(1, 20), 0.75, 1.0), (seen, Fraction(1, 5), 0.0, 0.02)):
        counted = sum(cell * min(rung, rows) for cell, rung in zip(cells, RUNGS, strict=True))
        told = [ladder.unseen(rows, counted, 5.0) > 0 for ladder in _drawn(cells, epsilon)]
        assert least <= np.mean(told) <= most
