"""Rounding against ourselves: a budget never ends up above the number that it was computed from."""

import math
from fractions import Fraction


def down_to_step(value: Fraction, step: Fraction) -> Fraction:
    """Return the largest multiple of `step` that is not above `value`."""
    return math.floor(value / step) * step


def down_to_digits(value: Fraction, digits: int) -> Fraction:
    """Return a positive value cut after so many significant decimal digits."""
    step = Fraction(1)
    while value < step * 10 ** (digits - 1):
        step /= 10
    while value >= step * 10**digits:
        step *= 10
    return down_to_step(value, step)
