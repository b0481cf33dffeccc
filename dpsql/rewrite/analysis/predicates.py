"""Facts about the columns in a condition, also through computations on them: the facts that all plans begin with.

`predicates` says of single comparisons which rows pass. Of any other condition it is tried how much of each end of a
column's interval can be left out because no row there passes, as an engine computes it.

least(fare, 30) >= 10 AND fare * 2 BETWEEN 5 AND 60  →  fare from 10 to 30
"""

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.errors import DpsqlError
from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis import bounds
from dpsql.rewrite.analysis.bounds import as_read, facts, facts_if_possible, interval_in_doubles
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.functions.function import Condition
from dpsql.rewrite.functions.logical import branches, is_whole, number_of
from dpsql.rewrite.functions.table import decimals_computed, digits_to_settle, function_of
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.expr import Apply, Const, Env, Expr, Facts, Ref, conjuncts, refs

# Whether a condition can hold at all where each column is within an interval, and for a column that is NULL.
#
# A value that an engine computes lies within its range of floats (`bounds`), for every function. So a value outside of it
# is impossible.

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
    # fare < 0 where fare begins at 0: the room is 0, which is enough for <= and not for <.
    left = rule.room(interval, other) if whole else rule.room(interval_in_doubles(interval), interval_in_doubles(other))
    return left - 1 if rule.strict and (whole or not (ends or left)) else left


def _branches(case: Apply, env: Env) -> Iterator[tuple[Expr, Env]]:
    """Yield the results of a CASE that there may be, each with the facts where it is."""
    possible = True
    for condition, result in branches(case):
        within, taken = facts_if_possible(condition, env, holds=True, chosen=True)
        if possible and taken and room(condition, within, ends=True) >= 0:
            yield result, within
        env, left = facts_if_possible(condition, env, holds=False, chosen=True)
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
        within = facts(expr, env).float_range
    except DpsqlError:
        return None
    if within is not None and digits_to_settle(expr) is not None:
        return bounds.beside_digits(within)
    decimals = decimals_computed(expr)
    # What is compared is the decimal that a number in double precision is a little beside.
    return within if within is None or decimals is None else bounds.beside(within, decimals)


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


# Where, among the whole numbers or those of double precision, there begins to be room: found by halving, and by guessing.

_SIGN = 1 << 63
_STRAIGHT, _COARSE, _FINE = 6, 16, 64
"""So many steps follow a straight line; then some halve what lies between, before round numbers are tried; near 0 the
numbers in double precision are so many that in the end their places are halved."""
_UNITS = (DAY, 3_600_000_000, 60_000_000, 1_000_000, 1000, 100, 10)

Room = Callable[[Fraction], Fraction]


def first_with_room(room: Room, within: Interval, *, whole: bool) -> Fraction:
    """Return the least number of an interval for which there is room, 0 or more, as there is from there to its end."""
    before, after = room(within.low), room(within.high)
    if before >= 0 or after < 0:  # where there is none at the end, nothing is known of what lies before
        return within.low
    fails, fits = _place(within.low, whole=whole), _place(within.high, whole=whole)
    step, last = 0, True
    # There is no room at `fails`, and there is at `fits`: both come nearer until nothing lies between.
    while fits - fails > 1:
        below, above = _at(fails, whole=whole), _at(fits, whole=whole)
        straight = below + (above - below) * before / (before - after)
        guess = _guess(step, straight, below, above, whole=whole)
        beside = fits - 1 if last else fails + 1
        middle = beside if guess is None else min(max(guess, fails + 1), fits - 1)
        left = room(_at(middle, whole=whole))
        last = left >= 0
        if last:
            fits, after = middle, left
        else:
            fails, before = middle, left
        step += 1
    return _at(fits, whole=whole)


def last_with_room(room: Room, within: Interval, *, whole: bool) -> Fraction:
    """Return the greatest number of an interval for which there is room, as there is from its beginning to there."""
    return -first_with_room(lambda number: room(-number), Interval(-within.high, -within.low), whole=whole)


def _guess(step: int, straight: Fraction, below: Fraction, above: Fraction, *, whole: bool) -> int | None:
    """Return the place to try next; None for one beside the last that was tried."""
    if step < _STRAIGHT:
        return _place(straight, whole=whole) if step % 2 == 0 else None
    if step >= _COARSE and step % 4 < 2:
        return _place(_round_number(below, above, whole=whole), whole=whole) if step % 4 == 0 else None
    if step < _FINE:
        return _place((below + above) / 2, whole=whole)
    return (_place(below, whole=whole) + _place(above, whole=whole)) // 2


def _round_number(low: Fraction, high: Fraction, *, whole: bool) -> Fraction:
    """Return a number above low, and not above high, with the fewest digits after the point; a round one of whole numbers."""
    units = map(Fraction, _UNITS) if whole else (Fraction(1, 10**digits) for digits in range(18))
    for unit in units:
        above = (math.floor(low / unit) + 1) * unit
        if above <= high:
            return above
    return high


def _place(number: Fraction, *, whole: bool) -> int:
    """Return the place of a number, or of the one below it, among all; that of 0 is 0."""
    if whole:
        return math.floor(number)
    # The bits of positive doubles, read as whole numbers, are in the numbers' own order, without gaps; those of negative ones
    # run backwards from the sign's bit.
    (bits,) = struct.unpack("<q", struct.pack("<d", float(number)))
    return int(bits) if bits >= 0 else -int(bits + _SIGN)


def _at(place: int, *, whole: bool) -> Fraction:
    if whole:
        return Fraction(place)
    (number,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return Fraction(-number if place < 0 else number)


def refine_by_predicate(columns: Sequence[Ref], condition: Expr, declared: DeclaredFacts) -> dict[Expr, Facts] | None:
    """Return the facts about `columns` in the rows that satisfy `condition`; None if no row can.

    The condition's facts about an expression are among them, by that expression: its value is the very one that was
    compared.
    """
    env = bounds.refine_by_comparisons(columns, condition, declared)
    if env is None:
        return None
    for conjunct in conjuncts(condition):
        if _is_computed(conjunct) and not _tried(conjunct, env):
            return None
    return env


def _is_computed(conjunct: Expr) -> bool:
    """Return whether a condition is about more than a plain column and constants, and all constants are exact."""
    if not isinstance(conjunct, Apply) or bounds.has_inexact_constants(conjunct):
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
