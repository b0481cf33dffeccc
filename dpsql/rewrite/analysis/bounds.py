"""From facts about columns to facts about expressions of them: NULL-ability, interval, finite domain."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from dpsql.errors import InternalError, MissingBounds, Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.dialects.base import TINY
from dpsql.rewrite.functions.arithmetic import widen
from dpsql.rewrite.functions.function import LARGEST, Condition, FloatRange, first_argument
from dpsql.rewrite.functions.logical import branches, is_whole, number_of
from dpsql.rewrite.functions.table import decimals_computed, describe, digits_to_settle, function_of
from dpsql.rewrite.ir.calendar import DATES, MOMENTS
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Env, Expr, Facts, Ref, Results, conjuncts, refs, walk

# The value of an expression for given column values, in Python and exact: for public values only.


def evaluable(expr: Expr) -> bool:
    """Return whether `evaluate` knows everything in the expression."""
    return not isinstance(expr, Apply) or (function_of(expr).evaluate is not None and all(map(evaluable, expr.args)))


def evaluate(expr: Expr, row: Mapping[Ref, Value | None]) -> Value | None:
    """Return the value of an evaluable expression; None is NULL."""
    match expr:
        case Ref():
            return row[expr]
        case Const():
            return expr.value
        case Apply():
            rule = function_of(expr).evaluate
            if rule is None:
                raise InternalError
            return rule([evaluate(arg, row) for arg in expr.args], expr)
        case _:
            assert_never(expr)


def keeps(condition: Expr, row: Mapping[Ref, Value | None]) -> bool:
    """Return whether WHERE would keep the row; a condition that is not evaluable keeps every row."""
    return not evaluable(condition) or not set(refs(condition)) <= set(row) or evaluate(condition, row) is True


# Where an engine's numbers can be, which it computes in double precision: a little beside where exact ones would be.
#
# A value that is exactly 0 may come out as 1e-17 and, multiplied often enough, overflow: for one row, which would tell
# of it. A single operation rounds to the nearest number and so keeps the order of its arguments: the ends of an
# interval, rounded in the same way, hold all its values. Where there are several operations, or a jump, some slack is
# added.


def as_read(interval: Interval | None, type_: SqlType) -> Interval | None:
    """Return where a column or a constant is as an engine reads it."""
    return interval_in_doubles(interval) if interval is not None and _is_double(type_) else interval


def computed_range(expr: Apply, given: Sequence[Interval | None], nullable: Sequence[bool]) -> Interval | None:
    """Return where the values of `expr` are, its arguments being where `given` says; None if that is not bounded.

    An argument that can be `nullable` may be left out by a function that chooses among its arguments.

    Raises:
        OverflowError, ValueError, ZeroDivisionError: they can't be computed there.
    """
    function, double = function_of(expr), _is_double(expr.type)
    args = [_argument(i, expr, function.float_range, double=double) for i in given]
    chosen = function.interval_of_present
    interval = function.interval(args, expr) if chosen is None else chosen(args, nullable)
    if interval is None or not double:
        return interval
    if function.float_range.several:
        interval = widen(interval)
    if function.float_range.beside is not None:
        interval = function.float_range.beside(interval, args)
    return interval_in_doubles(interval)


def _argument(interval: Interval | None, expr: Apply, rule: FloatRange, *, double: bool) -> Interval | None:
    if interval is None:
        return None
    if double and expr.args[0].type.is_number:
        interval = interval_in_doubles(interval)
    if not double and rule.folds_constants and not interval.magnitude:
        return Interval.of(0, 1)
    if double and rule.flushes_tiny:
        interval = interval.hull(Interval(_flushed(interval.low), _flushed(interval.high)))
    return widen(interval) if rule.jumps else interval


def _is_double(type_: SqlType) -> bool:
    return type_.is_number and not type_.is_integer


@lru_cache(maxsize=1024)  # the same few bounds are read again and again
def interval_in_doubles(interval: Interval) -> Interval:
    """Return an interval with its ends as they are in double precision."""
    return Interval(Fraction(float(interval.low)), Fraction(float(interval.high)))


def _flushed(number: Fraction) -> Fraction:
    return Fraction(float(number) + float(TINY) - float(TINY))


# Facts about the columns in a condition: smaller intervals, fewer values, no NULL.
#
# A row that stays satisfies every conjunct, so each may be used by itself. A condition that is not understood says
# nothing.

_EXACT = 2**53
"""Smaller whole numbers are exact in double precision."""
_DECIMALS, _SHORT = 10**6, 10**9
"""A number of six decimals below that has fifteen digits at most, and two such are told apart in double precision."""
_BITS = {SqlType.SMALLINT: 15, SqlType.INTEGER: 31}
_MOST_LISTED = 10_000
"""Values of a column without bounds, of which a condition says both ends."""
_NEAR = Fraction(1, 10**14)
"""More than decimals are beside what they are settled as by their digits in all, relative to it."""
_ENDLESS = 10**300
"""No number of an engine's is larger."""


def refine_by_comparisons(columns: Sequence[Ref], condition: Expr, declared: DeclaredFacts) -> dict[Expr, Facts] | None:
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
    unknown = [ref for ref in dict.fromkeys(columns) if env[ref].interval is None and env[ref].values is None]
    return env if all(_between(ref, condition, env) for ref in unknown if is_whole(ref)) else None


def _between(ref: Ref, condition: Expr, env: dict[Expr, Facts]) -> bool:
    """List the values of a column without bounds, of which both ends are said; return False if it has none.

    week BETWEEN 1 AND 3 → week is 1, 2 or 3
    """
    about = [c for c in conjuncts(condition) if refs(c) == (ref,) and not has_inexact_constants(c)]
    bounds = [bound for c in about if (bound := _bound(c, ref)) is not None]
    low = math.ceil(max((bound.low for bound in bounds), default=-LARGEST))
    high = math.floor(min((bound.high for bound in bounds), default=LARGEST))
    if high - low >= _MOST_LISTED:
        return True
    env[ref] = Facts(nullable=False, values=tuple(range(low, high + 1)))
    return low <= high and all(_apply(conjunct, env) for conjunct in about)


def _bound(conjunct: Expr, ref: Ref) -> Interval | None:
    condition = _condition(conjunct)
    if condition is None or not isinstance(conjunct, Apply) or condition.compared(conjunct) != ref:
        return None
    return condition.narrows(conjunct, ref)


def facts_where(condition: Expr, env: Env, *, holds: bool) -> Env:
    """Return the facts where a condition holds, or where it does not: false, or NULL.

    An engine may compute what is in one branch for rows of another, so that only a column of whole numbers, by which
    nothing can overflow, is nearer than before to what an engine computes.
    """
    return facts_if_possible(condition, env, holds=holds, chosen=False)[0]


def facts_if_possible(condition: Expr, env: Env, *, holds: bool, chosen: bool) -> tuple[Env, bool]:
    """Return the same, and whether it can be so at all; of rows that are `chosen` nothing else is computed."""
    narrowed_env, possible = dict(env), True
    for conjunct in conjuncts(condition if holds else complement_of(condition)):
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


def complement_of(expr: Expr) -> Expr:
    """Return what holds of values where a condition does not.

    NOT (n < 3 OR n = 7)  →  n >= 3 AND n <> 7
    """
    condition = _condition(expr)
    denial = condition.denied(expr, complement_of) if isinstance(expr, Apply) and condition else None
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
    if len(inside) == 1 and not (inside[0].type.is_integer and has_inexact_constants(conjunct)):
        (ref,) = inside
        if env.get(ref, Facts()).values is not None and evaluable(conjunct):
            return _among_values(conjunct, ref, env)
    if about is None and len(inside) == 1 and is_whole(inside[0]) and not has_inexact_constants(conjunct):
        listed = _alternatives(conjunct, inside[0])
        return True if listed is None else _among_numbers(listed, inside[0], env)
    if about is None or condition is None or not isinstance(conjunct, Apply):
        return True
    if condition.of_null and isinstance(about, Ref):
        return env[about].nullable  # a row that has NULL where none is declared counts nowhere that the column is used
    if has_inexact_constants(conjunct) and (is_whole(about) or isinstance(about, Apply)):
        return True
    if isinstance(about, Ref) and condition.excludes_one and env[about].interval is not None and is_whole(about):
        return _without(conjunct, about, env)
    listed = condition.lists(conjunct)
    if listed is not None and about.type is SqlType.TEXT:
        return _among_texts([str(text) for text in listed], about, env)
    if listed is not None and isinstance(about, Ref) and is_whole(about):
        return _among_numbers(listed, about, env)
    bound = condition.narrows(conjunct, about)
    if bound is None:
        return True
    if has_inexact_constants(conjunct):
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
    if ref_facts.interval is None and is_whole(ref):
        env[ref] = Facts(nullable, values=values)
        return bool(values) or nullable
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


def _alternatives(expr: Expr, ref: Ref) -> Sequence[Value] | None:
    """Return the values of which a column is one where a condition holds; None where it says no such thing.

    grade = 1 OR grade IN (5, 12) → 1, 5, 12
    """
    condition = _condition(expr)
    if condition is None or not isinstance(expr, Apply):
        return None
    if condition.compared(expr) == ref:
        return condition.lists(expr)
    every = [_alternatives(alternative, ref) for alternative in condition.alternatives(expr)]
    known = [values for values in every if values is not None]
    return [value for values in known for value in values] if known and len(known) == len(every) else None


def _among_numbers(listed: Sequence[Value], ref: Ref, env: dict[Expr, Facts]) -> bool:
    """Leave the whole numbers of a list that are within a column's bounds; return False if none is.

    grade IN (1, 12) → grade is 1 or 12. Without bounds nothing can be computed with it, as engines may do for any row.
    """
    interval, numbers = env[ref].interval, [Fraction(value) for value in listed]
    whole = sorted({int(number) for number in numbers if number.denominator == 1})
    bits = _BITS.get(ref.type, 63)
    kept = tuple(n for n in whole if (n in interval if interval is not None else -(2**bits) <= n < 2**bits))
    if kept:
        env[ref] = Facts(nullable=False, values=kept) if interval is None else Facts.of_values(kept, nullable=False)
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
    computed = _as_computed(about, bound, strict=strict)
    if computed is None:
        return None
    before = about_facts.float_range or (as_read(about_facts.interval, about.type) if isinstance(about, Ref) else None)
    within = computed if before is None else before.meet(computed)
    return None if within is None else replace(about_facts, nullable=False, interval=interval, float_range=within)


def _as_computed(about: Expr, bound: Interval, *, strict: bool) -> Interval | None:
    """Return where what an engine finds within a bound is, as it computes it.

    Computed decimals are settled before they are compared: those that are kept lie a little beside a decimal in the bound.
    """
    if digits_to_settle(about) is not None:
        return beside_digits(bound)
    decimals = decimals_computed(about)
    return _compared(bound, strict=strict) if decimals is None else beside(bound, decimals, strict=strict)


def beside_digits(bound: Interval) -> Interval:
    """Return where decimals that are settled by their digits in all are, as an engine computes them, within a bound."""
    return Interval(bound.low - abs(bound.low) * _NEAR, bound.high + abs(bound.high) * _NEAR)


def beside(bound: Interval, decimals: int, *, strict: bool = False) -> Interval | None:
    """Return where decimals of so many digits are, as an engine computes them, that are within a bound."""
    near = Fraction(-1 if strict else 1, 10 ** (decimals + 6))
    low, high = bound.low - near, bound.high + near
    return Interval(low, high) if low <= high else None


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


def has_inexact_constants(condition: Expr) -> bool:
    """Return whether a condition has a constant that in double precision is another, or may equal other whole numbers."""
    return any(_is_blurred(value) for part in walk(condition) for value in _doubles(part))


def _doubles(expr: Expr) -> Sequence[Value | None]:
    """Return the constants that an engine reads in double precision."""
    if not _is_double(expr.type):
        return ()
    match expr:
        case Const(value=value):
            return (value,)
        case Apply(option=Results(values=results)):
            return results
    return ()


def _is_blurred(value: Value | None) -> bool:
    if not isinstance(value, Fraction | int):
        return False
    numerator, denominator = value.as_integer_ratio()
    if abs(numerator) >= _EXACT * denominator:
        return True
    if _DECIMALS % denominator == 0 and abs(numerator) < denominator * _SHORT:
        return False
    return Fraction(repr(float(value))) != value


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


_DATES, _MOMENTS = Interval.of(*DATES), Interval.of(*MOMENTS)
"""Times that every engine can compute with: an error of one that can't would say something about a row."""

_LARGEST = int(LARGEST)
_MOST_BITS = 8192
"""More than any number in double precision and its powers have; Python does not write numbers much longer."""


def facts(expr: Expr, env: Env) -> Facts:
    """Return the facts about `expr`.

    Raises:
        MissingBounds: arithmetic on a column without bounds, which could overflow.
    """
    match expr:
        case Ref():
            expr_facts = env[expr]
        case Const(value=None):
            return Facts(nullable=True)
        case Const(value=value):
            expr_facts = Facts.of_values((value,), nullable=False) if value is not None else Facts()
        case Apply():
            rule = function_of(expr).facts
            computed_facts = _applied(expr, env) if rule is None else rule(facts(expr.args[0], env), expr)
            expr_facts = _said(computed_facts, env[expr]) if expr in env else computed_facts
            if rule is None:
                return expr_facts
        case _:
            assert_never(expr)
    if expr_facts.float_range or expr_facts.interval is None:
        return expr_facts
    return Facts(expr_facts.nullable, expr_facts.interval, expr_facts.values, as_read(expr_facts.interval, expr.type))


def is_null(expr: Expr) -> bool:
    """Return whether an expression is NULL by what is written alone, as a function of a CASE is where that has no ELSE."""
    if not isinstance(expr, Apply):
        return isinstance(expr, Const) and expr.value is None
    function = function_of(expr)
    computed = function.needs_bounds and not function.conditional and function.interval_of_present is None
    return computed and not function.never_null and any(map(is_null, expr.args))


def _applied(expr: Apply, env: Env) -> Facts:
    function = function_of(expr)
    given = _branches(expr, env) if function.conditional else [facts(arg, env) for arg in expr.args]
    if function.needs_bounds:
        for arg, arg_facts in zip(expr.args, given, strict=True):
            _require_bounds(arg, arg_facts)
    try:
        intervals, may_be_null = [g.interval for g in given], [g.nullable for g in given]
        if function.interval_of_present is not None:
            interval = function.interval_of_present(intervals, may_be_null)
        else:
            interval = function.interval(intervals, expr)
        ranges = [g.float_range for g in given]
        if function.settles:
            ranges = list(map(_settled_range, expr.args, given))
        within = None if interval is None else computed_range(expr, ranges, may_be_null)
        anywhere = within if within is None else _anywhere(expr, given, within)
    except (OverflowError, ValueError, ZeroDivisionError):
        raise too_large(expr) from None
    nullable = _nullable(expr, given)
    if expr.type is SqlType.BOOLEAN:
        return Facts(nullable, Interval.of(0, 1), (False, True))
    unknown_time = function.needs_bounds and expr.type.is_temporal and interval is None and not is_null(expr)
    if unknown_time or (
        interval is not None and not (anywhere and _computable(anywhere, expr.type) and _is_short(interval))
    ):
        raise too_large(expr)
    return Facts(nullable, interval, float_range=within, anywhere=None if anywhere == within else anywhere)


def _settled_range(arg: Expr, arg_facts: Facts) -> Interval | None:
    """Return where values are that are settled before something is computed of them.

    price * 100 is 28.999999999999996 at most in double precision, where the price is 0.29 at most, and floor of it is 29.
    """
    within, interval = arg_facts.float_range, as_read(arg_facts.interval, arg.type)
    settled = digits_to_settle(arg) is not None or decimals_computed(arg) is not None
    return within.hull(interval) if settled and within is not None and interval is not None else within


def _anywhere(expr: Apply, given: list[Facts], within: Interval) -> Interval | None:
    """Return where the values are if any column may be without one: GREATEST and LEAST take the others then."""
    if function_of(expr).interval_of_present is None and all(g.anywhere is None for g in given):
        return within
    return computed_range(expr, [g.anywhere or g.float_range for g in given], list(map(_missing, expr.args)))


def _missing(expr: Expr) -> bool:
    """Return whether an expression can be NULL where any column may be without a value."""
    match expr:
        case Ref():
            return True
        case Const(value=value):
            return value is None
        case Apply(args=args):
            function = function_of(expr)
            return not function.never_null and (function.makes_null or function.null(list(map(_missing, args))))
        case _:
            assert_never(expr)


def _said(computed: Facts, said: Facts) -> Facts:
    """Return the facts about an expression about which a condition says something.

    It is the very expression that the engine compares, and so has the very value that was compared.
    """
    return replace(
        computed,
        nullable=computed.nullable and said.nullable,
        interval=_both(computed.interval, said.interval),
        float_range=_both(computed.float_range, said.float_range),
        anywhere=computed.anywhere and _both(computed.anywhere, said.float_range),
    )


def _both(computed: Interval | None, said: Interval | None) -> Interval | None:
    """Return what both contain; a condition alone may bound an expression, if it does so on both sides."""
    if computed is None or said is None:
        return computed or (said if said is not None and said.magnitude < LARGEST else None)
    return computed.meet(said) or computed


def _branches(expr: Apply, env: Env) -> list[Facts]:
    """Return the facts about the parts of a CASE: each result by what its conditions say."""
    given: list[Facts] = []
    # CASE WHEN n >= 1 THEN x / n ELSE 0 END: n is not 0 in the first branch, and below 1 behind it.
    rest = env
    for condition, result in branches(expr):
        given += [facts(condition, env), facts(result, facts_where(condition, rest, holds=True))]
        rest = facts_where(condition, rest, holds=False)
    return [*given, facts(expr.args[-1], rest)]


def _computable(interval: Interval, type_: SqlType) -> bool:
    """Return whether every engine can hold all values of an interval."""
    if type_.is_temporal:
        return interval.meet(_MOMENTS if type_.is_moment else _DATES) == interval
    return interval.is_below(2**62 if type_.is_integer else _LARGEST)


def _is_short(interval: Interval) -> bool:
    """Return whether an interval's ends can be computed with: powers of powers have more digits than a machine can hold."""
    return max(end.denominator.bit_length() for end in (interval.low, interval.high)) <= _MOST_BITS


def countable(expr: Expr, env: Env) -> bool:
    """Return whether every engine can turn all values of an expression into whole numbers of 64 bits."""
    expr_facts = facts(expr, env)
    within = expr_facts.anywhere or expr_facts.float_range
    return within is not None and _computable(within, SqlType.BIGINT)


def too_large(expr: Expr) -> MissingBounds:
    """Return the error for an expression that could overflow on some data, which nobody may learn."""
    return MissingBounds(
        f"{describe(expr)} could grow too large to be computed",
        because="may-overflow",
        hint="Tighter `bounds` in the table's schema file would help.",
    )


def _require_bounds(arg: Expr, arg_facts: Facts) -> None:
    if (arg.type.is_number or arg.type.is_temporal) and not (isinstance(arg, Const) and arg.value is None):
        require_interval(arg, arg_facts)


def require_interval(expr: Expr, expr_facts: Facts) -> Interval:
    """Return the interval of an expression with which something is to be computed.

    Raises:
        MissingBounds: it has none, or one with values that can't be computed with.
    """
    column = _converted(expr)
    if expr_facts.interval is None and isinstance(column, Ref):
        raise missing_bounds(column)
    if isinstance(expr, Const) and expr.value is None:
        raise Unsupported(
            "NULL has no values to compute with",
            because="computed-of-null",
            hint="Write NULL instead of the aggregate.",
        )
    if expr_facts.interval is None:
        raise MissingBounds(
            f"the possible values of {describe(expr)} are not bounded",
            because="values-not-bounded",
            hint="A divisor must not be able to be 0, nor the argument of ln; WHERE can exclude it: WHERE n >= 1.",
        )
    if not _computable(expr_facts.interval, expr.type):
        raise too_large(expr)
    return expr_facts.interval


def _converted(expr: Expr) -> Expr:
    """Return what an expression is of another type."""
    while isinstance(expr, Apply) and function_of(expr).describe is first_argument:
        expr = expr.args[0]
    return expr


_OF_A_COLUMN = "The owner of the data can declare `bounds: [low, high]` for it in the table's schema file."
_OF_AN_ANSWER = "Compare with it, or compute with it outside of aggregates: sum(x) - count(*) * (SELECT …)."


def missing_bounds(ref: Ref) -> MissingBounds:
    """Return the error for a column that is used where only bounded values may be."""
    return MissingBounds(
        f'column "{ref.name}" has no declared bounds',
        because="column-without-bounds",
        hint=_OF_AN_ANSWER if ref.public else _OF_A_COLUMN,
    )


def _nullable(expr: Apply, given: list[Facts]) -> bool:
    function = function_of(expr)
    if function.never_null:
        return False
    if function.makes_null and not function.defined([g.interval for g in given], expr):
        return True
    return function.null([g.nullable for g in given])
