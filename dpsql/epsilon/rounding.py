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


def percent(share: float) -> str:
    """Return a probability as people read it: no answer makes anything certain, so none is called 100 %."""
    if share == 0:
        return "0 %"
    if share > _NEARLY:
        return f"> {100 * _NEARLY:.4f} %"
    places = _DIGITS if share > _CLOSE else max(_DIGITS - 1 - math.floor(math.log10(100 * share)), 0)
    text = f"{100 * share:.{places}f}"
    return f"{text.rstrip('0').rstrip('.') if places else text} %"


_NEARLY, _CLOSE = 0.999999, 0.99
_DIGITS = 4
