"""The value of an expression for given column values, in Python and exact: for public values only."""

from collections.abc import Mapping
from typing import assert_never

from dpsql.errors import InternalError
from dpsql.policy.model import Value
from dpsql.rewrite.functions.table import function_of
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, refs


def evaluable(expr: Expr) -> bool:
    """Return whether `evaluate` knows everything in the expression."""
    return not isinstance(expr, Apply) or (function_of(expr).evaluate is not None and all(map(evaluable, expr.args)))


def evaluate(expr: Expr, row: Mapping[Ref, Value | None]) -> Value | None:
    """Return the value of an evaluable expression; None is NULL."""
    match expr:
        case Ref():
            return row[expr]
        case Const():
            return expr.value
        case Apply():
            rule = function_of(expr).evaluate
            if rule is None:
                raise InternalError
            return rule([evaluate(arg, row) for arg in expr.args], expr)
        case _:
            assert_never(expr)


def keeps(condition: Expr, row: Mapping[Ref, Value | None]) -> bool:
    """Return whether WHERE would keep the row; a condition that is not evaluable keeps every row."""
    return not evaluable(condition) or not set(refs(condition)) <= set(row) or evaluate(condition, row) is True
