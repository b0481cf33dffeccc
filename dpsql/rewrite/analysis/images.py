"""What arithmetic makes of few values: every key that can occur, and none that cannot, as an engine computes it.

abs(floor(fare / 10) * 10)  →  each of floor(fare / 10), which are known, times 10, without its sign
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from dpsql.rewrite.functions.domains import Cell, order_of
from dpsql.rewrite.functions.function import EvaluateRule
from dpsql.rewrite.functions.table import function_of
from dpsql.rewrite.ir.expr import Apply, Const, Expr
from dpsql.rewrite.ir.literal import simplest

_MOST_CASES = 20_000
"""Combinations of values that are tried."""

Listed = Callable[[Expr], Sequence[Cell] | None]
"""Returns all values of an expression where they are few, NULL included; else None."""


def image(expr: Apply, listed: Listed) -> Sequence[Cell] | None:
    """Return all values of an expression, in order, that is computed of others whose values are listed; else None."""
    if _rule(expr) is None:
        return None
    parts: dict[Expr, Sequence[Cell]] = {}
    if not all(_collect(arg, listed, parts) for arg in expr.args) or not parts:
        return None
    if math.prod(map(len, parts.values())) > _MOST_CASES:
        return None
    rows = (dict(zip(parts, case, strict=True)) for case in itertools.product(*parts.values()))
    return sorted({_computed(expr, row) for row in rows}, key=order_of)


def _rule(expr: Apply) -> EvaluateRule | None:
    function = function_of(expr)
    return function.computed or (function.evaluate if expr.type.is_integer else None)


def _collect(expr: Expr, listed: Listed, parts: dict[Expr, Sequence[Cell]]) -> bool:
    """Add what an expression is computed of, as far inside as values are listed; return whether they all are."""
    if isinstance(expr, Const):
        return True
    if isinstance(expr, Apply) and _rule(expr) is not None:
        inside = dict(parts)
        if all(_collect(arg, listed, inside) for arg in expr.args):
            parts |= inside
            return True
    if expr not in parts:
        values = listed(expr)
        if values is None:
            return False
        parts[expr] = values
    return True


def _computed(expr: Expr, row: Mapping[Expr, Cell]) -> Cell:
    """Return the value of an expression, rounded to double precision after each operation, as an engine has it."""
    if isinstance(expr, Const):
        return _in_double(expr.value, expr)
    if expr in row:
        return _in_double(row[expr], expr)
    assert isinstance(expr, Apply)
    rule = _rule(expr)
    assert rule is not None
    return _in_double(rule([_computed(arg, row) for arg in expr.args], expr), expr)


def _in_double(value: Cell, expr: Expr) -> Cell:
    if value is None or isinstance(value, str) or expr.type.is_integer or not expr.type.is_number:
        return value
    return simplest(Fraction(float(value)))
