"""Row-level expressions, resolved and typed: the small language between the client's SQL and the engine's."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import assert_never

from dpsql.policy.model import Column, SqlType, Value


@dataclass(frozen=True, slots=True)
class Ref:
    """The value of a column of a scanned table, clamped to its bounds or domain."""

    source: int
    """Which of the relation's sources."""
    table: str
    name: str
    column: Column = field(compare=False)
    optional: bool = False
    """Whether the row may be missing: the right side of a LEFT JOIN."""

    @property
    def type(self) -> SqlType:
        """Return the declared type."""
        return self.column.type


@dataclass(frozen=True, slots=True)
class Const:
    """A value that does not depend on any row; None is NULL. Days and microseconds stand for dates and timestamps."""

    value: Value | None
    type: SqlType


@dataclass(frozen=True, slots=True)
class Span:
    """A constant INTERVAL, in PostgreSQL's three parts."""

    months: int
    days: int
    micros: int

    def times(self, factor: int) -> "Span":
        """Return the span taken `factor` times."""
        return Span(self.months * factor, self.days * factor, self.micros * factor)


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of the table `functions.py` applied to expressions."""

    op: str
    args: tuple["Expr", ...]
    type: SqlType
    option: str | Span | tuple[Value | None, ...] | None = None
    """What is fixed by the statement and is not an expression: a unit of time, a pattern, the keys of a map."""


Expr = Ref | Const | Apply

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
    return tuple(dict.fromkeys(node for expr in exprs for node in walk(expr) if isinstance(node, Ref)))


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """Return the parts of a conjunction, however nested."""
    if isinstance(expr, Apply) and expr.op == "and":
        return tuple(part for arg in expr.args for part in conjuncts(arg))
    return (expr,)


def both(*exprs: Expr) -> Expr:
    """Return the conjunction."""
    parts = tuple(dict.fromkeys(part for expr in exprs for part in conjuncts(expr) if part != TRUE))
    if not parts:
        return TRUE
    return parts[0] if len(parts) == 1 else Apply("and", parts, SqlType.BOOLEAN)


_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "and": "AND", "or": "OR", "power": "^",
}  # fmt: skip


def describe(expr: Expr) -> str:
    """Return the expression for a message, much as people write it."""
    match expr:
        case Ref():
            return expr.name
        case Const():
            number = isinstance(expr.value, Fraction)
            return "NULL" if expr.value is None else str(float(expr.value) if number else expr.value)
        case Apply():
            return _described(expr, [describe(arg) for arg in expr.args])
        case _:
            assert_never(expr)


def _described(expr: Apply, args: list[str]) -> str:
    if expr.op in _INFIX:
        return f" {_INFIX[expr.op]} ".join(f"({a})" if " " in a else a for a in args)
    match expr.op:
        case "map":
            return f"a function of {args[0]}"
        case "case":
            return f"CASE WHEN {args[0]} …"
        case "date_trunc":
            return f"date_trunc('{expr.option}', {args[0]})"
        case "extract":
            return f"extract({expr.option} FROM {args[0]})"
        case "age":
            return f"extract({expr.option} FROM age(…))"
        case "to_double" | "to_integer" | "date_to_timestamp" | "timestamp_to_date":
            return args[0]
        case "shift" | "shift_by":
            return f"{args[0]} + interval …"
        case "neg":
            return f"-{args[0]}"
        case _:
            return f"{expr.op}({', '.join(args)})"
