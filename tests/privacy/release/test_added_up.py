"""Sums of measured groups, and counts that are made to rise."""

from itertools import pairwise

import numpy as np
import pytest

from dpsql.privacy.features.feature import ONE
from dpsql.privacy.measurement.plan import AddedUp, GroupRun
from dpsql.privacy.release.postprocess import added_up, risen


def _run(first: int, number: int = 1, factor: int = 1) -> GroupRun:
    return GroupRun(range(first, first + number), factor)


def test_lines_are_sums() -> None:
    """Each with its factors; one of nothing is 0, and without sums each group is its own."""
    read = [{ONE: 1.0}, {ONE: 10.0}, {ONE: 100.0}].__getitem__
    totals = added_up(AddedUp(((_run(0), _run(2)), (_run(1, 1, 2),), ())), read)
    assert [totals(place)[ONE] for place in range(3)] == [101.0, 20.0, 0.0]
    assert added_up(None, read)(2) == {ONE: 100.0}


def test_chains_rise() -> None:
    """Others stay as they are."""
    read = [{ONE: 5.0}, {ONE: -3.0}, {ONE: 4.0}].__getitem__
    lines = ((_run(0),), (_run(0, 2),), (_run(0, 3),))
    assert [added_up(AddedUp(lines, ((0, 1, 2),)), read)(n)[ONE] for n in range(3)] == [3.5, 3.5, 6.0]
    assert [added_up(AddedUp(lines), read)(n)[ONE] for n in range(3)] == [5.0, 2.0, 6.0]


@pytest.mark.parametrize("seed", range(20))
def test_no_rising_numbers_are_nearer(seed: int) -> None:
    """Of many that rise none is nearer in squares, and those that rise already stay."""
    draw = np.random.default_rng(seed)
    numbers = list(draw.normal(size=9) * 3 + np.arange(9))
    rising = risen(numbers)
    assert all(a <= b for a, b in pairwise(rising))
    least = sum((a - b) ** 2 for a, b in zip(rising, numbers, strict=True))
    for _ in range(200):
        other = np.sort(np.array(rising) + draw.normal(size=9) * draw.choice([0.01, 0.3, 2]))
        assert float(np.sum((other - numbers) ** 2)) >= least - 1e-9
    assert risen(sorted(numbers)) == sorted(numbers)
