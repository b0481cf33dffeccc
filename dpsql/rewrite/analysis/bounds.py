"""From facts about columns to facts about expressions of them: NULL-ability, interval, finite domain."""

from dataclasses import replace
from typing import assert_never

from dpsql.errors import MissingBounds, Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.float_range import as_read, computed_range
from dpsql.rewrite.analysis.predicates import where
from dpsql.rewrite.functions.function import LARGEST, first_argument
from dpsql.rewrite.functions.logical import branches
from dpsql.rewrite.functions.table import describe, function_of
from dpsql.rewrite.ir.calendar import DATES, MOMENTS
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref
from dpsql.rewrite.ir.facts import Env, Facts

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
        within = None if interval is None else computed_range(expr, [g.float_range for g in given], may_be_null)
        anywhere = within if within is None else _anywhere(expr, given, within)
    except (OverflowError, ValueError, ZeroDivisionError):
        raise too_large(expr) from None
    nullable = _nullable(expr, given)
    if expr.type is SqlType.BOOLEAN:
        return Facts(nullable, Interval.of(0, 1), (False, True))
    unknown_time = function.needs_bounds and expr.type.is_temporal and interval is None
    if unknown_time or (
        interval is not None and not (anywhere and _computable(anywhere, expr.type) and _is_short(interval))
    ):
        raise too_large(expr)
    return Facts(nullable, interval, float_range=within, anywhere=None if anywhere == within else anywhere)


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
    rest = env
    for condition, result in branches(expr):
        given += [facts(condition, env), facts(result, where(condition, rest, holds=True))]
        rest = where(condition, rest, holds=False)
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
        bounded(arg, arg_facts)


def bounded(expr: Expr, expr_facts: Facts) -> Interval:
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
