"""Facts about the values of one expression, gathered without looking at any value."""

from collections.abc import Mapping
from dataclasses import dataclass

from dpsql.frozen import HashedOnce, hashed_once, quickly_made
from dpsql.policy.interval import Interval
from dpsql.policy.model import Value
from dpsql.rewrite.ir.expr import Expr


@hashed_once
@quickly_made
@dataclass(frozen=True, slots=True)
class Facts(HashedOnce):
    """Facts about one expression."""

    nullable: bool = True
    interval: Interval | None = None
    values: tuple[Value, ...] | None = None
    """All values beside NULL, sorted; None when they are not few or not known."""
    float_range: Interval | None = None
    """Where the values can be as an engine computes them; of a column, None where that is its interval."""
    anywhere: Interval | None = None
    """Where they can be also in a row that is not counted, since it lacks a value that it has to have; None where that is
    `float_range`. Engines may compute what they are asked for such a row, and leave it out then."""

    @classmethod
    def of_values(cls, values: tuple[Value, ...], *, nullable: bool) -> "Facts":
        """Build from a domain; its interval is the domain's hull."""
        if not values or isinstance(values[0], str):
            return cls(nullable, None, values)
        numbers = [v for v in values if not isinstance(v, str)]
        return cls(nullable, Interval.of(min(numbers), max(numbers)), values)


Env = Mapping[Expr, Facts]
"""Facts about columns: declared ones, narrowed by what WHERE says; and what it says about expressions beside that."""
