"""Expressions over columns, typed; what is known of their values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, assert_never

from dpsql.errors import InternalError
from dpsql.frozen import HashedOnce, hashed_once, quickly_made
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType, Value


@hashed_once
@quickly_made
@dataclass(frozen=True, slots=True)
class Ref(HashedOnce):
    """The value of a column of a scanned table, clamped to its bounds or domain."""

    source: int
    """The number of the relation's source."""
    table: str
    name: str
    column: Column = field(compare=False)
    optional: bool = False
    """Whether the row may be missing: the right side of a LEFT JOIN."""
    public: bool = field(default=False, compare=False)
    """Whether everybody may see the table's rows."""

    @property
    def type(self) -> SqlType:
        """Return the declared type."""
        return self.column.type


@hashed_once
@quickly_made
@dataclass(frozen=True, slots=True)
class Const(HashedOnce):
    """A value that does not depend on any row; None is NULL. Days and microseconds stand for dates and timestamps."""

    value: Value | None
    type: SqlType


@dataclass(frozen=True, slots=True)
class IntervalValue:
    """A constant INTERVAL, in PostgreSQL's three parts."""

    months: int
    days: int
    micros: int

    def times(self, factor: int) -> "IntervalValue":
        """Return the span taken `factor` times."""
        return IntervalValue(self.months * factor, self.days * factor, self.micros * factor)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of time, of DATE_TRUNC."""

    name: str


@dataclass(frozen=True, slots=True)
class TimeField:
    """A field of a time or an age, of EXTRACT."""

    name: str


@dataclass(frozen=True, slots=True)
class Digits:
    """How many digits after the point ROUND leaves; negative for places before it. Of a decimal, how many it has in all."""

    number: int


@dataclass(frozen=True, slots=True)
class Bins:
    """The size of DATE_BIN's bins and where one begins, in microseconds."""

    size: int
    origin: int


@dataclass(frozen=True, slots=True)
class Buckets:
    """How many parts WIDTH_BUCKET makes."""

    number: int


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a map, one for each of its keys."""

    values: tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class AllWhole:
    """Says that all arguments are whole numbers, in any types."""


Option = Unit | TimeField | Digits | Bins | Buckets | Results | AllWhole | IntervalValue
OptionT = TypeVar("OptionT", bound=Option)


@hashed_once
@quickly_made
@dataclass(frozen=True, slots=True)
class Apply(HashedOnce):
    """A function of the table in `functions` applied to expressions."""

    op: str
    args: tuple["Expr", ...]
    type: SqlType
    option: Option | None = None
    """The constants that the statement fixes and that are no expressions: a unit of time, a number of digits, the
    results of a map."""
    operations: int = field(init=False, compare=False, repr=False)
    """How many functions are applied in it, this one included: a part that stands in two places counts twice."""

    def __post_init__(self) -> None:
        """Count."""
        object.__setattr__(self, "operations", 1 + sum(a.operations for a in self.args if isinstance(a, Apply)))


Expr = Ref | Const | Apply


def option(apply: Apply, kind: type[OptionT]) -> OptionT:
    """Return the option of a function that has one of that kind.

    Raises:
        InternalError: it has another.
    """
    if not isinstance(apply.option, kind):
        raise InternalError
    return apply.option


TRUE, FALSE = Const(True, SqlType.BOOLEAN), Const(False, SqlType.BOOLEAN)
NULL = Const(None, SqlType.TEXT)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield the expression and all its parts."""
    yield expr
    if isinstance(expr, Apply):
        for arg in expr.args:
            yield from walk(arg)


def refs(*exprs: Expr) -> tuple[Ref, ...]:
    """Return the columns read, each once, in order of first appearance."""
    seen: dict[Ref, None] = {}
    pending = [*reversed(exprs)]
    while pending:  # asked of every expression again and again
        node = pending.pop()
        if type(node) is Apply:
            pending += reversed(node.args)
        elif type(node) is Ref:
            seen[node] = None
    return tuple(seen)


def with_refs(expr: Expr, change: Callable[[Ref], Ref]) -> Expr:
    """Return the expression with other columns in the places of its own."""
    match expr:
        case Ref():
            return change(expr)
        case Const():
            return expr
        case Apply():
            return Apply(expr.op, tuple(with_refs(arg, change) for arg in expr.args), expr.type, expr.option)
        case _:
            assert_never(expr)


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """Return the parts of a conjunction, however nested."""
    if isinstance(expr, Apply) and expr.op == "and":
        return tuple(part for arg in expr.args for part in conjuncts(arg))
    return (expr,)


def factor_out(expr: Expr) -> Expr:
    """Return a condition with what all sides of an OR share before it: the same of true, false and NULL.

    (k = j AND a) OR (k = j AND b)  →  k = j AND (a OR b), also beside other conditions
    """
    parts = conjuncts(expr)
    if len(parts) > 1:
        return both(*map(factor_out, parts))
    if not (isinstance(expr, Apply) and expr.op == "or"):
        return expr
    sides = [conjuncts(side) for side in expr.args]
    shared = [part for part in sides[0] if all(part in side for side in sides[1:])]
    if not shared:
        return expr
    rest = [both(*(part for part in side if part not in shared)) for side in sides]
    return both(*shared) if TRUE in rest else both(*shared, Apply("or", tuple(rest), expr.type))


def both(*exprs: Expr) -> Expr:
    """Return the conjunction."""
    # Each part once, and no part that is true: what means the same shall be equal, and be found again.
    parts = tuple(dict.fromkeys(part for expr in exprs for part in conjuncts(expr) if part != TRUE))
    if not parts:
        return TRUE
    return parts[0] if len(parts) == 1 else Apply("and", parts, SqlType.BOOLEAN)


def negation(condition: Expr) -> Expr:
    """Return the opposite of a condition: NOT (NOT x)  →  x."""
    if isinstance(condition, Apply) and condition.op == "not":
        return condition.args[0]
    return Apply("not", (condition,), SqlType.BOOLEAN)


# Facts about the values of one expression, gathered without looking at any value.


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
    the range of floats. Engines may compute what they are asked for such a row, and leave it out then."""

    @classmethod
    def of_values(cls, values: tuple[Value, ...], *, nullable: bool) -> "Facts":
        """Build from a domain; its interval is the domain's hull."""
        if not values or isinstance(values[0], str):
            return cls(nullable, None, values)
        numbers = [v for v in values if not isinstance(v, str)]
        return cls(nullable, Interval.of(min(numbers), max(numbers)), values)


Env = Mapping[Expr, Facts]
"""Facts about columns: declared ones, narrowed by what WHERE says; and what it says about expressions beside that."""
