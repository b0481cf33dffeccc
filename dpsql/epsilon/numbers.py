"""Numbers of this room: as people type them, rounded against ourselves, and the one error where they can't be used."""

import math
import re
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


# Numbers and probabilities as people type them, read in the same way on the command line and on the pages.

_PLAIN = re.compile(r"[+-]?(\d{1,30}/\d{1,30}|(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?)", re.ASCII)
_PARTED = re.compile(r"[+-]?[1-9]\d{0,2}(?:[,_ '\u00a0\u2009\u202f]\d{3})+(?:\.\d+)?(?![,\d])", re.ASCII)
"""Thousands with something between them: `10,000`, `10 000`, `1_000_000`; a comma never stands for a point."""


def read_number(text: str) -> Fraction | None:
    """Return a number exactly: `0.333`, `1/3`, `1e5`, `10,000`, `10 000`; None for anything else."""
    word = text.strip()
    if _PARTED.fullmatch(word):
        word = re.sub(r"[,_ '\u00a0\u2009\u202f]", "", word)
    try:
        return Fraction(word) if _PLAIN.fullmatch(word) else None
    except ZeroDivisionError:
        return None


def read_share(text: str) -> Fraction | None:
    """Return a probability: `33 %` and `33` are per cent, `1/3` is a third, and `0.33`, like all below 1, is 33 %."""
    word = text.strip()
    value = read_number(word.removesuffix("%"))
    if value is None or word.endswith("%"):
        return None if value is None else value / 100
    # So 1 is 1 %, and certainty is written 100 or 1/1, which no promise accepts.
    return value if "/" in word or value < 1 else value / 100


# The one error of this room.


class BadInput(ValueError):
    """The question has no meaningful answer; the message says which number is wrong and what its limits are."""
