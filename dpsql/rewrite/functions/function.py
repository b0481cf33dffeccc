"""What one entry of the function table is.

It says which type a call has, which interval holds all its values, and how an engine computes it *without ever
failing*, since an error that depends on data would be a release. Intervals only decide clamps and group keys, and every
statistic is clamped again, so an interval that is too small costs accuracy and never privacy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.ir.expr import Apply

LARGEST = Fraction(10) ** 140
"""What numbers in double precision are kept below, so that no product or quotient of two can overflow."""

IntervalRule = Callable[[Sequence[Interval | None], Apply], Interval | None]
EmitRule = Callable[[Sequence[str], Apply, Dialect], str]


def unknown(_: Sequence[Interval | None], __: Apply) -> Interval | None:
    """Say nothing about the values."""
    return None


@dataclass(frozen=True, slots=True)
class Function:
    """One operator or function over rows."""

    op: str
    """Our name for it, in `Apply.op`."""
    sql: str
    """How people write it, for the documentation."""
    emit: EmitRule
    interval: IntervalRule = unknown
    makes_null: bool = False
    """Whether it can be NULL although no argument is."""
    eats_null: bool = False
    """Whether it is never NULL, whatever its arguments are."""
    needs_bounds: bool = True
    """Whether numbers and times given to it must be bounded, so that it can't overflow."""
    note: str = ""
    """What differs from PostgreSQL, for the documentation."""


def template(pattern: str) -> EmitRule:
    """Emit the same text on every engine; `{0}`, `{1}` … are the arguments."""
    return lambda args, _, __: pattern.format(*args)


def cast_to(type_: SqlType) -> EmitRule:
    """Emit a cast of the only argument."""
    return lambda args, _, dialect: dialect.cast(args[0], type_)


def integral(expr: object) -> bool:
    """Say whether every value is a whole number, whatever its type."""
    if not isinstance(expr, Apply):
        kind = getattr(expr, "type", None)
        value = getattr(expr, "value", None)
        return bool(kind and kind.is_integer) or (type(value) is int)
    if expr.op == "round" and isinstance(expr.option, str):
        return int(expr.option) <= 0
    if expr.type.is_integer or expr.op in {"floor", "ceil", "trunc", "round", "sign", "width_bucket", "extract", "age"}:
        return expr.option not in {"epoch", "second", "milliseconds", "julian"}
    return expr.op in {"add", "sub", "mul", "neg", "abs"} and all(integral(arg) for arg in expr.args)


def wide(*types: SqlType) -> SqlType:
    """Return the type of arithmetic over numbers of these types, as PostgreSQL chooses it."""
    if any(t.is_float for t in types):
        return SqlType.DOUBLE
    if SqlType.NUMERIC in types:
        return SqlType.NUMERIC
    return SqlType.BIGINT
