"""Numbers and names as a browser sends them, checked against their limits."""

from collections.abc import Mapping
from fractions import Fraction

from dpsql.epsilon.refusal import BadInput

_LONGEST = 24
_MOST_VALUES = 200


def number(given: Mapping[str, str], name: str, low: Fraction | int, high: Fraction | int) -> Fraction:
    """Return a number exactly as it was typed, `0.333` or `1/3`.

    Raises:
        BadInput: it is none, or outside [low, high].
    """
    text = given.get(name, "").strip()
    try:
        value = Fraction(text) if len(text) <= _LONGEST and "e" not in text.lower() else None
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None or not low <= value <= high:
        raise BadInput(f"{name} must be a number from {float(low):,.10g} to {float(high):,.10g}")
    return value


def whole(given: Mapping[str, str], name: str, low: int, high: int) -> int:
    """Return a whole number; see `number`."""
    value = number(given, name, low, high)
    if value.denominator != 1:
        raise BadInput(f"{name} must be a whole number")
    return value.numerator


def one_of(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    """Return one of the allowed words."""
    word = given.get(name, "")
    if word not in allowed:
        raise BadInput(f"{name} must be one of {', '.join(allowed)}")
    return word


def numbers(text: str) -> list[float]:
    """Return a list of numbers with commas or spaces between them."""
    parts = text.replace(",", " ").split()
    if not 0 < len(parts) <= _MOST_VALUES:
        raise BadInput(f"values must be 1 to {_MOST_VALUES} numbers")
    return [float(number({"each value": part}, "each value", -(10**9), 10**9)) for part in parts]
