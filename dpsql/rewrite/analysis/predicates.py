"""What a condition says about the columns in it: smaller intervals, fewer values, no NULL.

A row that stays satisfies every conjunct, so each may be used by itself. What is not understood says nothing.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import Value
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.evaluate import evaluable, evaluate
from dpsql.rewrite.analysis.float_range import as_read
from dpsql.rewrite.functions.comparisons import is_whole, number_of
from dpsql.rewrite.functions.function import Condition
from dpsql.rewrite.functions.table import function_of
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Expr, Ref, Results, conjuncts, refs, walk
from dpsql.rewrite.ir.facts import Env, Facts

_EXACT = 2**53
"""Smaller whole numbers are exact in double precision."""


def narrowed(columns: Sequence[Ref], condition: Expr, declared: Declared) -> dict[Ref, Facts] | None:
    """Return the facts about `columns` in the rows that satisfy `condition`; None if no row can."""
    env = {ref: declared.one(ref) for ref in dict.fromkeys((*columns, *refs(condition)))}
    for conjunct in conjuncts(condition):
        if isinstance(conjunct, Const) and conjunct.value is not True:
            return None
        if not _apply(conjunct, env):
            return None
    return env


def where(condition: Expr, env: Env, *, holds: bool) -> Env:
    """Return what is known about whole numbers where a condition holds, or where it does not: false, or NULL."""
    said = conjuncts(condition if holds else _denied(condition))
    known = dict(env)
    for conjunct in said:
        (ref, *others) = refs(conjunct) or (None,)
        if ref is None or others or not ref.type.is_integer or known[ref].values is not None:
            continue
        one = {ref: known[ref]}
        if _apply(conjunct, one):
            known[ref] = replace(one[ref], nullable=known[ref].nullable)
    return known


def _denied(expr: Expr) -> Expr:
    """Return what holds of values where a condition does not.

    NOT (n < 3 OR n = 7)  →  n >= 3 AND n <> 7
    """
    condition = _condition(expr)
    found = condition.denied(expr, _denied) if isinstance(expr, Apply) and condition else None
    return TRUE if found is None else found


def _condition(expr: Expr) -> Condition | None:
    return function_of(expr).condition if isinstance(expr, Apply) else None


def _apply(conjunct: Expr, env: dict[Ref, Facts]) -> bool:
    """Narrow `env` by one conjunct; return False if nothing can satisfy it."""
    inside = refs(conjunct)
    if len(inside) != 1:
        return True
    (ref,) = inside
    known = env[ref]
    if ref.type.is_integer and blurred(conjunct):
        return True
    if known.values is not None and evaluable(conjunct):
        values = tuple(v for v in known.values if evaluate(conjunct, {ref: v}) is True)
        nullable = known.nullable and evaluate(conjunct, {ref: None}) is True
        # To an engine a number that is not whole may be equal to one that is only very near.
        within = None if ref.type.is_integer else known.float_range or as_read(known.interval, ref.type)
        env[ref] = replace(Facts.of_values(values, nullable=nullable), float_range=within)
        return bool(values) or nullable
    condition = _condition(conjunct)
    if not isinstance(conjunct, Apply) or condition is None:
        return True
    if condition.excludes_one and known.interval is not None and is_whole(ref):
        return _without(conjunct, ref, env)
    bound = condition.narrows(conjunct, ref)
    if bound is None:
        return True
    interval = known.interval.meet(bound) if known.interval is not None else None
    if interval is not None and is_whole(ref):
        low, high = Fraction(math.ceil(interval.low)), Fraction(math.floor(interval.high))
        interval = Interval(low, high) if low <= high else None
    env[ref] = replace(known, nullable=False, interval=interval)
    return known.interval is None or interval is not None


def blurred(condition: Expr) -> bool:
    """Return whether a condition has a constant that in double precision is another, or may equal other whole numbers."""
    return any(_is_blurred(value) for part in walk(condition) for value in _doubles(part))


def _doubles(expr: Expr) -> Iterator[Fraction]:
    """Yield the constants that an engine reads in double precision."""
    values: Sequence[Value | None] = ()
    match expr:
        case Const(value=value):
            values = (value,)
        case Apply(option=Results(values=results)):
            values = results
    if expr.type.is_number and not expr.type.is_integer:
        yield from (Fraction(value) for value in values if isinstance(value, Fraction | int))


def _is_blurred(number: Fraction) -> bool:
    return abs(number) >= _EXACT or Fraction(repr(float(number))) != number


def _without(conjunct: Apply, ref: Ref, env: dict[Ref, Facts]) -> bool:
    """Take a value off the end of a column's interval."""
    known = env[ref]
    interval, value = known.interval, next((number_of(arg) for arg in conjunct.args if arg != ref), None)
    if interval is None or value is None or ref not in conjunct.args:
        return True
    if interval.low == interval.high == value:
        return False
    low, high = interval.low + (interval.low == value), interval.high - (interval.high == value)
    env[ref] = replace(known, nullable=False, interval=Interval(low, high))
    return True
