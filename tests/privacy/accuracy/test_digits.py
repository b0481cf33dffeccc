"""Which digits are shown of a number, and of its margin."""

import math

import pytest

from dpsql.privacy.accuracy.shrunk import last_place, place_of_margin, round_margin_up, round_to_place


@pytest.mark.parametrize(
    ("scale", "place"),
    [(0.0277, -3), (0.1, -2), (0.99, -2), (1.0, -1), (9.9, -1), (10.0, 0), (374.0, 1), (2e8, 7), (3e-9, -10)],
)
def test_a_tenth_of_the_scale(scale: float, place: int) -> None:
    """Down to a power of ten; of a margin, which is three scales, it is the same."""
    assert last_place(scale) == place
    assert place_of_margin(3.0001 * scale) == place


@pytest.mark.parametrize("scale", [None, 0.0, -1.0, math.inf, math.nan])
def test_what_has_no_scale_keeps_its_digits(scale: float | None) -> None:
    """Nothing that is known would tell where to cut."""
    assert last_place(scale) is None
    assert round_to_place(math.pi, None) == math.pi
    assert round_margin_up(math.pi, None, real=True) == math.pi


@pytest.mark.parametrize(
    ("value", "place", "shown"),
    [
        (9.463276391425301, -3, 9.463),
        (-0.0004, -3, 0.0),
        (12_194_645.33, 1, 12_194_650.0),
        (1.0, -3, 1.0),
        (1e300, 299, 1e300),
        (1e-310, -310, 1e-310),
        (math.inf, -3, math.inf),
        (None, -3, None),
    ],
)
def test_numbers_are_rounded(value: float | None, place: int, shown: float | None) -> None:
    """To the nearest; what double precision has no such place for stays."""
    assert round_to_place(value, place) == shown


@pytest.mark.parametrize(
    ("width", "place", "real", "shown"),
    [
        (0.08290296, -3, True, 0.084),
        (0.0835, -3, True, 0.084),
        (0.0836, -3, True, 0.085),
        (0.083, -3, False, 0.083),
        (3.495732273554026, -1, False, 3.5),
        (1122.7080810939644, 1, False, 1130.0),
        (0.0, -1, False, 0.0),
        (math.inf, -1, True, math.inf),
        (None, -1, True, None),
    ],
)
def test_margins_are_rounded_up(width: float | None, place: int, real: bool, shown: float | None) -> None:
    """With half a unit, if the value that they are about is rounded."""
    assert round_margin_up(width, place, real=real) == shown
