"""Numbers and names between a browser and the pages: checked as they come, JSON and text as they go."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpsql.accounting.privacy_loss import show_down
from dpsql.epsilon.advising.rule import belief_after
from dpsql.epsilon.numbers import BadInput, down_to_digits, read_number, read_share

# Characters of a number. Of a longer one nothing is computed, not even what is wrong with it.
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
    # A fraction, since it is compared with limits that are exact: the float 0.1 is more than 1/10.
    value = _read(given.get(name, ""))
    if value is None or not low <= value <= high:
        raise BadField(name, f"{_words(name)} must be a number from {float(low):,.10g} to {float(high):,.10g}")
    return value


def whole_number(given: Mapping[str, str], name: str, low: int, high: int) -> int:
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


# Numbers as JSON for the browser, and the facts about an answer before any noise is drawn.

_CURVE_DIGITS = 5
Json = dict[str, object]


def noise_facts(contribution: int, epsilon: Fraction) -> Json:
    """Return the facts before any noise is drawn: its scale, the typical error of a bucket, the limits of guesses.

    The mean of |z| for P(z) ∝ exp(−|z|/s) on the integers is 1/sinh(1/s).
    """
    # sinh(100) is 1e43, and overflows at 710: below a scale of 1/100 no digit that is shown has any noise.
    scale, belief = contribution / float(epsilon), belief_after(epsilon, 2)
    return {
        "epsilon": float(epsilon),
        "sensitivity": contribution,
        "scale": scale,
        "typical": 1 / math.sinh(1 / scale) if scale > 1e-2 else 0.0,
        "guess": belief.membership,
        "valued": belief.value,
    }


def short_curve(values: Sequence[float]) -> list[float | None]:
    """Return values with few digits; None for what JSON has no number for."""
    return [float(f"{value:.{_CURVE_DIGITS}g}") if math.isfinite(value) else None for value in values]


# Amounts of ε as the pages show them.

DIGITS = 3
"""More digits of an ε mean nothing to anybody."""


def brief(amount: Fraction) -> str:
    """Return an amount with three digits, rounded down; one of more than three stays a whole number."""
    if not amount:
        return "0"
    return show_down(Fraction(int(amount)) if amount >= 10**DIGITS else down_to_digits(amount, DIGITS))
