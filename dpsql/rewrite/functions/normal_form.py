"""One form for conditions that mean the same: what stands in one release under other words is found there.

5 < x AND x IN (b, a)          →  x >= 6, x IN (a, b)      (x a whole number)
a = b OR a = c                 →  a IN (b, c)

Claim: a row satisfies all conditions of the form if and only if it satisfies the condition. Whether one that is not satisfied
is false or NULL is not kept, as WHERE does not ask.
"""

from collections.abc import Iterator
from dataclasses import replace

from dpsql.rewrite.functions.comparisons import compared_ways, is_whole, number_of
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Expr, conjuncts, factored

_NO_STRICT = {"lt": ("le", -1), "gt": ("ge", 1)}
"""The comparison of whole numbers that says the same and takes in the end."""


def normal_form(*conditions: Expr) -> frozenset[Expr]:
    """Return what holds of the rows for which all conditions hold: each part in one form."""
    parts = (part for condition in conditions for part in conjuncts(factored(condition)) if part != TRUE)
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
