"""Numbers and probabilities as people type them, read in the same way on the command line and on the pages."""

import re
from fractions import Fraction

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
    return value if "/" in word or value < 1 else value / 100
