"""Numbers and names as a browser sends them, checked against their limits."""

from collections.abc import Mapping
from fractions import Fraction

from dpsql.epsilon.reading import read_number, read_share
from dpsql.epsilon.refusal import BadInput

_LONGEST = 24
_MOST_VALUES = 200
_LABELS = {"naming": "re-identification", "membership": "membership inference", "value": "attribute inference"}
"""What fields are called on the page, where that is not their name."""
_LEAST_SHARE, _MOST_SHARE = Fraction(1, 1000), Fraction(999, 1000)


class BadField(BadInput):
    """A field of a form has an invalid value; `field` is its name, so that the page can show where."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def fraction(given: Mapping[str, str], name: str, low: Fraction | int, high: Fraction | int) -> Fraction:
    """Return a number exactly as it was typed: `0.333`, `1/3`, `1e5`, `10,000`.

    Raises:
        BadField: it is none, or outside [low, high].
    """
    value = _read(given.get(name, ""))
    if value is None or not low <= value <= high:
        raise BadField(name, f"{_words(name)} must be a number from {float(low):,.10g} to {float(high):,.10g}")
    return value


def whole(given: Mapping[str, str], name: str, low: int, high: int) -> int:
    """Return a whole number; see `fraction`."""
    value = fraction(given, name, low, high)
    if value.denominator != 1:
        raise BadField(name, f"{_words(name)} must be a whole number")
    return value.numerator


def share(given: Mapping[str, str], name: str) -> Fraction:
    """Return a probability, as `read_share` reads it.

    Raises:
        BadField: it is none, or not between 0.1 and 99.9 %.
    """
    text = given.get(name, "")
    value = read_share(text) if len(text) <= _LONGEST else None
    if value is None or not _LEAST_SHARE <= value <= _MOST_SHARE:
        raise BadField(name, f"{_words(name)} must be from 0.1 to 99.9 %: 33 %, 0.33 or 1/3")
    return value


def one_of(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    """Return one of the allowed words."""
    word = given.get(name, "")
    if word not in allowed:
        raise BadField(name, f"{_words(name)} must be one of {', '.join(allowed)}")
    return word


def numbers(text: str) -> list[float]:
    """Return a list of numbers with commas or spaces between them."""
    parts = text.replace(",", " ").split()
    if not 0 < len(parts) <= _MOST_VALUES:
        raise BadField("values", f"values must be 1 to {_MOST_VALUES} numbers")
    return [float(fraction({"each value": part}, "each value", -(10**9), 10**9)) for part in parts]


def _read(text: str) -> Fraction | None:
    """Return a number; None for anything else, and for one that is longer than any that makes sense."""
    return read_number(text) if len(text) <= _LONGEST else None


def _words(name: str) -> str:
    return _LABELS.get(name) or name.replace("_", " ").replace("-", " ")
