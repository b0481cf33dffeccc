"""Closed intervals of exact numbers: the bounds of a column and of every expression."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from dpsql.frozen import HashedOnce, hashed_once, quickly_made


@hashed_once
@quickly_made
@dataclass(frozen=True, slots=True)
class Interval(HashedOnce):
    """All numbers from `low` to `high`, both included.

    Dates are days and timestamps microseconds since 1970-01-01, so a half-open range of dates ends one day,
    a half-open range of timestamps one microsecond, before its upper bound.
    """

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if _is_less(self.high, self.low):
            raise ValueError(f"empty interval [{self.low}, {self.high}]")

    @classmethod
    def of(cls, low: Fraction | int | str, high: Fraction | int | str) -> Self:
        """Build from anything that `Fraction` reads exactly (not from floats)."""
        return cls(
            low if isinstance(low, Fraction) else Fraction(low), high if isinstance(high, Fraction) else Fraction(high)
        )

    @property
    def width(self) -> Fraction:
        """Return high − low."""
        (a, b), (c, d) = self.low.as_integer_ratio(), self.high.as_integer_ratio()
        return Fraction(c - a) if b == d == 1 else self.high - self.low

    @property
    def middle(self) -> Fraction:
        """Return the number halfway from low to high."""
        return (self.low + self.high) / 2

    @property
    def half(self) -> Fraction:
        """Return half the width."""
        return self.width / 2

    @property
    def magnitude(self) -> Fraction:
        """Return the largest absolute value in the interval."""
        return max(abs(self.low), abs(self.high))

    def shifted(self, by: Fraction | int) -> "Interval":
        """Return the interval moved by a number."""
        return Interval(self.low + by, self.high + by)

    def is_below(self, limit: int) -> bool:
        """Return whether the magnitude is less than a limit."""
        (a, b), (c, d) = self.low.as_integer_ratio(), self.high.as_integer_ratio()
        return -limit * b < a and c < limit * d

    def __contains__(self, value: Fraction | int) -> bool:
        return self.low <= value <= self.high

    def meet(self, other: "Interval") -> "Interval | None":
        """Return what both contain; None if that is nothing."""
        low = other.low if _is_less(self.low, other.low) else self.low
        high = other.high if _is_less(other.high, self.high) else self.high
        return None if _is_less(high, low) else Interval(low, high)

    def hull(self, other: "Interval") -> "Interval":
        """Return the smallest interval that contains both."""
        low = other.low if _is_less(other.low, self.low) else self.low
        return Interval(low, other.high if _is_less(self.high, other.high) else self.high)


def _is_less(fraction: Fraction, other: Fraction) -> bool:
    """Return whether a number is less than another, without a look at what kinds of numbers they are, as `<` has it."""
    (a, b), (c, d) = fraction.as_integer_ratio(), other.as_integer_ratio()
    return a * d < c * b
