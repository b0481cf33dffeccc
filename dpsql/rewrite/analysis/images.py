"""The images of few values under arithmetic: every key that can occur, and none that cannot, as an engine computes it.

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
    rows = _cases(expr, listed)
    return None if rows is None else sorted({_computed(expr, row) for row in rows}, key=order_of)


def decimal_image(expr: Apply, listed: Listed) -> Sequence[tuple[Cell, Cell]] | None:
    """Return the same of a `numeric`: each value as an engine computes it in double precision, and exactly.

    None also where the two do not go together one to one: what PostgreSQL takes for one group would be two, or two one.
    """
    rows = _cases(expr, listed)
    if rows is None:
        return None
    pairs = {(_computed(expr, row), _computed(expr, row, _exactly)) for row in rows}
    one_to_one = len({a for a, _ in pairs}) == len(pairs) == len({b for _, b in pairs})
    return sorted(pairs, key=lambda pair: order_of(pair[1])) if one_to_one else None


def _cases(expr: Apply, listed: Listed) -> list[Mapping[Expr, Cell]] | None:
    """Return every combination of the values of what an expression is computed of."""
    if _rule(expr) is None:
        return None
    parts: dict[Expr, Sequence[Cell]] = {}
    if not all(_collect(arg, listed, parts) for arg in expr.args) or not parts:
        return None
    if math.prod(map(len, parts.values())) > _MOST_CASES:
        return None
    return [dict(zip(parts, case, strict=True)) for case in itertools.product(*parts.values())]


def _rule(expr: Apply) -> EvaluateRule | None:
    function = function_of(expr)
    return function.computed or (function.evaluate if expr.type.is_integer else None)


def _in_double(value: Cell, expr: Expr) -> Cell:
    if value is None or isinstance(value, str) or expr.type.is_integer or not expr.type.is_number:
        return value
    return simplest(Fraction(float(value)))


def _exactly(value: Cell, expr: Expr) -> Cell:
    return _in_double(value, expr) if expr.type.is_float else value


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


def _computed(expr: Expr, row: Mapping[Expr, Cell], rounded: Callable[[Cell, Expr], Cell] = _in_double) -> Cell:
    """Return the value of an expression, rounded after each operation, as an engine has it in double precision."""
    if isinstance(expr, Const):
        return rounded(expr.value, expr)
    if expr in row:
        return rounded(row[expr], expr)
    assert isinstance(expr, Apply)
    rule = _rule(expr)
    assert rule is not None
    return rounded(rule([_computed(arg, row, rounded) for arg in expr.args], expr), expr)
