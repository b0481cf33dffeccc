"""Values of single units: aggregates of a unit's rows, and what a row has among the others of its unit.

sum(fare) … GROUP BY rider                              →  UnitValue('sum', fare, …)
lag(fare) OVER (PARTITION BY rider, paid ORDER BY day)  →  Window('lag', arg='fare', partition=('paid',), order=(('day', …),))
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpsql.policy.interval import Interval
from dpsql.policy.model import Column
from dpsql.rewrite.ir.expr import Expr

UnitFunction = Literal[
    "count", "count_distinct", "sum", "avg", "min", "max", "bool_and", "bool_or", "percentile_cont", "percentile_disc",
    "var_pop", "var_samp", "stddev_pop", "stddev_samp",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnitValue:
    """One number of a unit: an aggregate of its rows that is the same in any order of them."""

    function: UnitFunction
    arg: Expr | None
    """None for COUNT(*)."""
    where: Expr
    column: Column
    """The resulting column; its values are clamped to its bounds in all places that read it."""
    interval: Interval | None = None
    """Of the argument of `sum` and `avg`: what is added up are whole steps from its lower end."""
    steps: int = 0
    """How many of them there are in the interval; 0 where the argument is a whole number and is added up itself."""
    point: Fraction = Fraction(0)
    """Of which share of the rows a percentile is."""

    @property
    def grows(self) -> bool:
        """Return whether it is larger the more rows the unit has."""
        return self.function in {"count", "count_distinct", "sum"}


WindowFunction = Literal[
    "row_number", "rank", "dense_rank", "ntile", "lag", "lead", "first_value", "last_value", "aggregate"
]


@dataclass(frozen=True, slots=True)
class RowsAround:
    """How many rows before and after its own a row's window has; None is all of them. Its own is always among them."""

    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """A value of each row among those of its unit that are equal in `partition`."""

    function: WindowFunction
    column: Column
    """The resulting column; its values are clamped to its bounds in all places that read it."""
    arg: str | None = None
    """The column of which `lag`, `lead`, `first_value` and `last_value` take a value."""
    number: int | None = None
    """How far `lag` and `lead` look, or how many parts `ntile` makes."""
    partition: tuple[str, ...] = ()
    """The keys that tell rows apart beside the unit."""
    order: tuple[tuple[str, str], ...] = ()
    """Columns, and how each is ordered."""
    frame: RowsAround | None = None
    """None: in an order all rows up to those that tie with the row's own, else all."""
    value: UnitValue | None = None
    """The value that `aggregate` aggregates; its arguments are columns of the rows."""
