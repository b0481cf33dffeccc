"""The possible values of an expression, as group keys need them, and the refusal of too many."""

from collections.abc import Sequence
from typing import Protocol, Self

from dpsql.errors import Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import Value
from dpsql.rewrite.ir.expr import Expr

Cell = Value | None


class Domains(Protocol):
    """The facts about expressions where the values of one are listed."""

    @property
    def limit(self) -> int:
        """Return the most values that may be listed."""

    def interval(self, expr: Expr) -> Interval | None:
        """Return the interval of an expression."""

    def of(self, expr: Expr) -> Sequence[Cell]:
        """Return every value that an expression can have, NULL included where it can occur."""

    def where(self, condition: Expr, *, holds: bool) -> Self:
        """Return the facts where a condition holds, or where it does not: false, or NULL."""


def order_of(cell: Cell) -> tuple[bool, Value]:
    """Return by what the values of one type are ordered: exactly, so that no two tie, and NULL last as PostgreSQL does."""
    return (cell is None, 0 if cell is None else cell)


def too_many(groups: int, limit: int) -> Unsupported:
    """Return the error for more groups than the role may ask for."""
    return Unsupported(
        f"the statement has {groups:,} groups, the limit is {limit:,}",
        because="too-many-groups",
        hint="Group more coarsely, or restrict the keys in WHERE.",
    )


def too_many_units(unit: str, limit: int) -> Unsupported:
    """Return the error for more units of time than the role may ask for."""
    return Unsupported(
        f"date_trunc('{unit}', …) has more than {limit:,} groups, which is the limit",
        because="too-many-groups",
        hint="Truncate to a longer unit, or restrict the time in WHERE.",
    )


def lists_too_many(refusal: Unsupported) -> bool:
    """Return whether what was refused has values that are known, and more than may be listed."""
    return refusal.because == too_many(0, 0).because
