"""Comparisons, three-valued logic and conditionals."""

from collections.abc import Sequence

from dpsql.policy.interval import Interval
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.function import EmitRule, Function, template
from dpsql.rewrite.ir.expr import Apply


def _hull(intervals: Sequence[Interval | None]) -> Interval | None:
    result = intervals[0]
    for other in intervals[1:]:
        result = result.hull(other) if result and other else None
    return result


def _joined(word: str) -> EmitRule:
    return lambda args, _, __: f"({f' {word} '.join(args)})"


def _membership(args: Sequence[str], _: Apply, __: Dialect) -> str:
    return f"({args[0]} IN ({', '.join(args[1:])}))"


def _like(word: str) -> EmitRule:
    return lambda args, _, dialect: f"({args[0]} {word} {args[1]} ESCAPE {dialect.text(_BACKSLASH).strip()})"


def _case(args: Sequence[str], _: Apply, __: Dialect) -> str:
    pairs = " ".join(f"WHEN {c} THEN {r}" for c, r in zip(args[:-1:2], args[1:-1:2], strict=True))
    return f"(CASE {pairs} ELSE {args[-1]} END)"


def _case_interval(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    results = [*range(1, len(intervals) - 1, 2), len(intervals) - 1]
    shown = [i for i in results if not _is_null(apply, i)]
    return _hull([intervals[i] for i in shown]) if shown else None


def _is_null(apply: Apply, index: int) -> bool:
    return getattr(apply.args[index], "value", 0) is None


def _coalesce_interval(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    return _hull(intervals)


def _but_one(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    """Take the value that becomes NULL off the end of a whole number's interval, as in x / NULLIF(n, 0)."""
    a, b = intervals
    if a is None or b is None or b.width or a.low == a.high or not apply.type.is_integer:
        return a
    return Interval(a.low + (a.low == b.low), a.high - (a.high == b.low))


_BACKSLASH = "\\"
_COMPARISONS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

LOGIC: tuple[Function, ...] = (
    *(
        Function(op, f"a {sign} b", template(f"({{0}} {sign} {{1}})"), needs_bounds=False)
        for op, sign in _COMPARISONS.items()
    ),
    Function("and", "a AND b", _joined("AND"), needs_bounds=False),
    Function("or", "a OR b", _joined("OR"), needs_bounds=False),
    Function("not", "NOT a", template("(NOT {0})"), needs_bounds=False),
    Function("is_null", "a IS NULL", template("({0} IS NULL)"), eats_null=True, needs_bounds=False),
    Function("is_true", "a IS TRUE", template("({0} IS TRUE)"), eats_null=True, needs_bounds=False),
    Function("is_false", "a IS FALSE", template("({0} IS FALSE)"), eats_null=True, needs_bounds=False),
    Function(
        "same",
        "a IS NOT DISTINCT FROM b",
        template("({0} IS NOT DISTINCT FROM {1})"),
        eats_null=True,
        needs_bounds=False,
    ),
    Function("in", "a IN (…)", _membership, needs_bounds=False),
    Function("like", "a LIKE 'pattern'", _like("LIKE"), needs_bounds=False),
    Function(
        "ilike",
        "a ILIKE 'pattern'",
        _like("ILIKE"),
        needs_bounds=False,
        note="letters beyond ASCII as the engine folds them",
    ),
    Function("case", "CASE WHEN … THEN … ELSE … END", _case, _case_interval, needs_bounds=False),
    Function(
        "coalesce",
        "coalesce(a, …)",
        lambda a, _, __: f"coalesce({', '.join(a)})",
        _coalesce_interval,
        needs_bounds=False,
    ),
    Function("nullif", "nullif(a, b)", template("nullif({0}, {1})"), _but_one, makes_null=True, needs_bounds=False),
)
