"""Amounts of ε as the pages show them."""

from fractions import Fraction

from dpsql.accounting.privacy_loss import show_down
from dpsql.epsilon.rounding import down_to_digits

DIGITS = 3
"""More digits of an ε mean nothing to anybody."""


def brief(amount: Fraction) -> str:
    """Return an amount with three digits, rounded down; one of more than three stays a whole number."""
    if not amount:
        return "0"
    return show_down(Fraction(int(amount)) if amount >= 10**DIGITS else down_to_digits(amount, DIGITS))
