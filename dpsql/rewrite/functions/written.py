"""With how many digits after the point PostgreSQL writes a `numeric`, by how many its arguments have.

round(fare::numeric, 2) || ' dollars', where it is 1.5  →  '1.50 dollars'
"""

from collections.abc import Callable, Sequence

from dpsql.rewrite.ir.expr import Apply, Digits, Expr, TimeField

DigitsOf = Callable[[Expr], int | None]
_OF_FIELDS = {"epoch": 6, "second": 6, "milliseconds": 3, "julian": None}


def no_digits(_: Apply, __: DigitsOf) -> int | None:
    """Return none: a whole number is left."""
    return 0


def unknown_digits(_: Apply, __: DigitsOf) -> int | None:
    """Tell nothing about the digits."""
    return None


def most_digits(apply: Apply, digits: DigitsOf) -> int | None:
    """Return the digits of a sum."""
    counts = _of_arguments(apply, digits)
    return max(counts) if counts else None


def all_digits(apply: Apply, digits: DigitsOf) -> int | None:
    """Return the digits of a product."""
    counts = _of_arguments(apply, digits)
    return sum(counts) if counts else None


def rounded_digits(apply: Apply, _: DigitsOf) -> int | None:
    """Return what ROUND leaves."""
    return max(apply.option.number, 0) if isinstance(apply.option, Digits) else 0


def field_digits(apply: Apply, _: DigitsOf) -> int | None:
    """Return the digits of a field of a time."""
    return _OF_FIELDS.get(apply.option.name, 0) if isinstance(apply.option, TimeField) else None


def _of_arguments(apply: Apply, digits: DigitsOf) -> Sequence[int]:
    counts = [n for n in map(digits, apply.args) if n is not None]
    return counts if len(counts) == len(apply.args) else ()
