"""Quotients of which it is known where they lie are shown there, as averages are: a share of the whole is from 0 to 1.

    n / w  →  CASE WHEN w <= 0 THEN NULL WHEN n < 0 THEN 0 WHEN n > w THEN w ELSE n END / w

for n = count(*) FILTER (WHERE …) and w = count(*). Of sum(fare) / count(*) the ends are those of the fares, times w.
The shown value is no further from the truth than the measured one, follows from it alone, and is NULL where there
seems to be no row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from sqlglot import exp

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.privacy.features.quotient import range_of_quotient
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.ir.expr import refs
from dpsql.rewrite.ir.literal import format_value, simplest
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.scopes import Scope
from dpsql.rewrite.syntax.whole.splice import Match
from dpsql.rewrite.translate.rows.aggregates import Aggregate, Moment


@dataclass(frozen=True, slots=True)
class Quotient:
    """A statistic, or a constant times one, divided by another."""

    part: exp.Expr
    whole: exp.Expr
    numerator: Moment
    divisor: Moment

    @property
    def of_sum_by_count(self) -> bool:
        """Return whether it is a mean, or would be if both were of the same rows."""
        return self.numerator.name == "sum" and self.divisor.name == "count"

    def keep_possible(self, declared: Declared) -> None:
        """Change what is divided, in its tree, so that the quotient lies where it is known to lie."""
        numerator, other = self.numerator, self.divisor
        env = declared.env(refs(*numerator.args, numerator.where, *other.args, other.where))
        ends = range_of_quotient(numerator, other, partial(facts, env=env))
        if ends is not None:
            self.part.replace(_kept(self.part, self.whole, ends))


def quotients(scope: Scope, aggregates: Sequence[Aggregate], match: Match) -> Iterator[Quotient]:
    """Yield those of a scope's aggregates, of which `match` says what a node is."""
    kinds, select = {type(node) for node in scope.aggregates}, scope.select

    def moment(node: exp.Expr | None) -> Moment | None:
        name = match(node) if node is not None and type(node) in kinds else None
        asked = aggregates[int(name[1:])] if name is not None and name.startswith("a") else None
        return asked if isinstance(asked, Moment) else None

    for clause in (*select.expressions, select.args.get("having"), select.args.get("order")):
        for node in every(clause, exp.Div) if clause is not None else ():
            part, whole = _multiplied(node.this, kinds), _divided_by(node.expression)
            numerator, divisor = moment(part), moment(whole)
            if part is not None and numerator is not None and divisor is not None:
                yield Quotient(part, whole, numerator, divisor)


def _multiplied(node: exp.Expr, kinds: set[type[exp.Expr]]) -> exp.Expr | None:
    """Return the aggregate that a node is, or a constant times one."""
    while type(node) not in kinds:
        match node:
            case exp.Mul() if _is_constant(node.this):
                node = node.expression
            case exp.Mul() if _is_constant(node.expression):
                node = node.this
            case exp.Paren() | exp.Cast():
                node = node.this
            case _:
                return None
    return node


def _divided_by(node: exp.Expr) -> exp.Expr:
    """Return the divisor, also if it is cast, or NULL for 0."""
    while True:
        match node:
            case exp.Paren() | exp.Cast():
                node = node.this
            case exp.Anonymous(expressions=[dividend, exp.Literal()]) if function_name(node) == "nullif":
                node = dividend
            case _:
                return node


def _is_constant(node: exp.Expr) -> bool:
    while isinstance(node, (exp.Paren, exp.Cast, exp.Neg)):
        node = node.this
    return isinstance(node, exp.Literal)


def _kept(part: exp.Expr, whole: exp.Expr, ends: Interval) -> exp.Expr:
    low, high = (_times(end, whole) for end in (ends.low, ends.high))
    return exp.Case(
        ifs=[
            exp.If(this=exp.LTE(this=whole.copy(), expression=exp.Literal.number(0)), true=exp.Null()),
            exp.If(this=exp.LT(this=part.copy(), expression=low), true=low.copy()),
            exp.If(this=exp.GT(this=part.copy(), expression=high), true=high.copy()),
        ],
        default=part.copy(),
    )


def _times(end: Fraction, whole: exp.Expr) -> exp.Expr:
    if end in {0, 1}:
        return whole.copy() if end else exp.Literal.number(0)
    number = exp.Literal.number(format_value(simplest(abs(end)), SqlType.NUMERIC))
    return exp.Mul(this=exp.Paren(this=exp.Neg(this=number)) if end < 0 else number, expression=whole.copy())
