"""Arithmetic of statistics whose margin is asked: quotients, differences, shares of a total, sums of several.

dpsql.margin(100.0 * count(*) FILTER (WHERE late) / count(*))  →  100.0 · a0 / a1, of two counts
dpsql.margin(count(*) / sum(count(*)) OVER (PARTITION BY zone)) →  a0 / the total of a0 over the groups of a zone
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, assert_never

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.interval import Interval
from dpsql.rewrite.ir.expr import Const, Expr
from dpsql.rewrite.syntax.named.aggregate_names import function_name, is_aggregate
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.translate.values.context import Translator

Operator = Literal["+", "-", "*", "/"]
_OPERATORS: dict[type[exp.Expr], Operator] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_AS_IT_IS = frozenset({"abs", "nullif", "coalesce"})
"""Functions after which a number is no further from the truth than before, where it is none of their constants."""
_WHOLE = frozenset({"SMALLINT", "INT", "BIGINT"})
_MOST_DIGITS = 40
_LARGEST = 10**150
"""Of a constant. Margins are computed in double precision after the engine was asked, where nothing may fail."""
_MOST_PARTS = 200
"""Operations, names and numbers in what is computed: so many are followed one inside the other for each group."""
_PLAIN = frozenset({"this", "partition_by", "over"})
"""The parts of a window over all groups of a partition: no order, no frame."""


@dataclass(frozen=True, slots=True)
class StatisticRef:
    """A statistic, by its place among those that are computed with."""

    place: int
    whole: bool
    """Whether it is shown as a whole number."""


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of a statistic over all groups that have the same values of some keys."""

    place: int
    keys: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: Fraction
    whole: bool


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two such, put together."""

    operator: Operator
    left: "Formula"
    right: "Formula"
    ends: Interval | None = None
    """Where a quotient is known to lie, and is shown."""


@dataclass(frozen=True, slots=True)
class RoundedNumber:
    """A number that is shown as a multiple of `step`, at most `off` steps away."""

    of: "Formula"
    step: Fraction
    off: Fraction = Fraction(1, 2)
    whole: bool = False


Formula = StatisticRef | Total | Number | Arithmetic | RoundedNumber


def parts_of(formula: Formula) -> Iterator[Formula]:
    """Yield a formula and all in it."""
    yield formula
    match formula:
        case Arithmetic(left=left, right=right):
            yield from parts_of(left)
            yield from parts_of(right)
        case RoundedNumber(of=of):
            yield from parts_of(of)
        case StatisticRef() | Total() | Number():
            pass
        case _:
            assert_never(formula)


def multiple_of_statistic(formula: Formula) -> tuple[Fraction, int] | None:
    """Return the constant and the place of a statistic that a formula is the product of; None of any other."""
    match formula:
        case StatisticRef(place=place):
            return Fraction(1), place
        case (
            Arithmetic(operator="*", left=Number(value=factor), right=other)
            | Arithmetic(operator="*", left=other, right=Number(value=factor))
        ):
            inner = multiple_of_statistic(other)
            return None if inner is None else (inner[0] * factor, inner[1])
        case _:
            return None


def with_ends(formula: Formula, ends_of: Callable[[int, int], Interval | None]) -> Formula:
    """Return a formula whose quotients know where they lie, by the places of the two statistics."""
    match formula:
        case Arithmetic():
            left, right = with_ends(formula.left, ends_of), with_ends(formula.right, ends_of)
            part, whole = (multiple_of_statistic(side) if formula.operator == "/" else None for side in (left, right))
            ends = None
            if part is not None and whole is not None and whole[0]:
                ends, factor = ends_of(part[1], whole[1]), part[0] / whole[0]
                # A negative factor turns the ends round.
                ends = ends and Interval(*sorted((ends.low * factor, ends.high * factor)))
                ends = None if ends is None or ends.magnitude > _LARGEST else ends
            return replace(formula, left=left, right=right, ends=ends)
        case RoundedNumber(of=of):
            return replace(formula, of=with_ends(of, ends_of))
        case _:
            return formula


def is_computed(node: exp.Expr) -> bool:
    """Return whether an expression computes with aggregates."""
    return not is_aggregate(node) and any(is_aggregate(part) for part in every(node, exp.Expr))


def require_size(node: exp.Expr) -> None:
    """Check that an expression has no more operations than may stand inside each other.

    Raises:
        Unsupported: it has more.
    """
    # By a stack, and before anything recurses: `formula` goes as deep as the expression does.
    pending, parts = [node], 0
    while pending and parts <= _MOST_PARTS:
        part = pending.pop()
        parts += 1
        pending += [] if is_aggregate(part) else part.iter_expressions()
    if parts > _MOST_PARTS:
        raise _unknown(f"It has more than {_MOST_PARTS:,} parts.")


def formula(t: Translator, node: exp.Expr, place_of: Callable[[exp.Expr], StatisticRef]) -> Formula:
    """Return what an expression computes; `place_of` takes the aggregate calls.

    Raises:
        Unsupported: it is not known how noise moves it.
    """
    while isinstance(node, exp.Paren):
        node = node.this
    if is_aggregate(node):
        return place_of(node)
    if not any(is_aggregate(part) for part in every(node, exp.Expr)):
        return _number(t, node)
    match node:
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            left, right = (formula(t, side, place_of) for side in (node.this, node.expression))
            # count(late) / count(*) of 7 and 10 is 0 in PostgreSQL: less than one step of 1 away from the quotient.
            computed = Arithmetic(_OPERATORS[type(node)], left, right)
            return RoundedNumber(computed, Fraction(1), Fraction(1), whole=True) if _cuts_off(computed) else computed
        case exp.Neg():
            return Arithmetic("*", Number(Fraction(-1), whole=True), formula(t, node.this, place_of))
        case exp.Cast():
            return _cast(formula(t, node.this, place_of), node)
        case exp.Window():
            return _total(t, node, place_of)
        case _:
            return _call(t, node, place_of)


def _number(t: Translator, node: exp.Expr) -> Number:
    constant = t.expression(node)
    number = isinstance(constant, Const) and constant.type.is_number
    if not isinstance(constant, Const) or not number or not isinstance(constant.value, (int, Fraction)):
        raise _unknown()
    value = Fraction(constant.value)
    if abs(value) > _LARGEST:
        raise _unknown("The constant is larger than double precision has room for.")
    return Number(value, constant.type.is_integer)


def _call(t: Translator, node: exp.Expr, place_of: Callable[[exp.Expr], StatisticRef]) -> Formula:
    name = "coalesce" if isinstance(node, exp.Coalesce) else function_name(node)
    args = [node.this, *node.expressions] if isinstance(node, exp.Coalesce) else node.expressions
    if name in _AS_IT_IS and args:
        for other in args[1:]:
            _number(t, other)
        return formula(t, args[0], place_of)
    if name == "round" and args:
        digits = _number(t, args[1]).value if len(args) > 1 else Fraction(0)
        if digits.denominator == 1 and abs(digits) <= _MOST_DIGITS:
            return RoundedNumber(formula(t, args[0], place_of), Fraction(10) ** -int(digits))
    raise _unknown()


def _cast(of: Formula, node: exp.Cast) -> Formula:
    kind = node.to.this.name if isinstance(node.to.this, exp.DataType.Type) else ""
    if kind in _WHOLE:
        return of if is_whole(of) else RoundedNumber(of, Fraction(1), whole=True)
    if kind in {"DECIMAL", "DOUBLE", "FLOAT"}:
        scale = [int(each.name) for each in node.to.expressions if each.name.isdigit()]
        # numeric(10, 2) has two digits behind the point, numeric(10) none, numeric any number of them.
        digits = (*scale, 0)[1] if scale and kind == "DECIMAL" else None
        # Times a 1 that is no whole number: count(late)::numeric / count(*) is not cut off any more.
        real = Arithmetic("*", Number(Fraction(1), whole=False), of)
        return real if digits is None else RoundedNumber(real, Fraction(10) ** -digits)
    raise _unknown()


def _total(t: Translator, node: exp.Window, place_of: Callable[[exp.Expr], StatisticRef]) -> Formula:
    of = node.this
    if function_name(of) != "sum" or any(value and key not in _PLAIN for key, value in node.args.items()):
        raise _unknown(hint="Of windows it knows sum(…) OVER (PARTITION BY …), the total of all groups of a partition.")
    (summed,) = of.expressions
    if not is_aggregate(summed):
        raise _unknown()
    return Total(place_of(summed).place, tuple(t.expression(key) for key in node.args.get("partition_by") or ()))


def _cuts_off(computed: Arithmetic) -> bool:
    """Return whether a quotient is of whole numbers, whose remainder PostgreSQL leaves out."""
    return computed.operator == "/" and is_whole(computed.left) and is_whole(computed.right)


def is_whole(formula: Formula) -> bool:
    """Return whether PostgreSQL computes it as a whole number; of integers that may be large it is decided by the other."""
    match formula:
        case StatisticRef(whole=whole) | Number(whole=whole) | RoundedNumber(whole=whole):
            return whole
        case Total():
            return False  # a numeric
        case Arithmetic(left=left, right=right):
            return is_whole(left) and is_whole(right)
        case _:
            assert_never(formula)


def _unknown(hint: str | None = None) -> Unsupported:
    return refused_margin(
        "dpsql.margin() takes an aggregate, or sums, differences, products and quotients of some and of constants", hint
    )


def refused_shrunk(why: str, hint: str) -> Unsupported:
    """Return the refusal of means that are drawn together where there are no groups of which that can be."""
    return Unsupported(
        f"dpsql.shrunk() draws the means of groups together, {why}", because="shrunk-of-groups", hint=hint
    )


def refused_margin(why: str, hint: str | None = None) -> Unsupported:
    """Return the refusal of a margin of what is computed."""
    return Unsupported(
        why, because="margin-of-computed", hint=hint or "Ask for the margin of each aggregate by itself."
    )
