"""Facts about the columns in a condition, also through computations on them: the facts that all plans begin with.

`predicates` says of single comparisons which rows pass. Of any other condition it is tried how much of each end of a
column's interval can be left out because no row there passes, as an engine computes it.

least(fare, 30) >= 10 AND fare * 2 BETWEEN 5 AND 60  →  fare from 10 to 30
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis import predicates
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.feasible import is_null_without, room
from dpsql.rewrite.analysis.float_range import as_read
from dpsql.rewrite.analysis.ordered import first_with_room, last_with_room
from dpsql.rewrite.functions.comparisons import is_whole
from dpsql.rewrite.functions.table import function_of
from dpsql.rewrite.ir.expr import Apply, Expr, Ref, conjuncts, refs
from dpsql.rewrite.ir.facts import Facts


def narrowed(columns: Sequence[Ref], condition: Expr, declared: Declared) -> dict[Expr, Facts] | None:
    """Return the facts about `columns` in the rows that satisfy `condition`; None if no row can.

    The condition's facts about an expression are among them, by that expression: its value is the very one that was
    compared.
    """
    env = predicates.said(columns, condition, declared)
    if env is None:
        return None
    for conjunct in conjuncts(condition):
        if _is_computed(conjunct) and not _tried(conjunct, env):
            return None
    return env


def _is_computed(conjunct: Expr) -> bool:
    """Return whether a condition is about more than a plain column and constants, and all constants are exact."""
    if not isinstance(conjunct, Apply) or predicates.blurred(conjunct):
        return False
    condition = function_of(conjunct).condition
    return condition is None or not isinstance(condition.compared(conjunct), Ref)


def _tried(conjunct: Expr, env: dict[Expr, Facts]) -> bool:
    """Leave out of each column's interval what no row that passes has at its ends; return False if no row passes."""
    inside = refs(conjunct)
    own_env: dict[Expr, Facts] = {ref: env[ref] for ref in inside}
    if room(conjunct, own_env) < 0:
        return False
    for ref in inside:
        before = own_env[ref]
        if before.interval is None or before.values is not None:
            continue
        within = before.float_range or as_read(before.interval, ref.type)
        assert within is not None
        after = _without_ends(conjunct, ref, own_env, within)
        nullable = before.nullable and not is_null_without(conjunct, ref)
        interval = before.interval if after == within else _interval(ref, before.interval, within, after)
        own_env[ref] = env[ref] = replace(before, nullable=nullable, interval=interval, float_range=after)
    return True


def _without_ends(conjunct: Expr, ref: Ref, own_env: dict[Expr, Facts], within: Interval) -> Interval:
    """Return a column's interval, as an engine reads it, without the ends where a condition can't hold."""
    whole = is_whole(ref) or ref.type.is_span

    def room_between(low: Fraction, high: Fraction) -> Fraction:
        part = Interval(low, high)
        return room(conjunct, {**own_env, ref: Facts(nullable=False, interval=part, float_range=part)}, ends=True)

    if room_between(within.low, within.high) < 0:
        return within  # only NULL passes
    low = first_with_room(lambda end: room_between(within.low, end), within, whole=whole)
    rest = Interval(low, within.high)
    high = last_with_room(lambda end: room_between(end, rest.high), rest, whole=whole)
    return Interval(low, high)


def _interval(ref: Ref, declared: Interval, within: Interval, after: Interval) -> Interval:
    """Return a column's interval by the decimal numbers that people write, on its own lattice."""
    if is_whole(ref) or ref.type.is_span:
        return after
    low = declared.low if after.low == within.low else _written(after.low, ref, math.ceil)
    high = declared.high if after.high == within.high else _written(after.high, ref, math.floor)
    return Interval(low, high) if low <= high else declared


def _written(number: Fraction, ref: Ref, rounded: Callable[[Fraction], int]) -> Fraction:
    decimal, step = Fraction(repr(float(number))), ref.column.step
    return rounded(decimal / step) * step if step else decimal
