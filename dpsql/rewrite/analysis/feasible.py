"""Whether a condition can hold at all where each column is within an interval, and for a column that is NULL.

What an engine computes lies within `float_range`, whatever the function is; so what is found impossible is.
"""

from collections.abc import Iterator
from fractions import Fraction

from dpsql.errors import DpsqlError
from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.float_range import rounded
from dpsql.rewrite.analysis.predicates import assumed
from dpsql.rewrite.functions.comparisons import is_whole, number_of
from dpsql.rewrite.functions.logical import branches
from dpsql.rewrite.functions.table import function_of
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref
from dpsql.rewrite.ir.facts import Env

ANY, NONE = Fraction(10) ** 400, Fraction(-1)
"""The room of what is not understood, which may be true, and of what is false."""


def room(condition: Expr, env: Env, *, ends: bool = False) -> Fraction:
    """Return by how much a condition may be true, or may be at the ends that it leaves out: below 0 it can't.

    fare >= 100 where fare is from 0 to 150  →  50
    """
    match condition:
        case Const(value=value):
            return ANY if value is True else NONE
        case Apply(op="and", args=args):
            return min(room(arg, env, ends=ends) for arg in args)
        case Apply(op="or", args=args):
            return max(room(arg, env, ends=ends) for arg in args)
        case Apply(op="case"):
            taken = _branches(condition, env)
            return max((room(result, within, ends=ends) for result, within in taken), default=NONE)
        case Apply(op="lt" | "le" | "gt" | "ge" | "eq" as op, args=(a, b)):
            return _compared(op, a, b, env, ends=ends)
        case Apply(op="in", args=(a, *listed)):
            return max(_compared("eq", a, b, env, ends=ends) for b in listed)
        case _:
            return ANY


def _compared(op: str, a: Expr, b: Expr, env: Env, *, ends: bool) -> Fraction:
    for case, other in ((a, b), (b, a)):
        if isinstance(case, Apply) and case.op == "case":
            pairs = [((r, other) if case is a else (other, r), within) for r, within in _branches(case, env)]
            return max((_compared(op, *pair, within, ends=ends) for pair, within in pairs), default=NONE)
    one, other_range = _range(a, env), _range(b, env)
    if one is None or other_range is None:
        return ANY
    whole = _is_counted(a) and _is_counted(b)
    if not whole:
        one, other_range = rounded(one), rounded(other_range)
    if op == "eq":
        return min(one.high - other_range.low, other_range.high - one.low)
    found = other_range.high - one.low if op in {"lt", "le"} else one.high - other_range.low
    strict = op in {"lt", "gt"} and (whole or not ends)
    return found - 1 if strict and (whole or not found) else found


def _branches(case: Apply, env: Env) -> Iterator[tuple[Expr, Env]]:
    """Yield the results of a CASE that there may be, each with what is known where it is."""
    possible = True
    for condition, result in branches(case):
        within, taken = assumed(condition, env, holds=True, chosen=True)
        if possible and taken and room(condition, within, ends=True) >= 0:
            yield result, within
        env, left = assumed(condition, env, holds=False, chosen=True)
        possible = possible and left
    if possible:
        yield case.args[-1], env


def _is_counted(expr: Expr) -> bool:
    """Return whether engines compare the values as whole numbers, however large they are."""
    return is_whole(expr) or expr.type.is_span


def _range(expr: Expr, env: Env) -> Interval | None:
    """Return where an engine's values of a number or a time are; None where that is not known."""
    number = number_of(expr)
    if number is not None:
        return Interval(number, number)
    try:
        return facts(expr, env).float_range
    except DpsqlError:
        return None


def is_null_without(condition: Expr, ref: Ref) -> bool:
    """Return whether a condition is never true where a column is NULL."""
    match condition:
        case Ref():
            return condition == ref
        case Apply(op="and", args=args):
            return any(is_null_without(arg, ref) for arg in args)
        case Apply(op="or", args=args):
            return all(is_null_without(arg, ref) for arg in args)
        case Apply(op="in" | "nullif", args=(a, *_)):
            return is_null_without(a, ref)
        case Apply():
            function = function_of(condition)
            strict = function.null is any and not (function.never_null or function.logical or function.conditional)
            return strict and any(is_null_without(arg, ref) for arg in condition.args)
        case _:
            return False
