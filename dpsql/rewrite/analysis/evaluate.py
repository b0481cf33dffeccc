"""The value of an expression for given column values, in Python and exact: for public values only."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne

from dpsql.policy.model import Value
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, refs

_COMPARE = {"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}
LOGICAL = frozenset({"and", "or", "not", "is_true", "is_false"})
"""What makes conditions of conditions."""
_KNOWN = frozenset({*_COMPARE, *LOGICAL, "is_null", "in", "map", "case", "coalesce", "same", "nullif"})


def evaluable(expr: Expr) -> bool:
    """Say whether `evaluate` knows everything in the expression."""
    return not isinstance(expr, Apply) or (expr.op in _KNOWN and all(evaluable(arg) for arg in expr.args))


def evaluate(expr: Expr, row: Mapping[Ref, Value | None]) -> Value | None:
    """Return the value of an evaluable expression; None is NULL."""
    match expr:
        case Ref():
            return row[expr]
        case Const():
            return expr.value
        case Apply(op="case"):
            return _case(expr, row)
        case Apply(op="coalesce"):
            return next((v for v in (evaluate(arg, row) for arg in expr.args) if v is not None), None)
        case Apply():
            return _strict(expr, [evaluate(arg, row) for arg in expr.args])


def keeps(condition: Expr, row: Mapping[Ref, Value | None]) -> bool:
    """Say whether WHERE would keep the row; a condition that is not evaluable keeps every row."""
    return not evaluable(condition) or not set(refs(condition)) <= set(row) or evaluate(condition, row) is True


def _case(expr: Apply, row: Mapping[Ref, Value | None]) -> Value | None:
    for condition, result in zip(expr.args[:-1:2], expr.args[1:-1:2], strict=True):
        if evaluate(condition, row) is True:
            return evaluate(result, row)
    return evaluate(expr.args[-1], row)


def _strict(expr: Apply, args: Sequence[Value | None]) -> Value | None:
    match expr.op:
        case "and":
            return False if False in args else (None if None in args else True)
        case "or":
            return True if True in args else (None if None in args else False)
        case "is_null":
            return args[0] is None
        case "is_true" | "is_false":
            return args[0] is (expr.op == "is_true")
        case "same":
            return args[0] == args[1]
        case "nullif":
            return None if args[0] == args[1] else args[0]
        case _:
            return None if args[0] is None else _of_value(expr, args)


def _of_value(expr: Apply, args: Sequence[Value | None]) -> Value | None:
    first, rest = args[0], args[1:]
    if expr.op == "not":
        return not first
    if expr.op == "map":
        assert isinstance(expr.option, tuple)
        return dict(zip(rest, expr.option, strict=True)).get(first)
    if expr.op == "in":
        return True if first in rest else (None if None in rest else False)
    return None if rest[0] is None else bool(_COMPARE[expr.op](_number(first), _number(rest[0])))


def _number(value: Value | None) -> Fraction | str:
    return value if isinstance(value, str) else Fraction(value or 0)
