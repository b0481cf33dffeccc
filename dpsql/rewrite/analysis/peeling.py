"""The innermost expression that decides a key one to one: rows are grouped by it instead of the key.

floor(fare / 10) * 10 + 5  →  floor(fare / 10)        price, a numeric(10, 2)  →  price * 100, a whole number
"""

from collections.abc import Iterator
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.functions.domains import Cell
from dpsql.rewrite.functions.table import function_of, integral
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, refs, walk
from dpsql.rewrite.ir.literal import simplest


def within(expr: Expr) -> Expr | None:
    """Return what decides `expr` one to one; None if that is nothing but itself."""
    match expr:
        case Ref():
            return _place(expr)
        case Apply():
            inverse = function_of(expr).inverse
            if inverse is None or (inverse.of_whole and not integral(expr.args[0])):
                return None
            inner = inverse.inner(expr)
            return inner if inner is not None and refs(inner) else None
        case Const():
            return None


def around(expr: Expr, value: Value) -> Cell:
    """Return the value of `expr` where what is within it has a value."""
    if isinstance(expr, Ref) and expr.column.step is not None:
        return simplest(value * expr.column.step)  # type: ignore[operator]  # the place is a number
    inverse = function_of(expr).inverse if isinstance(expr, Apply) else None
    if inverse is None or not isinstance(expr, Apply):
        raise InternalError
    return inverse.outer(expr, value)


def core(expr: Expr) -> Expr:
    """Return the innermost expression whose values engines tell apart as exact arithmetic does; `expr` if there is none."""
    return next((layer for layer in _layers(expr) if _exact(layer)), expr)


def shown_as(expr: Expr, grouped: Expr, value: Cell) -> Cell:
    """Return the value of `expr` where `grouped`, which is within it, has a value."""
    between = []
    for layer in _layers(expr):
        if layer == grouped:
            break
        between.append(layer)
    for layer in reversed(between):
        value = None if value is None else around(layer, value)
    return value


def is_rounded(expr: Expr) -> bool:
    """Return whether something in it is computed by an engine's own library, which may round otherwise than another."""
    inverses = (function_of(part).inverse for part in walk(expr) if isinstance(part, Apply))
    return any(inverse is not None and inverse.rounded for inverse in inverses)


def _layers(expr: Expr) -> Iterator[Expr]:
    inner: Expr | None = expr
    while inner is not None:
        yield inner
        inner = within(inner)


def _exact(expr: Expr) -> bool:
    return not expr.type.is_number or integral(expr)


def _place(ref: Ref) -> Expr | None:
    """Return which multiple of its step a column with digits after the point is: a whole number, rounded to it if need be."""
    step = ref.column.step
    if not ref.type.is_number or ref.type.is_integer or not step or ref.column.bounds is None:
        return None
    multiple = Apply("mul", (ref, Const(simplest(Fraction(1, step)), SqlType.NUMERIC)), SqlType.NUMERIC)
    return Apply("to_integer", (multiple,), SqlType.BIGINT)
