"""A value that is made quickly is the value that it would be otherwise."""

import inspect
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from dpsql.frozen import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class Range:
    """Two numbers and their difference."""

    low: int
    high: int = 10
    width: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Check and compute."""
        if self.high < self.low:
            raise ValueError("empty")
        object.__setattr__(self, "width", self.high - self.low)


def test_fields_defaults_and_what_follows_from_them_are_set() -> None:
    """By place or by name."""
    made = Range(3)
    assert (made.low, made.high, made.width) == (3, 10, 7)
    assert made == Range(low=3, high=10) == replace(Range(1, 10), low=3)
    assert repr(made) == "Range(low=3, high=10, width=7)"


def test_what_is_no_value_is_not_made() -> None:
    """Its own checks are made, and it is not made of more or less than its fields."""
    with pytest.raises(ValueError, match="empty"):
        Range(11)
    for wrong in ({}, {"low": 1, "width": 2}, {"low": 1, "more": 2}):
        with pytest.raises(TypeError, match="__init__"):
            Range(**wrong)


def test_a_value_stays_as_it_is() -> None:
    """A field can't be set again."""
    with pytest.raises(FrozenInstanceError):
        Range(1).low = 2  # type: ignore[misc]  # what is refused


def test_its_parameters_are_those_of_the_dataclass() -> None:
    """With their names, types and defaults."""
    assert str(inspect.signature(Range)) == "(low: int, high: int = 10) -> None"


def test_a_default_that_is_made_anew_is_refused() -> None:
    """All values would share it."""

    @dataclass(frozen=True, slots=True)
    class Listed:
        values: list[int] = field(default_factory=list)

    with pytest.raises(TypeError, match="default_factory"):
        quickly_made(Listed)
