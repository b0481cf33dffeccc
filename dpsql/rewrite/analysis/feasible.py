"""Whether a condition can hold at all where each column is within an interval, and for a column that is NULL.

A value that an engine computes lies within `float_range`, for every function. So a value outside of it is impossible.
"""

from collections.abc import Iterator
from fractions import Fraction

from dpsql.errors import DpsqlError
from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.float_range import rounded
from dpsql.rewrite.analysis.predicates import assumed
from dpsql.rewrite.functions.comparisons import is_whole, number_of
from dpsql.rewrite.functions.function import Condition
from dpsql.rewrite.functions.logical import branches
from dpsql.rewrite.functions.table import function_of
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, conjuncts
from dpsql.rewrite.ir.facts import Env

ANY, NONE = Fraction(10) ** 400, Fraction(-1)
"""The room of a condition that is not understood, and so may be true; and the room of a false one."""


def room(condition: Expr, env: Env, *, ends: bool = False) -> Fraction:
    """Return the room of a condition: how far values may lie beyond its bound. Below 0 it can't be true.

    With `ends` the bounds that it leaves out count as reached.

    fare >= 100 where fare is from 0 to 150  →  50
    """
    return min(_room(conjunct, env, ends=ends) for conjunct in conjuncts(condition))


def _room(condition: Expr, env: Env, *, ends: bool) -> Fraction:
    if isinstance(condition, Const):
        return ANY if condition.value is True else NONE
    if not isinstance(condition, Apply):
        return ANY
    function = function_of(condition)
    if function.conditional:
        rooms = (room(result, within, ends=ends) for result, within in _branches(condition, env))
        return max(rooms, default=NONE)
    rule = function.condition
    if rule is None:
        return ANY
    if rule.of_null and not _may_be_null(condition.args[0], env):
        return NONE
    alternatives = [room(alternative, env, ends=ends) for alternative in rule.alternatives(condition)]
    compared = [_of_pair(rule, a, b, env, ends=ends) for a, b in rule.pairs(condition)]
    return max((*alternatives, *compared), default=ANY)


def _of_pair(rule: Condition, a: Expr, b: Expr, env: Env, *, ends: bool) -> Fraction:
    """Return the room of one comparison; of a CASE, of each of its results where that can be."""
    if isinstance(a, Apply) and function_of(a).conditional:
        rooms = (_of_pair(rule, result, b, within, ends=ends) for result, within in _branches(a, env))
        return max(rooms, default=NONE)
    if isinstance(b, Apply) and function_of(b).conditional:
        rooms = (_of_pair(rule, a, result, within, ends=ends) for result, within in _branches(b, env))
        return max(rooms, default=NONE)
    interval, other = _range(a, env), _range(b, env)
    if rule.room is None or interval is None or other is None:
        return ANY
    whole = _is_counted(a) and _is_counted(b)
    left = rule.room(interval, other) if whole else rule.room(rounded(interval), rounded(other))
    return left - 1 if rule.strict and (whole or not (ends or left)) else left


def _branches(case: Apply, env: Env) -> Iterator[tuple[Expr, Env]]:
    """Yield the results of a CASE that there may be, each with the facts where it is."""
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


def _may_be_null(expr: Expr, env: Env) -> bool:
    try:
        return facts(expr, env).nullable
    except DpsqlError:
        return True


def is_null_without(condition: Expr, ref: Ref) -> bool:
    """Return whether a condition is never true where a column is NULL."""
    return any(_is_null_without(conjunct, ref) for conjunct in conjuncts(condition))


def _is_null_without(expr: Expr, ref: Ref) -> bool:
    if not isinstance(expr, Apply):
        return expr == ref
    function = function_of(expr)
    rule = function.condition
    if rule is not None and rule.alternatives(expr):
        return all(is_null_without(alternative, ref) for alternative in rule.alternatives(expr))
    if rule is not None and rule.pairs(expr):
        return all(_is_null_without(a, ref) or _is_null_without(b, ref) for a, b in rule.pairs(expr))
    chooses = function.null is not any or function.never_null or function.logical or function.conditional
    if chooses or (function.makes_null and function.evaluate is not None):
        return False
    return any(_is_null_without(arg, ref) for arg in expr.args)
