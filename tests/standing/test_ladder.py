"""The ladder by which a standing question's C is chosen: what a unit moves in it, by exhaustion, and which rows it counts."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.privacy.measurement.rows_per_unit import ChosenBound
from dpsql.privacy.release.exact import whole_number
from dpsql.standing.questions import StandingPart
from tests.standing.histories import Copies, Row, copies, standing, table


def _part() -> StandingPart:
    """Return the question whose C is chosen, up to 6."""
    part = standing(table(6, ["a", "b"]), 3)
    bound = replace(part.asked.bound, up_to=6)
    return replace(part, asked=replace(part.asked, bound=bound), choosing=Fraction(1))


def _cells(copied: Copies, part: StandingPart, rows: Sequence[Row]) -> list[int]:
    copied.fill(rows)
    ladder = part.ladder()
    answer = copied.connection.execute(ladder.sql(copied.emitter)).fetchall()
    return ladder.cells([[*map(whole_number, row)] for row in answer])


def test_no_unit_moves_the_ladder_further_than_its_sensitivity() -> None:
    """With any rows, within the last term and beside it; one with all of them does move it so far."""
    part, reached = _part(), 0
    days = (-32, -31, -1, 0)
    with copies() as copied:
        for numbers in itertools.product(range(4), range(8), range(2), range(3)):
            own = [("a", day, 1.0) for day, number in zip(days, numbers, strict=True) for _ in range(number)]
            others = [("b", -1, 1.0), ("b", -2, 1.0)]
            with_all, without = (_cells(copied, part, rows) for rows in ([*own, *others], others))
            moved = sum(abs(one - other) for one, other in zip(with_all, without, strict=True))
            assert moved <= part.ladder().sensitivity
            assert bool(moved) is bool(numbers[1] + numbers[2])
            reached = max(reached, moved)
    assert reached == part.ladder().sensitivity


@pytest.mark.parametrize("rows", [1, 2, 6])
def test_all_that_is_measured_by_it_has_the_bound_that_was_chosen(rows: int) -> None:
    """And another identity than by another price of the choice; before it is chosen nothing is measured."""
    part = _part()
    settled = part.settled(ChosenBound(rows, 0))
    assert (part.waits, settled.waits) == (True, False)
    assert settled.asked.sensitivity == rows * settled.asked.bound.weight * settled.asked.row_norm
    assert settled.for_periods(settled.periods).bound == settled.asked.bound
    assert part.identity("x") != replace(part, choosing=Fraction(2)).identity("x")
    assert part.identity("x") != replace(part, choosing=None).identity("x")
