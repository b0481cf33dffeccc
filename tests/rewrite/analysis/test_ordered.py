"""Where there begins to be room is found to the last bit."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.predicates import first_with_room, last_with_room

_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_WHOLE = st.integers(-(2**63), 2**63)


@given(st.one_of(st.tuples(*[_NUMBERS] * 3), st.tuples(*[_WHOLE] * 3)))
def test_the_first_and_the_last_number_are_found(numbers: tuple[float | int, ...]) -> None:
    """Also among the smallest numbers, across zero, and whole ones beyond what double precision holds."""
    low, middle, high = map(Fraction, sorted(numbers))
    whole = all(isinstance(number, int) for number in numbers)
    within = Interval(low, high)
    assert first_with_room(lambda number: number - middle, within, whole=whole) == middle
    assert last_with_room(lambda number: middle - number, within, whole=whole) == middle


@given(_NUMBERS, _NUMBERS, _NUMBERS)
def test_a_step_is_found(a: float, b: float, c: float) -> None:
    """Where a straight line leads nowhere."""
    low, middle, high = map(Fraction, sorted((a, b, c)))
    step = first_with_room(lambda number: Fraction(1 if number >= middle else -1), Interval(low, high), whole=False)
    assert step == middle


@pytest.mark.parametrize(("end", "step", "most"), [("12.37", False, 6), ("12.37", True, 30), ("100", True, 30)])
def test_a_number_that_people_write_is_found_soon(end: str, *, step: bool, most: int) -> None:
    """Planning has no time to halve all numbers in double precision one by one."""
    asked, wanted = [], Fraction(float(end))

    def room(number: Fraction) -> Fraction:
        asked.append(number)
        return Fraction(1 if number >= wanted else -1) if step else number - wanted

    assert first_with_room(room, Interval.of(0, 150), whole=False) == wanted
    assert len(asked) <= most


def test_where_there_is_no_room_nothing_is_left_out() -> None:
    """As of `1 / x`, which has no bounds from either end on where 0 is among the numbers."""
    within = Interval.of(0, 5)
    for whole in (False, True):
        assert first_with_room(lambda _: Fraction(-1), within, whole=whole) == within.low
        assert last_with_room(lambda _: Fraction(-1), within, whole=whole) == within.high
