"""Three-valued logic and conditionals."""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.arithmetic import hull
from dpsql.rewrite.functions.function import (
    Cell,
    Condition,
    Domains,
    EmitRule,
    EvaluateRule,
    Function,
    infix,
    order_of,
    template,
)
from dpsql.rewrite.functions.steps import of_all, of_first, of_results
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Expr, Facts, Ref, both, conjuncts, factor_out

# Comparisons: `a < b`, `a IN (…)`, `a IS NULL`, and what they say about a column.

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
    # 5 < x is x > 5.
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


def _constants(apply: Apply) -> Sequence[Value] | None:
    """Return the constants with which one thing is compared; without NULL, to which nothing is equal."""
    constants = [arg.value for arg in apply.args if isinstance(arg, Const)]
    values = [value for value in constants if value is not None]
    return values if values and len(constants) + 1 == len(apply.args) else None


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
        settles=True,
        evaluate=_compared(op),
        condition=Condition(
            compared=_only_variable,
            narrows=_narrowed,
            lists=_constants if op == "eq" else lambda _: None,
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
    # 3 IN (1, NULL) is NULL, for NULL might be 3.
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
        settles=True,
        evaluate=lambda args, _: args[0] == args[1],
        condition=Condition(compared=_only_variable),
    ),
    Function(
        "in",
        "a IN (…)",
        _membership,
        needs_bounds=False,
        settles=True,
        evaluate=_is_member,
        condition=Condition(
            compared=_only_first,
            narrows=_among,
            lists=_constants,
            pairs=lambda apply: [(apply.args[0], listed) for listed in apply.args[1:]],
            room=_room_to_be_equal,
        ),
    ),
)


def only_branch(expr: Expr) -> tuple[Expr, Expr, Expr] | None:
    """Return condition, result and default of `CASE WHEN … THEN … ELSE … END`; None for any other expression."""
    if isinstance(expr, Apply) and expr.op == "case" and len(expr.args) == 3:
        condition, result, default = expr.args
        return condition, result, default
    return None


def negated_condition(expr: Expr) -> Expr | None:
    """Return the condition a of NOT a; None for any other expression."""
    return expr.args[0] if isinstance(expr, Apply) and expr.op == "not" else None


def branches(apply: Apply) -> Iterator[tuple[Expr, Expr]]:
    """Yield the conditions of a CASE, each with its result."""
    return zip(apply.args[:-1:2], apply.args[1:-1:2], strict=True)


def within_branches(apply: Apply) -> Apply:
    """Return a function of a CASE as the CASE of its results, each of which is of fewer values than all of them together.

    date_trunc('day', CASE WHEN t < u THEN t - 5h ELSE t - 4h END)
    →  CASE WHEN t < u THEN date_trunc('day', t - 5h) ELSE date_trunc('day', t - 4h) END
    """
    places = [place for place, arg in enumerate(apply.args) if not isinstance(arg, Const)]
    inner = apply.args[places[0]] if len(places) == 1 else None
    if not isinstance(inner, Apply) or inner.op != "case" or apply.op == "case":
        return apply
    results = {*range(1, len(inner.args) - 1, 2), len(inner.args) - 1}
    parts = (
        replace(apply, args=(*apply.args[: places[0]], arg, *apply.args[places[0] + 1 :])) if place in results else arg
        for place, arg in enumerate(inner.args)
    )
    return replace(inner, args=tuple(parts), type=apply.type)


def _joined(word: str) -> EmitRule:
    return lambda args, _, __: f"({f' {word} '.join(args)})"


def _and(args: Sequence[Value | None], _: Apply) -> Value | None:
    return False if False in args else (None if None in args else True)


def _or(args: Sequence[Value | None], _: Apply) -> Value | None:
    return True if True in args else (None if None in args else False)


def _none_holds(apply: Apply, denied: Callable[[Expr], Expr]) -> Expr:
    return both(*map(denied, apply.args))


def _case(args: Sequence[str], _: Apply, __: Dialect) -> str:
    pairs = " ".join(f"WHEN {c} THEN {r}" for c, r in zip(args[:-1:2], args[1:-1:2], strict=True))
    return f"(CASE {pairs} ELSE {args[-1]} END)"


def _case_interval(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    results = [*range(1, len(intervals) - 1, 2), len(intervals) - 1]
    shown = [intervals[i] for i in results if not _is_null(apply.args[i])]
    return hull(shown, apply) if shown else None


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is None


def _chosen(args: Sequence[Value | None], _: Apply) -> Value | None:
    pairs = zip(args[:-1:2], args[1:-1:2], strict=True)
    return next((result for holds, result in pairs if holds is True), args[-1])


def _of_branches(apply: Apply, domains: Domains) -> Sequence[Cell]:
    values: set[Cell] = set()
    # CASE WHEN n < 3 THEN n ELSE 9 END  →  the values of n below 3, and 9. What stands behind a branch is for rows where its
    # condition is false, or NULL.
    for condition, result in branches(apply):
        values |= set(domains.where(condition, holds=True).of(result))
        domains = domains.where(condition, holds=False)
    return sorted({*values, *domains.of(apply.args[-1])} - {None}, key=order_of)


def _of_any(apply: Apply, domains: Domains) -> Sequence[Cell]:
    return sorted({v for result in apply.args for v in domains.of(result) if v is not None}, key=order_of)


def _but_one(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    """Take the value that becomes NULL off the end of a whole number's interval, as in x / NULLIF(n, 0)."""
    a, b = intervals
    if a is None or b is None or b.width or a.low == a.high or not apply.type.is_integer:
        return a
    return Interval(a.low + (a.low == b.low), a.high - (a.high == b.low))


def _others(apply: Apply, domains: Domains) -> Sequence[Cell]:
    a, b = apply.args
    other = b.value if isinstance(b, Const) else None
    return [v for v in domains.of(a) if v is not None and v != other]


def _truth(op: str, word: str, *, value: bool) -> Function:
    return Function(
        op,
        f"a IS {word}",
        template(f"({{0}} IS {word})"),
        never_null=True,
        needs_bounds=False,
        logical=True,
        evaluate=lambda args, _: args[0] is value,
    )


LOGIC: tuple[Function, ...] = (
    Function("and", "a AND b", _joined("AND"), needs_bounds=False, logical=True, evaluate=_and, describe=infix("AND")),
    Function(
        "or",
        "a OR b",
        _joined("OR"),
        needs_bounds=False,
        logical=True,
        evaluate=_or,
        condition=Condition(denied=_none_holds, alternatives=lambda apply: apply.args),
        describe=infix("OR"),
    ),
    Function(
        "not",
        "NOT a",
        template("(NOT {0})"),
        needs_bounds=False,
        logical=True,
        evaluate=lambda args, _: None if args[0] is None else not args[0],
    ),
    _truth("is_true", "TRUE", value=True),
    _truth("is_false", "FALSE", value=False),
    Function(
        "case",
        "CASE WHEN … THEN … ELSE … END",
        _case,
        _case_interval,
        null=lambda args: any(args[1:-1:2]) or args[-1],
        needs_bounds=False,
        evaluate=_chosen,
        step=of_results,
        domain=_of_branches,
        conditional=True,
        describe=lambda args, _: f"CASE WHEN {args[0]} …",
    ),
    Function(
        "coalesce",
        "coalesce(a, …)",
        lambda a, _, __: f"coalesce({', '.join(a)})",
        hull,
        null=all,
        needs_bounds=False,
        evaluate=lambda args, _: next((v for v in args if v is not None), None),
        domain=_of_any,
        step=of_all,
    ),
    Function(
        "nullif",
        "nullif(a, b)",
        template("nullif({0}, {1})"),
        _but_one,
        makes_null=True,
        needs_bounds=False,
        settles=True,
        evaluate=lambda args, _: None if args[0] == args[1] else args[0],
        domain=_others,
        step=of_first,
    ),
)


# One form for conditions that mean the same: what stands in one release under other words is found there.
#
# 5 < x AND x IN (b, a)          →  x >= 6, x IN (a, b)      (x a whole number)
# a = b OR a = c                 →  a IN (b, c)
#
# Claim: a row satisfies all conditions of the form if and only if it satisfies the condition. Whether one that is not
# satisfied is false or NULL is not kept, as WHERE does not ask.

_NO_STRICT = {"lt": ("le", -1), "gt": ("ge", 1)}
"""The comparison of whole numbers that says the same and takes in the end."""


def normal_form(*conditions: Expr) -> frozenset[Expr]:
    """Return what holds of the rows for which all conditions hold: each part in one form."""
    parts = (part for condition in conditions for part in conjuncts(factor_out(condition)) if part != TRUE)
    return frozenset(_normal(part) for part in parts)


def _normal(expr: Expr) -> Expr:
    if not isinstance(expr, Apply):
        return expr
    match expr.op:
        case "or":
            return _alternatives(expr)
        case "in":
            return _listed(expr.args[0], frozenset(expr.args[1:]), expr)
        case "ne":
            return replace(expr, args=tuple(sorted(expr.args, key=repr)))
        case _:
            return _turned(expr)


def _turned(expr: Apply) -> Expr:
    """Return a comparison with its constant on the right, or its sides in one order; of whole numbers never a strict one."""
    ways = compared_ways(expr)
    if not ways:
        return expr
    op, a, b = min(ways, key=lambda way: (isinstance(way[1], Const), repr(way[1])))
    number = number_of(b)
    if op in _NO_STRICT and number is not None and number.denominator == 1 and is_whole(a) and is_whole(b):
        op, step = _NO_STRICT[op]
        b = Const(int(number) + step, b.type)
    return Apply(op, (a, b), expr.type)


def _alternatives(expr: Apply) -> Expr:
    """Return conditions of which one has to hold: those that list values of one thing as one list."""
    lists: dict[Expr, set[Expr]] = {}
    others: set[Expr] = set()
    for part in map(_normal, _flat(expr)):
        listed = _values(part)
        if listed is None:
            others.add(part)
        else:
            lists.setdefault(listed[0], set()).update(listed[1])
    parts = [*(_listed(of, frozenset(values), expr) for of, values in lists.items()), *others]
    return parts[0] if len(parts) == 1 else Apply("or", tuple(sorted(parts, key=repr)), expr.type)


def _flat(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Apply) and expr.op == "or":
        for arg in expr.args:
            yield from _flat(arg)
    else:
        yield expr


def _values(expr: Expr) -> tuple[Expr, tuple[Expr, ...]] | None:
    """Return what has to be equal to one of some constants."""
    if not (isinstance(expr, Apply) and expr.op in {"eq", "in"}):
        return None
    of, *values = expr.args
    return (of, tuple(values)) if all(isinstance(value, Const) for value in values) else None


def _listed(of: Expr, values: frozenset[Expr], expr: Apply) -> Expr:
    value, *more = sorted(values, key=repr)
    return _turned(Apply("eq", (of, value), expr.type)) if not more else Apply("in", (of, value, *more), expr.type)
