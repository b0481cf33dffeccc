"""Facts about the columns in a condition: smaller intervals, fewer values, no NULL.

A row that stays satisfies every conjunct, so each may be used by itself. A condition that is not understood says
nothing.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
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
_ENDLESS = 10**300
"""No number of an engine's is larger."""


def said(columns: Sequence[Ref], condition: Expr, declared: Declared) -> dict[Expr, Facts] | None:
    """Return the facts about `columns` in the rows that satisfy `condition`; None if no row can.

    The condition's facts about an expression are among them, by that expression: its value is the very one that was
    compared.
    """
    env: dict[Expr, Facts] = {ref: declared.facts_of(ref) for ref in dict.fromkeys((*columns, *refs(condition)))}
    for conjunct in conjuncts(condition):
        if isinstance(conjunct, Const) and conjunct.value is not True:
            return None
        if not _apply(conjunct, env):
            return None
    return env


def where(condition: Expr, env: Env, *, holds: bool) -> Env:
    """Return the facts where a condition holds, or where it does not: false, or NULL.

    An engine may compute what is in one branch for rows of another, so that only a column of whole numbers, by which
    nothing can overflow, is nearer than before to what an engine computes.
    """
    return assumed(condition, env, holds=holds, chosen=False)[0]


def assumed(condition: Expr, env: Env, *, holds: bool, chosen: bool) -> tuple[Env, bool]:
    """Return the same, and whether it can be so at all; of rows that are `chosen` nothing else is computed."""
    narrowed_env, possible = dict(env), True
    for conjunct in conjuncts(condition if holds else denied(condition)):
        about = _about(conjunct)
        if about is None or (isinstance(about, Ref) and narrowed_env[about].values is not None):
            continue
        before = narrowed_env.get(about, Facts())
        own_env = {about: before}
        if not _apply(conjunct, own_env):
            possible = possible and not holds and before.nullable
            continue
        near = chosen or (isinstance(about, Ref) and about.type.is_integer)
        wide = before.float_range or (as_read(before.interval, about.type) if isinstance(about, Ref) else None)
        within = own_env[about].float_range if near else wide
        narrowed_env[about] = replace(own_env[about], nullable=before.nullable, float_range=within)
    return narrowed_env, possible


def denied(expr: Expr) -> Expr:
    """Return what holds of values where a condition does not.

    NOT (n < 3 OR n = 7)  →  n >= 3 AND n <> 7
    """
    condition = _condition(expr)
    denial = condition.denied(expr, denied) if isinstance(expr, Apply) and condition else None
    return TRUE if denial is None else denial


def _condition(expr: Expr) -> Condition | None:
    return function_of(expr).condition if isinstance(expr, Apply) else None


def _about(conjunct: Expr) -> Expr | None:
    """Return the one thing that a condition compares with constants; None if it is none, or compares two."""
    condition = _condition(conjunct)
    return condition.compared(conjunct) if condition is not None and isinstance(conjunct, Apply) else None


def _apply(conjunct: Expr, env: dict[Expr, Facts]) -> bool:
    """Narrow `env` by one conjunct; return False if nothing can satisfy it."""
    inside, about, condition = refs(conjunct), _about(conjunct), _condition(conjunct)
    if len(inside) == 1 and not (inside[0].type.is_integer and blurred(conjunct)):
        (ref,) = inside
        if env.get(ref, Facts()).values is not None and evaluable(conjunct):
            return _among_values(conjunct, ref, env)
    if about is None or condition is None or not isinstance(conjunct, Apply):
        return True
    if condition.of_null and isinstance(about, Ref):
        return env[about].nullable  # a row that has NULL where none is declared counts nowhere that the column is used
    if blurred(conjunct) and (is_whole(about) or isinstance(about, Apply)):
        return True
    if isinstance(about, Ref) and condition.excludes_one and env[about].interval is not None and is_whole(about):
        return _without(conjunct, about, env)
    listed = condition.lists(conjunct) if about.type is SqlType.TEXT else None
    if listed is not None:
        return _among_texts(listed, about, env)
    bound = condition.narrows(conjunct, about)
    if bound is None:
        return True
    if blurred(conjunct):
        bound = bound.hull(_compared(bound, strict=False) or bound)
    return _limit(about, bound, env, strict=condition.strict)


def _limit(about: Expr, bound: Interval, env: dict[Expr, Facts], *, strict: bool) -> bool:
    """Narrow what is within a bound, and what it is computed of without rounding; return False if nothing can be there.

    abs(x) < 5  →  x between -5 and 5
    """
    narrowed_facts = _narrowed(about, env.get(about), bound, strict=strict)
    if narrowed_facts is None:
        return False
    env[about] = narrowed_facts
    preimage = function_of(about).preimage if isinstance(about, Apply) else None
    if preimage is None or not isinstance(about, Apply):
        return True
    (inner,), inside = about.args, preimage(bound)
    if inside is None:
        return False
    return env.get(inner, Facts()).values is not None or _limit(inner, inside, env, strict=strict)


def _among_values(conjunct: Expr, ref: Ref, env: dict[Expr, Facts]) -> bool:
    """Leave those of a column's values for which a condition holds."""
    ref_facts = env[ref]
    values = tuple(v for v in ref_facts.values or () if evaluate(conjunct, {ref: v}) is True)
    nullable = ref_facts.nullable and evaluate(conjunct, {ref: None}) is True
    # To an engine a number that is not whole may be equal to one that is only very near.
    within = None if ref.type.is_integer else ref_facts.float_range or as_read(ref_facts.interval, ref.type)
    env[ref] = replace(Facts.of_values(values, nullable=nullable), float_range=within)
    return bool(values) or nullable


def _among_texts(texts: Sequence[str], about: Expr, env: dict[Expr, Facts]) -> bool:
    """Leave the texts of a list, which are public as the statement is; return False if nothing can be one of them.

    note IN ('a', 'b') → note is a or b, for any declaration of notes
    """
    before = env.get(about, Facts()).values
    kept = tuple(text for text in sorted(set(texts)) if before is None or text in before)
    env[about] = Facts.of_values(kept, nullable=False)
    return bool(kept)


def _narrowed(about: Expr, about_facts: Facts | None, bound: Interval, *, strict: bool) -> Facts | None:
    """Return the facts about a column or an expression that is within a bound too; None if there are none."""
    about_facts = about_facts or Facts()
    interval: Interval | None = bound
    if about_facts.interval is not None:
        interval = about_facts.interval.meet(bound)
    elif isinstance(about, Ref):
        interval = None
    if interval is not None and is_whole(about):
        low, high = Fraction(math.ceil(interval.low)), Fraction(math.floor(interval.high))
        interval = Interval(low, high) if low <= high else None
    if interval is None:
        return replace(about_facts, nullable=False) if about_facts.interval is None else None
    if is_whole(about):
        return replace(about_facts, nullable=False, interval=interval)
    computed = _compared(bound, strict=strict)
    if computed is None:
        return None
    before = about_facts.float_range or (as_read(about_facts.interval, about.type) if isinstance(about, Ref) else None)
    within = computed if before is None else before.meet(computed)
    return None if within is None else replace(about_facts, nullable=False, interval=interval, float_range=within)


def _compared(bound: Interval, *, strict: bool) -> Interval | None:
    """Return where the numbers are that an engine finds within a bound, in double precision; None if nowhere.

    abs(x) < 0  →  None
    """
    low, high = _next(bound.low, math.inf, strict=strict), _next(bound.high, -math.inf, strict=strict)
    return Interval(low, high) if low <= high else None


def _next(end: Fraction, towards: float, *, strict: bool) -> Fraction:
    if abs(end) >= _ENDLESS:
        return end
    return Fraction(math.nextafter(float(end), towards) if strict else float(end))


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


def _without(conjunct: Apply, ref: Ref, env: dict[Expr, Facts]) -> bool:
    """Take a value off the end of a column's interval."""
    ref_facts = env[ref]
    interval, value = ref_facts.interval, next((number_of(arg) for arg in conjunct.args if arg != ref), None)
    if interval is None or value is None or ref not in conjunct.args:
        return True
    if interval.low == interval.high == value:
        return False
    low, high = interval.low + (interval.low == value), interval.high - (interval.high == value)
    env[ref] = replace(ref_facts, nullable=False, interval=Interval(low, high))
    return True
