"""Group keys whose possible values follow from public facts alone."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from dpsql.errors import InternalError, MissingBounds, Unsupported
from dpsql.frozen import quickly_made
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType, Value, in_single_precision
from dpsql.rewrite.analysis.bounds import countable, evaluable, evaluate, facts, facts_if_possible, is_null, too_large
from dpsql.rewrite.functions.function import Cell, EvaluateRule, lists_too_many, order_of, too_many
from dpsql.rewrite.functions.logical import is_whole, within_branches
from dpsql.rewrite.functions.table import (
    decimals_computed,
    describe,
    digits_to_settle,
    function_of,
    integral,
    is_single_computed,
    step_of,
)
from dpsql.rewrite.ir.expr import Apply, Const, Env, Expr, Facts, Ref, Results, refs, walk
from dpsql.rewrite.ir.literal import quoted_name, simplest

# The images of few values under arithmetic: every key that can occur, and none that cannot, as an engine computes it.
#
# abs(floor(fare / 10) * 10)  →  each of floor(fare / 10), which are known, times 10, without its sign

_MOST_CASES = 20_000
"""Combinations of values that are tried."""

Listed = Callable[[Expr], Sequence[Cell] | None]
"""Returns all values of an expression where they are few, NULL included; else None."""


def image(expr: Apply, listed: Listed) -> Sequence[Cell] | None:
    """Return all values of an expression, in order, that is computed of others whose values are listed; else None."""
    rows = _cases(expr, listed)
    return None if rows is None else sorted({_computed(expr, row) for row in rows}, key=order_of)


def decimal_image(expr: Apply, listed: Listed) -> Sequence[tuple[Cell, Cell]] | None:
    """Return the same of a `numeric`: each value as an engine computes it in double precision, and exactly.

    None also where the two do not go together one to one: what PostgreSQL takes for one group would be two, or two one.
    """
    rows = _cases(expr, listed)
    if rows is None:
        return None
    pairs = {(_computed(expr, row), _computed(expr, row, _exactly)) for row in rows}
    # 0.1 + 0.2 and 0.3 are one value to PostgreSQL, and two in double precision.
    one_to_one = len({a for a, _ in pairs}) == len(pairs) == len({b for _, b in pairs})
    return sorted(pairs, key=lambda pair: order_of(pair[1])) if one_to_one else None


def _cases(expr: Apply, listed: Listed) -> list[Mapping[Expr, Cell]] | None:
    """Return every combination of the values of what an expression is computed of."""
    if _rule(expr) is None:
        return None
    parts: dict[Expr, Sequence[Cell]] = {}
    if not all(_collect(arg, listed, parts) for arg in expr.args) or not parts:
        return None
    if math.prod(map(len, parts.values())) > _MOST_CASES:
        return None
    return [dict(zip(parts, case, strict=True)) for case in itertools.product(*parts.values())]


def _rule(expr: Apply) -> EvaluateRule | None:
    function = function_of(expr)
    return function.computed or (function.evaluate if expr.type.is_integer else None)


def _in_double(value: Cell, expr: Expr) -> Cell:
    if value is None or isinstance(value, str) or expr.type.is_integer or not expr.type.is_number:
        return value
    return simplest(Fraction(float(value)))


def _exactly(value: Cell, expr: Expr) -> Cell:
    return _in_double(value, expr) if expr.type.is_float else value


def _collect(expr: Expr, listed: Listed, parts: dict[Expr, Sequence[Cell]]) -> bool:
    """Add what an expression is computed of, as far inside as values are listed; return whether they all are."""
    if isinstance(expr, Const):
        return True
    if isinstance(expr, Apply) and _rule(expr) is not None:
        inside = dict(parts)
        if all(_collect(arg, listed, inside) for arg in expr.args):
            parts |= inside
            return True
    if expr not in parts:
        values = listed(expr)
        if values is None:
            return False
        parts[expr] = values
    return True


def _computed(expr: Expr, row: Mapping[Expr, Cell], rounded: Callable[[Cell, Expr], Cell] = _in_double) -> Cell:
    """Return the value of an expression, rounded after each operation, as an engine has it in double precision."""
    if isinstance(expr, Const):
        return rounded(expr.value, expr)
    if expr in row:
        return rounded(row[expr], expr)
    assert isinstance(expr, Apply)
    function = function_of(expr)
    rule = (function.rounded_in_double if rounded is _in_double else None) or _rule(expr)
    inside = _settled if function.settles else _computed
    assert rule is not None
    return rounded(rule([inside(arg, row, rounded) for arg in expr.args], expr), expr)


def _settled(expr: Expr, row: Mapping[Expr, Cell], rounded: Callable[[Cell, Expr], Cell]) -> Cell:
    """Return the value of what is compared or cut off: engines settle decimals first, so that none is a little beside.

    floor(n * 0.29 * 100)  →  29 of n = 1, which is 28.999999999999996 in double precision
    """
    decimal = digits_to_settle(expr) is not None or decimals_computed(expr) is not None
    value = _computed(expr, row, _exactly if decimal else rounded)
    single = is_single_computed(expr) and value is not None and not isinstance(value, str)
    return rounded(simplest(in_single_precision(value)) if single and value is not None else value, expr)


# The innermost expression that decides a key one to one: rows are grouped by it instead of the key.
#
# floor(fare / 10) * 10 + 5  →  floor(fare / 10)        price, a numeric(10, 2)  →  price * 100, a whole number


def injective_argument(expr: Expr) -> Expr | None:
    """Return what decides `expr` one to one; None if that is nothing but itself."""
    match expr:
        case Ref():
            return _place(expr)
        case Apply():
            inverse = function_of(expr).inverse
            if inverse is None or (inverse.of_whole and not integral(expr.args[0])):
                return None
            inner = inverse.inner(expr)
            return inner if inner is not None and refs(inner) else None
        case Const():
            return None


def value_from_argument(expr: Expr, value: Value) -> Cell:
    """Return the value of `expr` where what is within it has a value."""
    if isinstance(expr, Ref) and expr.column.step is not None:
        return simplest(value * expr.column.step)  # type: ignore[operator]  # the place is a number
    inverse = function_of(expr).inverse if isinstance(expr, Apply) else None
    if inverse is None or not isinstance(expr, Apply):
        raise InternalError
    return inverse.outer(expr, value)


def injective_core(expr: Expr) -> Expr:
    """Return the innermost expression whose values engines tell apart as exact arithmetic does; `expr` if there is none."""
    return next((layer for layer in _layers(expr) if _exact(layer)), expr)


def shown_as(expr: Expr, grouped: Expr, value: Cell) -> Cell:
    """Return the value of `expr` where `grouped`, which is within it, has a value."""
    between = []
    # From floor(fare / 10) = 3 outwards to floor(fare / 10) * 10 + 5: 3, 30, 35
    for layer in _layers(expr):
        if layer == grouped:
            break
        between.append(layer)
    for layer in reversed(between):
        value = None if value is None else value_from_argument(layer, value)
    return value


def is_rounded(expr: Expr) -> bool:
    """Return whether something in it is computed by an engine's own library, which may round otherwise than another."""
    inverses = (function_of(part).inverse for part in walk(expr) if isinstance(part, Apply))
    return any(inverse is not None and inverse.rounded for inverse in inverses)


def _layers(expr: Expr) -> Iterator[Expr]:
    inner: Expr | None = expr
    while inner is not None:
        yield inner
        inner = injective_argument(inner)


def _exact(expr: Expr) -> bool:
    return not expr.type.is_number or integral(expr)


def _place(ref: Ref) -> Expr | None:
    """Return which multiple of its step a column with digits after the point is: a whole number, rounded to it if need be."""
    step = ref.column.step
    if not ref.type.is_number or ref.type.is_integer or not step or ref.column.bounds is None:
        return None
    multiple = Apply("mul", (ref, Const(simplest(Fraction(1, step)), SqlType.NUMERIC)), SqlType.NUMERIC)
    return Apply("to_integer", (multiple,), SqlType.BIGINT)


_FEW = 16
"""Up to so many texts are grouped by their numbers; keys of no more values are remembered."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Key:
    """One group key: the engine groups by `grouped`; a group is shown with the value that its own value stands for."""

    expr: Expr
    grouped: Expr
    shown: Mapping[Cell, Cell] | None
    """From the values of `grouped`, as the engine returns them, to those of `expr`, in order; None where they are not
    declared."""

    def shows(self, cell: Cell) -> Cell:
        """Return the value of `expr` where that of `grouped` is `cell`, which is declared if any is.

        Raises:
            KeyError: it is not.
        """
        return shown_as(self.expr, self.grouped, cell) if self.shown is None else self.shown[cell]

    @property
    def fractional(self) -> bool:
        """Return whether the engine returns the values in double precision: as whole numbers, 1.2 would be taken for 1."""
        return self.grouped.type.is_number and not integral(self.grouped)

    def returned(self, cell: Cell) -> Cell:
        """Return a value as the engine returns it; NaN and infinities, which no declared group has, stay as they are."""
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
    if isinstance(expr, Ref):
        expr_facts = facts(expr, env)
        if expr_facts.values is not None and len(expr_facts.values) <= _FEW:
            return _of_few(expr, expr.column, expr.public, expr_facts, limit)
    return _key_of(expr, env, limit)


@lru_cache(maxsize=512)  # most keys are columns of a few values
def _of_few(ref: Ref, column: Column, public: bool, ref_facts: Facts, limit: int) -> Key:
    """Return the key that a column of a few values is; `column` and `public` tell it apart from others of its name."""
    del column, public
    return _key_of(ref, {ref: ref_facts}, limit)


def _key_of(expr: Expr, env: Env, limit: int) -> Key:
    grouped, pairs = _peeled(expr, env, limit)
    shown = dict(pairs)
    # Two groups would be shown by one value: it is grouped by the key itself then.
    if len(set(shown.values())) < len(shown):
        if is_rounded(expr):
            raise unknown_domain(expr)
        grouped, shown = expr, {v: v for v in shown.values()}
    if _is_whole_double(grouped) and not countable(grouped, env):
        raise too_large(grouped)
    grouped, shown = _numbered(grouped, shown)
    key = Key(expr, grouped, None)
    ordered = sorted(shown.items(), key=lambda pair: order_of(pair[1]))
    return replace(key, shown={key.returned(v): cell for v, cell in ordered} if key.fractional else dict(ordered))


def _is_whole_double(expr: Expr) -> bool:
    return expr.type.is_number and not expr.type.is_integer and integral(expr)


def _numbered(grouped: Expr, shown: dict[Cell, Cell]) -> tuple[Expr, dict[Cell, Cell]]:
    """Return a column with a few texts as their numbers, which engines group by faster; any other unchanged."""
    texts = [value for value in shown if value is not None]
    if not (isinstance(grouped, Ref) and grouped.type.is_text and not grouped.public and 0 < len(texts) <= _FEW):
        return grouped, shown
    # paid  →  CASE paid WHEN 'card' THEN 1 WHEN 'cash' THEN 2 END, of which 1 is shown as 'card'
    numbers = Apply(
        "map",
        (grouped, *(Const(t, grouped.type) for t in texts)),
        SqlType.BIGINT,
        Results(tuple(range(1, len(texts) + 1))),
    )
    return numbers, {None if v is None else texts.index(v) + 1: cell for v, cell in shown.items()}


def _peeled(expr: Expr, env: Env, limit: int) -> tuple[Expr, Iterable[tuple[Cell, Cell]]]:
    """Return the innermost expression that decides the group, with its values and what they become."""
    inner = injective_argument(expr) if not isinstance(expr, Ref) or facts(expr, env).values is None else None
    if inner is not None:
        grouped, pairs = _peeled(inner, env, limit)
        outer = [(a, None if b is None else value_from_argument(expr, b)) for a, b in pairs]
        allowed = _allowed(expr, env)
        return grouped, [pair for pair in outer if allowed(pair[1])]
    if isinstance(expr, Apply) and expr.type is SqlType.NUMERIC and not integral(expr):
        cell_pairs = decimal_image(expr, lambda part: _listed(part, env, limit))
        if cell_pairs is not None:
            allowed = _allowed(expr, env)
            return expr, [pair for pair in cell_pairs if allowed(pair[1])]
    return expr, [(value, value) for value in domain(expr, env, limit)]


def selected_key(expr: Expr, env: Env) -> Key:
    """Return the key of groups that partition selection will choose among.

    Raises:
        MissingBounds: it has no values that can be compared exactly.
    """
    grouped = injective_core(expr)
    if grouped.type.is_number and not grouped.type.is_integer and not integral(grouped):
        raise unknown_domain(expr)
    facts(grouped, env)
    if _is_whole_double(grouped) and not countable(grouped, env):
        raise too_large(grouped)
    return Key(expr, grouped, None)


@dataclass(frozen=True, slots=True)
class _Known:
    """The `Domains` that rules of functions ask."""

    env: Env
    limit: int
    possible: bool = True
    """Whether a row can have these values."""

    def interval(self, expr: Expr) -> Interval | None:
        return facts(expr, self.env).interval

    def of(self, expr: Expr) -> Sequence[Cell]:
        return domain(expr, self.env, self.limit) if self.possible else ()

    def where(self, condition: Expr, *, holds: bool) -> "_Known":
        env, possible = facts_if_possible(condition, self.env, holds=holds, chosen=True)
        return _Known(env, self.limit, self.possible and possible)


def domain(expr: Expr, env: Env, limit: int) -> Sequence[Cell]:
    """Return every value that a public expression can have, NULL included where it can occur."""
    expr_facts = facts(expr, env)
    exactly = _enumerated(expr, env, limit) if expr_facts.values is None else None
    if exactly is not None:
        return exactly
    values = list(filter(_allowed(expr, env), _values(expr, expr_facts, env, limit)))
    if len(values) > limit:
        raise too_many(len(values), limit)
    null: tuple[Cell, ...] = (None,) if expr_facts.nullable and None not in values else ()
    return (*values, *null)


def listed_values(expr: Expr, env: Env, limit: int) -> Sequence[Cell]:
    """Return every value that a public expression can have, as `domain` does, of numbers with digits after the point, too.

    Raises:
        MissingBounds: they do not follow from the policy.
        Unsupported: there are more than `limit`.
    """
    _, pairs = _peeled(expr, env, limit)
    return [value for _, value in pairs]


def _values(expr: Expr, expr_facts: Facts, env: Env, limit: int) -> Sequence[Cell]:
    if expr_facts.values is not None:
        return expr_facts.values
    if is_null(expr):
        return ()
    if isinstance(expr, Apply):
        within = within_branches(expr)
        rule = function_of(within).domain
        listed = rule(within, _Known(env, limit)) if rule else None
        if listed is not None:
            return listed
        if expr.type is SqlType.TEXT and expr in env and env[expr].values is not None:
            return env[expr].values or ()
        if integral(expr) or expr.type.is_float:
            listed = image(expr, lambda part: _listed(part, env, limit))
            if listed is not None:
                return listed
    if expr_facts.interval is not None and (integral(expr) or expr.type is SqlType.DATE):
        return _multiples(step_of(expr), _computed_interval(expr, expr_facts, expr_facts.interval), limit)
    raise unknown_domain(expr)


def _listed(expr: Expr, env: Env, limit: int) -> Sequence[Cell] | None:
    """Return the values of a part of a key, if they are few."""
    try:
        return domain(expr, env, limit)
    except (MissingBounds, Unsupported):
        return None


def _allowed(expr: Expr, env: Env) -> Callable[[Cell], bool]:
    """Return the test whether the conditions about the very expression let it have a value."""
    said = env.get(expr) if isinstance(expr, Apply) else None
    if said is None:
        return lambda _: True

    def allowed(value: Cell) -> bool:
        if value is None or isinstance(value, str):
            return True
        exact = Fraction(value)
        computed = exact if expr.type.is_integer or not expr.type.is_number else Fraction(float(value))
        return not (
            (said.interval is not None and exact not in said.interval)
            or (said.float_range is not None and computed not in said.float_range)
        )

    return allowed


def _computed_interval(expr: Expr, expr_facts: Facts, interval: Interval) -> Interval:
    """Return where the values are that an engine computes: exactly where each operation rounds once."""
    within = expr_facts.float_range
    if within is None:
        return interval
    steps = [part for part in walk(expr) if isinstance(part, Apply)]
    return within if all(function_of(step).float_range.exact for step in steps) else within.meet(interval) or interval


def unknown_domain(expr: Expr) -> MissingBounds:
    """Return the error for a key whose values do not follow from the policy."""
    column = next(iter(refs(expr)), None)
    name = column.name if column else describe(expr)
    if column is not None and column.column.bounds is not None:
        coarser = "floor(x / 10), round(x) or width_bucket(x, 0, 100, 10)"
        if column.type.is_temporal:
            coarser = "date_trunc('hour', t)::time" if expr.type is SqlType.TIME else "date_trunc('day', t)"
        return MissingBounds(
            f'the groups of {describe(expr)} can\'t be listed: between the bounds of "{name}" there are too many values',
            because="key-without-domain",
            hint=f"Group by something coarser, such as {coarser}.",
        )
    written = quoted_name(expr.name) if isinstance(expr, Ref) else describe(expr)
    listed = isinstance(expr, Ref) and is_whole(expr)
    meant = f"; or say which are meant: WHERE {written} IN (…)." if listed or expr.type.is_text else "."
    return MissingBounds(
        f'the groups of {describe(expr)} are not known: column "{name}" has no declared domain for them',
        because="key-without-domain",
        hint=f"The owner of the data can declare `values: […]` (or, for whole numbers and times, `bounds`) for "
        f'"{name}"{meant}',
    )


def number_of_values(exprs: Sequence[Expr], facts_of: Callable[[Expr], Facts], limit: int) -> int | None:
    """Return how many values an expression can have, NULL not counted; None where they are not declared, or many."""
    (expr,) = exprs
    env: Env = {ref: facts_of(ref) for ref in refs(expr)}
    try:
        return sum(value is not None for value in domain(expr, env, limit))
    except (MissingBounds, Unsupported):
        return None


def number_of_tuples(exprs: Sequence[Expr], facts_of: Callable[[Expr], Facts], limit: int) -> int | None:
    """Return how many tuples of values, or NULL, there can be; None where values are not declared, or many."""
    numbers = [number_of_values((expr,), facts_of, limit) for expr in exprs]
    return None if None in numbers else math.prod(number + 1 for number in numbers if number is not None)


def are_not_listed(refusal: MissingBounds | Unsupported) -> bool:
    """Return whether what was refused are keys whose values can't be listed, and which may be counted."""
    return refusal.because == "key-without-domain" or (isinstance(refusal, Unsupported) and lists_too_many(refusal))


def _multiples(step: Fraction | None, interval: Interval, limit: int) -> Sequence[Cell]:
    """Return all multiples of a whole number in an interval, of 1 where no step is known."""
    each = int(step) if step and step.denominator == 1 else 1
    # −(−a // b) is a / b, rounded up.
    low, high = -(-interval.low // each), interval.high // each
    if high - low + 1 > limit:
        raise too_many(int(high - low + 1), limit)
    return range(int(low) * each, (int(high) + 1) * each, each)


def _enumerated(expr: Expr, env: Env, limit: int) -> Sequence[Cell] | None:
    """Evaluate a function of one column with few values for each of them, and for NULL if that is one."""
    inside = refs(expr)
    if len(inside) != 1 or not evaluable(expr):
        return None
    inner_facts = env[inside[0]]
    if inner_facts.values is None or len(inner_facts.values) > limit:
        return None
    nulls: tuple[None, ...] = (None,) if inner_facts.nullable else ()
    # CASE WHEN date_trunc('year', day) < … THEN date_trunc('year', day) - '01:00' …: what is known of a part holds, too.
    said = [(part, _allowed(part, env)) for part in walk(expr) if isinstance(part, Apply) and part in env]
    values = [v for v in (*inner_facts.values, *nulls) if all(ok(evaluate(part, {inside[0]: v})) for part, ok in said)]
    return sorted({evaluate(expr, {inside[0]: v}) for v in values}, key=order_of)
