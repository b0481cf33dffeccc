"""Group keys whose possible values follow from public facts alone."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.errors import MissingBounds, Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.analysis.bounds import countable, facts, too_large
from dpsql.rewrite.analysis.evaluate import evaluable, evaluate
from dpsql.rewrite.analysis.predicates import where
from dpsql.rewrite.functions.function import integral
from dpsql.rewrite.functions.intervals import bin_start, binning
from dpsql.rewrite.functions.temporal import span_micros
from dpsql.rewrite.ir.calendar import DAY, UNITS, shift, step, truncate
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, Span, describe, refs
from dpsql.rewrite.ir.facts import Env
from dpsql.rewrite.ir.literal import simplest

Cell = Value | None
_FEW = 16
"""Up to so many texts are grouped by their numbers."""


@dataclass(frozen=True, slots=True)
class Key:
    """One group key: the engine groups by `grouped`; a group is shown with the value that its own value stands for."""

    expr: Expr
    grouped: Expr
    shown: Mapping[Cell, Cell] | None
    """From the values of `grouped`, as the engine returns them, to those of `expr`, in order; None where they are not
    declared."""

    @property
    def fractional(self) -> bool:
        """Say whether the engine returns the values in double precision: as whole numbers, 1.2 would be taken for 1."""
        return self.grouped.type.is_number and not integral(self.grouped)

    def returned(self, cell: Cell) -> Cell:
        """Return a value as the engine returns it; what is no number is left as it is, and is nobody's."""
        if cell is None or not self.fractional:
            return cell
        number = float(cell)
        return Fraction(number) if math.isfinite(number) else cell


def key_of(expr: Expr, env: Env, limit: int) -> Key:
    """Return the key with its whole domain.

    Raises:
        MissingBounds: the values do not follow from the policy.
        Unsupported: there are more than `limit`.
    """
    grouped, pairs = _peeled(expr, env, limit)
    shown = dict(pairs)
    if len(set(shown.values())) < len(shown):
        grouped, shown = expr, {v: v for v in shown.values()}
    if _is_whole_double(grouped) and not countable(grouped, env):
        raise too_large(grouped)
    grouped, shown = _numbered(grouped, shown)
    key = Key(expr, grouped, None)
    ordered = sorted(shown.items(), key=lambda pair: order_of(pair[1]))
    return replace(key, shown={key.returned(value): cell for value, cell in ordered})


def _is_whole_double(expr: Expr) -> bool:
    return expr.type.is_number and not expr.type.is_integer and integral(expr)


def _numbered(grouped: Expr, shown: dict[Cell, Cell]) -> tuple[Expr, dict[Cell, Cell]]:
    """Return a column with a few texts as their numbers, which engines group by faster; any other as it is."""
    texts = [value for value in shown if value is not None]
    if not (
        isinstance(grouped, Ref) and grouped.type is SqlType.TEXT and not grouped.source and 0 < len(texts) <= _FEW
    ):
        return grouped, shown
    numbers = Apply(
        "map", (grouped, *(Const(t, SqlType.TEXT) for t in texts)), SqlType.BIGINT, tuple(range(1, len(texts) + 1))
    )
    return numbers, {None if v is None else texts.index(v) + 1: cell for v, cell in shown.items()}


def order_of(cell: Cell) -> tuple[bool, Value]:
    """Return by what the values of one type are ordered: exactly, so that no two tie, and NULL last as PostgreSQL does."""
    return (cell is None, 0 if cell is None else cell)


def _peeled(expr: Expr, env: Env, limit: int) -> tuple[Expr, Iterable[tuple[Cell, Cell]]]:
    """Return the innermost expression that decides the group, with its values and what they become."""
    if isinstance(expr, Apply):
        inner = _inner(expr)
        if inner is not None and refs(inner):
            grouped, pairs = _peeled(inner, env, limit)
            return grouped, [(a, None if b is None else _outer(expr, b)) for a, b in pairs]
    return expr, [(value, value) for value in domain(expr, env, limit)]


def _inner(expr: Apply) -> Expr | None:
    """Return the argument from which a constant step computes `expr` one to one, as in FLOOR(x / 2) * 2."""
    if expr.op == "round" and isinstance(expr.option, str):
        digits = int(expr.option)
        scale = Const(10 ** abs(digits), expr.type)
        scaled = Apply("mul" if digits > 0 else "div", (expr.args[0], scale), expr.type)
        return Apply("to_integer", (scaled,), SqlType.BIGINT)
    if expr.op == "shift" or (expr.op in {"to_double", "to_integer", "neg"} and integral(expr.args[0])):
        return expr.args[0]
    if expr.op == "timestamp_to_date" and _is_midnight(expr.args[0]):
        return expr.args[0]
    if expr.op in {"add", "sub", "mul"}:
        a, b = expr.args
        if isinstance(b, Const) and b.value:
            return a
        if isinstance(a, Const) and a.value and expr.op != "sub":
            return b
    return None


def _is_midnight(expr: Expr) -> bool:
    """Say whether a timestamp is always the beginning of a day, so that the day says all of it."""
    match expr:
        case Apply(op="date_to_timestamp"):
            return True
        case Apply(op="date_trunc", option=str(unit)):
            return unit in UNITS[UNITS.index("day") :]
        case Apply(op="shift", option=Span(micros=micros)):
            return micros % DAY == 0 and _is_midnight(expr.args[0])
        case _:
            return False


def _outer(expr: Apply, value: Value) -> Value:
    if expr.op == "shift":
        assert isinstance(expr.option, Span)
        return shift(int(value), expr.option)
    if expr.op == "timestamp_to_date":
        return int(value) // DAY
    number = Fraction(value)
    if expr.op == "round":
        return simplest(number / Fraction(10) ** int(str(expr.option)))
    if expr.op in {"to_double", "to_integer"}:
        return simplest(number)
    if expr.op == "neg":
        return simplest(-number)
    constant = next(arg.value for arg in expr.args if isinstance(arg, Const))
    other = Fraction(constant or 0)
    results = {"add": number + other, "sub": number - other, "mul": number * other}
    return simplest(results[expr.op])


def domain(expr: Expr, env: Env, limit: int) -> Sequence[Cell]:
    """Return every value that a public expression can have, NULL included where it can occur."""
    known = facts(expr, env)
    exactly = _enumerated(expr, env, limit) if known.values is None else None
    if exactly is not None:
        return exactly
    values = _values(expr, env, limit)
    if len(values) > limit:
        raise too_many(len(values), limit)
    null: tuple[Cell, ...] = (None,) if known.nullable and None not in values else ()
    return (*values, *null)


def too_many(groups: int, limit: int) -> Unsupported:
    """Return the error for more groups than the role may ask for."""
    return Unsupported(
        f"the statement has {groups:,} groups, the limit is {limit:,}",
        because="too-many-groups",
        hint="Group more coarsely, or restrict the keys in WHERE.",
    )


def _values(expr: Expr, env: Env, limit: int) -> Sequence[Cell]:
    known = facts(expr, env)
    if known.values is not None:
        return known.values
    if isinstance(expr, Const) and expr.value is None:
        return ()
    if isinstance(expr, Apply):
        found = _function_values(expr, env, limit)
        if found is not None:
            return found
    if known.interval is not None and (integral(expr) or expr.type is SqlType.DATE):
        return _whole_numbers(known.interval, limit)
    raise unknown_domain(expr)


def unknown_domain(expr: Expr) -> MissingBounds:
    """Return the error for a key whose values do not follow from the policy."""
    column = next(iter(refs(expr)), None)
    name = column.name if column else describe(expr)
    return MissingBounds(
        f'the groups of {describe(expr)} are not known: column "{name}" has no declared domain for them',
        because="key-without-domain",
        hint=f'The owner of the data can declare `values: […]` (or, for whole numbers and times, `bounds`) for "{name}"; '
        "or group by something coarser, such as floor(x / 10) or date_trunc('day', t).",
    )


def _whole_numbers(interval: Interval, limit: int) -> Sequence[Cell]:
    low, high = -(-interval.low // 1), interval.high // 1
    if high - low + 1 > limit:
        raise too_many(int(high - low + 1), limit)
    return range(int(low), int(high) + 1)


def _function_values(expr: Apply, env: Env, limit: int) -> Sequence[Cell] | None:
    match expr.op:
        case "date_trunc":
            return _units(str(expr.option), facts(expr.args[0], env).interval, limit)
        case "date_bin":
            return _bins(expr, facts(expr.args[0], env).interval, limit)
        case "shift_by":
            return _moved(expr, env, limit)
        case "case":
            return _of_branches(expr, env, limit)
        case "coalesce":
            return _union(expr.args, env, limit)
        case "nullif":
            return _but_one(expr, env, limit)
        case _:
            return None


def _units(unit: str, interval: Interval | None, limit: int) -> Sequence[Cell] | None:
    if interval is None:
        return None
    values, at = [], truncate(unit, int(interval.low))
    while at <= interval.high:
        values.append(at)
        if len(values) > limit:
            raise Unsupported(
                f"date_trunc('{unit}', …) has more than {limit:,} groups, which is the limit",
                because="too-many-groups",
                hint="Truncate to a longer unit, or restrict the time in WHERE.",
            )
        try:
            at = step(unit, at)
        except (OverflowError, ValueError):
            break  # the calendar ends there
    return values


def _bins(expr: Apply, interval: Interval | None, limit: int) -> Sequence[Cell] | None:
    if interval is None:
        return None
    size, origin = binning(expr)
    first, last = (bin_start(int(end), size, origin) for end in (interval.low, interval.high))
    if (last - first) // size >= limit:
        raise too_many((last - first) // size + 1, limit)
    return range(first, last + 1, size)


def _moved(expr: Apply, env: Env, limit: int) -> Sequence[Cell]:
    starts, steps = (domain(arg, env, limit) for arg in expr.args)
    size = span_micros(expr.option)
    if len(starts) * len(steps) > limit:
        raise too_many(len(starts) * len(steps), limit)
    pairs = itertools.product((s for s in starts if s is not None), (n for n in steps if n is not None))
    return sorted({int(s) + int(n) * size for s, n in pairs})


def _union(results: Sequence[Expr], env: Env, limit: int) -> Sequence[Cell]:
    values = {v for result in results for v in domain(result, env, limit) if v is not None}
    return sorted(values, key=order_of)


def _of_branches(expr: Apply, env: Env, limit: int) -> Sequence[Cell]:
    values: set[Cell] = set()
    for condition, result in zip(expr.args[:-1:2], expr.args[1:-1:2], strict=True):
        values |= set(domain(result, where(condition, env, holds=True), limit))
        env = where(condition, env, holds=False)
    return sorted({*values, *domain(expr.args[-1], env, limit)} - {None}, key=order_of)


def _but_one(expr: Apply, env: Env, limit: int) -> Sequence[Cell]:
    a, b = expr.args
    other = b.value if isinstance(b, Const) else None
    return [v for v in domain(a, env, limit) if v is not None and v != other]


def _enumerated(expr: Expr, env: Env, limit: int) -> Sequence[Cell] | None:
    """Evaluate a function of one column with few values for each of them, and for NULL if that is one."""
    inside = refs(expr)
    if len(inside) != 1 or not evaluable(expr):
        return None
    known = env[inside[0]]
    if known.values is None or len(known.values) > limit:
        return None
    nulls: tuple[None, ...] = (None,) if known.nullable else ()
    return sorted({evaluate(expr, {inside[0]: v}) for v in (*known.values, *nulls)}, key=order_of)
