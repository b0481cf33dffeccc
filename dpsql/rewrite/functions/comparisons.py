"""Comparisons: `a < b`, `a IN (…)`, `a IS NULL`, and what they say about a column."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.function import Condition, EvaluateRule, Function, infix, template
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Facts, Ref

_FAR = Fraction(10) ** 400
_EVERYWHERE = Interval(-_FAR, _FAR)
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
"""The operator between the sides of a comparison when they change places."""


def equation(expr: Expr) -> tuple[Expr, Expr] | None:
    """Return both sides of `a = b`; None for any other expression."""
    if isinstance(expr, Apply) and expr.op == "eq":
        a, b = expr.args
        return a, b
    return None


def are_exact_numbers(a: Expr, b: Expr) -> bool:
    """Return whether both are columns of numbers, one of them a numeric, whose stored values are told apart exactly.

    Their equation is one of texts (`Dialect.exact_text`): in double precision different numbers may be equal.
    """
    return SqlType.NUMERIC in (a.type, b.type) and _is_exact(a) and _is_exact(b)


def _is_exact(expr: Expr) -> bool:
    if not isinstance(expr, Ref) or expr.public or expr.column.bounds is not None or expr.column.values is not None:
        return False
    return expr.type.is_integer or (expr.type is SqlType.NUMERIC and expr.column.names_unit)


def compared_ways(expr: Expr) -> tuple[tuple[str, Expr, Expr], ...]:
    """Return a comparison that leaves a stretch both ways: `a < b` as lt, a, b and as gt, b, a; none for anything else."""
    if not (isinstance(expr, Apply) and expr.op in _TURNED):
        return ()
    a, b = expr.args
    return ((expr.op, a, b), (_TURNED[expr.op], b, a))


def number_of(expr: Expr) -> Fraction | None:
    """Return the number that a constant is; None for any other expression."""
    if not isinstance(expr, Const) or expr.value is None or isinstance(expr.value, str):
        return None
    return Fraction(expr.value)


def is_whole(expr: Expr) -> bool:
    """Return whether values are whole numbers by their type: dates and times are counted in days and microseconds."""
    return expr.type.is_integer or expr.type.is_temporal


def _below(value: Fraction, step: int) -> Interval:
    return Interval(-_FAR, value - step)


def _above(value: Fraction, step: int) -> Interval:
    return Interval(value + step, _FAR)


_HALVES: dict[str, Callable[[Fraction, int], Interval | None]] = {
    "lt": _below,
    "le": lambda value, _: _below(value, 0),
    "gt": _above,
    "ge": lambda value, _: _above(value, 0),
    "eq": lambda value, _: Interval(value, value),
    "ne": lambda _, __: None,
}
"""The values of x where `x op value` holds; strict comparisons of whole numbers move by one step."""
_MIRROR = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_HOLDS: dict[str, Callable[[Fraction | str, Fraction | str], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_SIGNS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _narrowed(apply: Apply, about: Expr) -> Interval | None:
    op, (a, b) = apply.op, apply.args
    if b == about:
        op, a, b = _MIRROR[op], b, a
    value = number_of(b)
    if a != about or value is None:
        return None
    return _HALVES[op](value, 1 if is_whole(about) and value.denominator == 1 else 0)


def _as_stored(op: str) -> Callable[[Interval, Fraction], bool]:
    """Return the test for one comparison, where a column's interval is L to U.

    For L < c ≤ U: x < c iff clamp(x) < c, and so for ≥; for L ≤ c < U the same of ≤ and >; for L < c < U of = and <>.
    """
    if op in {"lt", "ge"}:
        return lambda within, c: within.low < c <= within.high
    if op in {"le", "gt"}:
        return lambda within, c: within.low <= c < within.high
    return lambda within, c: within.low < c < within.high


def _only_variable(apply: Apply) -> Expr | None:
    variables = [arg for arg in apply.args if not isinstance(arg, Const)]
    return variables[0] if len(variables) == 1 else None


def _only_first(apply: Apply) -> Expr | None:
    variable = _only_variable(apply)
    return variable if variable == apply.args[0] else None


def _texts(apply: Apply) -> Sequence[str] | None:
    """Return the constants, where they are texts, or NULL, to which nothing is equal."""
    values = [arg.value for arg in apply.args if isinstance(arg, Const) and arg.value is not None]
    texts = [value for value in values if isinstance(value, str)]
    return texts if texts and len(texts) == len(values) else None


def _compared(op: str) -> EvaluateRule:
    holds = _HOLDS[op]

    def evaluate(args: Sequence[Value | None], _: Apply) -> Value | None:
        a, b = args
        return None if a is None or b is None else holds(_exact(a), _exact(b))

    return evaluate


def _exact(value: Value) -> Fraction | str:
    return value if isinstance(value, str) else Fraction(value)


def _room_below(interval: Interval, other: Interval) -> Fraction:
    return other.high - interval.low


def _room_above(interval: Interval, other: Interval) -> Fraction:
    return interval.high - other.low


def _room_to_be_equal(interval: Interval, other: Interval) -> Fraction:
    return min(_room_below(interval, other), _room_above(interval, other))


_ROOMS = {"lt": _room_below, "le": _room_below, "gt": _room_above, "ge": _room_above, "eq": _room_to_be_equal}


def _comparison(op: str) -> Function:
    return Function(
        op,
        f"a {_SIGNS[op]} b",
        template(f"({{0}} {_SIGNS[op]} {{1}})"),
        needs_bounds=False,
        evaluate=_compared(op),
        condition=Condition(
            compared=_only_variable,
            narrows=_narrowed,
            lists=_texts if op == "eq" else lambda _: None,
            denied=lambda apply, _: replace(apply, op=_OPPOSITE[op]),
            strict=op in ("lt", "gt"),
            excludes_one=op == "ne",
            pairs=lambda apply: [(apply.args[0], apply.args[1])],
            room=_ROOMS.get(op),
            as_stored=_as_stored(op),
        ),
        describe=infix(_SIGNS[op]),
    )


def _membership(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    type_ = apply.args[0].type
    if type_.is_number and not type_.is_integer:
        return f"({dialect.one_of_numbers(args[0], ', '.join(args[1:]))})"
    return f"({args[0]} IN ({', '.join(args[1:])}))"


def _is_member(args: Sequence[Value | None], _: Apply) -> Value | None:
    first, *rest = args
    if first is None:
        return None
    return True if first in rest else (None if None in rest else False)


def _among(apply: Apply, about: Expr) -> Interval | None:
    numbers = [number_of(arg) for arg in apply.args[1:]]
    present = [n for n in numbers if n is not None]
    whole = apply.args[0] == about and present and len(present) == len(numbers)
    return Interval(min(present), max(present)) if whole else None


COMPARISONS: tuple[Function, ...] = (
    *map(_comparison, _SIGNS),
    Function(
        "is_null",
        "a IS NULL",
        template("({0} IS NULL)"),
        never_null=True,
        needs_bounds=False,
        evaluate=lambda args, _: args[0] is None,
        facts=lambda arg_facts, _: Facts.of_values((False, True) if arg_facts.nullable else (False,), nullable=False),
        condition=Condition(compared=_only_variable, of_null=True),
    ),
    Function(
        "same",
        "a IS NOT DISTINCT FROM b",
        template("({0} IS NOT DISTINCT FROM {1})"),
        never_null=True,
        needs_bounds=False,
        evaluate=lambda args, _: args[0] == args[1],
        condition=Condition(compared=_only_variable),
    ),
    Function(
        "in",
        "a IN (…)",
        _membership,
        needs_bounds=False,
        evaluate=_is_member,
        condition=Condition(
            compared=_only_first,
            narrows=_among,
            lists=_texts,
            pairs=lambda apply: [(apply.args[0], listed) for listed in apply.args[1:]],
            room=_room_to_be_equal,
        ),
    ),
)
