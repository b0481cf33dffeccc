"""The value of an aggregate of one unit's rows, and its bounds.

Each is the same in any order of the rows: sums are of whole numbers, or of whole steps between the bounds of what is
added up. Floating-point numbers added in another order come out as others, and that order is not the unit's own.

sum(fare) of fares in [0, 150], max_rows 20  →  steps of 150/2^30 added up, a column in [0, 3000]
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.analysis.bounds import bounded
from dpsql.rewrite.functions.table import step_of
from dpsql.rewrite.ir.expr import TRUE, Apply, Expr
from dpsql.rewrite.ir.facts import Facts
from dpsql.rewrite.ir.unit_value import UnitFunction, UnitValue
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.translate.rows.aggregates import Aggregate, Distinct, Extreme, Moment, Quantile, Vote, condition_of
from dpsql.rewrite.translate.values.durations import in_span, span_of

_FINE = 2**30
"""How many steps there are between the bounds of what has no step of its own."""
_SQUARED = 2**20
"""The same for variances, which add up squares."""
_NUMBERS = frozenset({"count", "count_distinct"})
_PLACES = frozenset({"min", "max", "percentile_disc"})
"""Aggregates that return one of their values."""
_ROOT_OF_HALF = Fraction(70711, 100_000)
"""A little more."""
_SUMS: Mapping[SqlType, SqlType] = {
    SqlType.SMALLINT: SqlType.BIGINT,
    SqlType.INTEGER: SqlType.BIGINT,
    SqlType.BIGINT: SqlType.NUMERIC,
}
"""PostgreSQL's types of sums, where they are not those of what is added up."""


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An argument of an aggregate, its facts, and how many rows of one unit count."""

    expr: Expr
    facts: Facts
    most: int


def unit_value(asked: Aggregate, node: exp.Expr, argument: Callable[[Expr], Aggregated]) -> UnitValue:
    """Return the aggregate as a column of a unit's row.

    Raises:
        Unsupported: it is none that is known of single units.
        MissingBounds: it computes with what has no bounds.
    """
    match asked:
        case Moment(name="count", args=()):
            return _count("count", None, asked.where, argument(asked.where).most, present=True)
        case Moment(name="count", args=(arg,)):
            given = argument(arg)
            return _count("count", None, condition_of(asked), given.most, present=not given.facts.nullable)
        case Moment(name="sum" | "avg" as name, args=(arg,)):
            return _sum(name, argument(arg), asked.where)
        case Extreme(name=name, arg=arg, ordered=None):
            return _extreme(name, argument(arg), asked.where)
        case Distinct(arg=arg):
            given = argument(arg)
            return _count("count_distinct", arg, asked.where, given.most, present=not given.facts.nullable)
        case Moment(name="var_pop" | "var_samp" | "stddev_pop" | "stddev_samp" as name, args=(arg,)):
            return _spread(name, argument(arg), asked.where)
        case Quantile(arg=arg, points=(point,), array=False, ordered=None) if not (
            asked.discrete and _is_descending(node)
        ):
            return _percentile(point, argument(arg), asked.where, discrete=asked.discrete)
        case Vote(name="bool_and" | "bool_or" as name, arg=arg):
            given = argument(arg)
            nullable = given.facts.nullable or asked.where != TRUE
            return UnitValue(name, arg, asked.where, Column("", SqlType.BOOLEAN, "boolean", nullable=nullable))
        case _:  # of texts, what is ordered is their places, which are no texts
            raise Unsupported(
                f"{render(node)[:80]} of single units is not supported",
                because="aggregate-of-units",
                hint="Take count, bool_and or bool_or; of numbers and times also sum, avg, min, max, variances, percentiles.",
            )


def as_asked(value: UnitValue, column: Expr) -> Expr:
    """Return a unit's number as PostgreSQL has it: what is made of times of the day, or of intervals, is one."""
    type_ = span_of(value.arg) if value.arg is not None and value.column.type.is_number else None
    if type_ is None or value.function in _NUMBERS:
        return column
    micros = column if column.type.is_integer else Apply("to_integer", (column,), SqlType.BIGINT)
    return in_span(micros, type_ if value.function in _PLACES else SqlType.INTERVAL)


def _count(function: UnitFunction, arg: Expr | None, where: Expr, most: int, *, present: bool) -> UnitValue:
    """Return a count; a unit that has a row at all has at least one of them, unless they are `present` in some only."""
    bounds = Interval.of(int(present and where == TRUE), most)
    column = Column("", SqlType.BIGINT, "bigint", bounds=bounds, step=Fraction(1))
    return UnitValue(function, arg, where, column)


def _sum(name: UnitFunction, given: Aggregated, where: Expr) -> UnitValue:
    arg, arg_facts = given.expr, given.facts
    interval, step = bounded(arg, arg_facts), step_of(arg)
    low, high = interval.low, interval.high
    if step:
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    if not step or (high - low) / step > _FINE:
        low, high, step = interval.low, interval.high, None
    type_ = _SUMS.get(arg.type, arg.type) if name == "sum" else _average(arg.type)
    whole = arg.type.is_integer and name == "sum"
    bounds = interval if name == "avg" else Interval(min(low, low * given.most), max(high, high * given.most))
    column = Column(
        "",
        type_,
        "numeric(38,10)" if type_ is SqlType.NUMERIC else type_.value,
        bounds=bounds,
        step=Fraction(1) if whole else step if name == "sum" else None,
        nullable=arg_facts.nullable or where != TRUE,
    )
    steps = 0 if arg.type.is_integer else int((high - low) / step) if step else _FINE
    return UnitValue(name, arg, where, column, Interval(low, high), steps)


def _average(type_: SqlType) -> SqlType:
    return SqlType.DOUBLE if type_.is_float else SqlType.NUMERIC


def _extreme(name: UnitFunction, given: Aggregated, where: Expr) -> UnitValue:
    arg, arg_facts = given.expr, given.facts
    bounds, type_ = bounded(arg, arg_facts), arg.type
    column = Column(
        "",
        type_,
        "numeric(38,10)" if type_ is SqlType.NUMERIC else type_.value,
        bounds=bounds,
        step=step_of(arg),
        nullable=arg_facts.nullable or where != TRUE,
    )
    return UnitValue(name, arg, where, column)


def _spread(name: UnitFunction, given: Aggregated, where: Expr) -> UnitValue:
    """Return a variance or standard deviation, read off the sums of steps and of their squares.

    It is at most that of rows which are half at one end and half at the other, of which two are the worst for a sample.
    """
    arg, arg_facts = given.expr, given.facts
    interval, step = bounded(arg, arg_facts), step_of(arg)
    own = interval.width / step if step else Fraction(0)
    steps = int(own) if own.denominator == 1 and 1 <= own <= _SQUARED else _SQUARED
    sample, root = name.endswith("samp"), name.startswith("stddev")
    width = interval.width
    most = width * (_ROOT_OF_HALF if sample else Fraction(1, 2)) if root else width**2 / (2 if sample else 4)
    type_ = _average(arg.type)
    column = Column(
        "",
        type_,
        "numeric(38,10)" if type_ is SqlType.NUMERIC else type_.value,
        bounds=Interval(Fraction(0), most),
        nullable=sample or arg_facts.nullable or where != TRUE,
    )
    return UnitValue(name, arg, where, column, interval, steps)


def _percentile(point: Fraction, given: Aggregated, where: Expr, *, discrete: bool) -> UnitValue:
    """Return an order statistic, or what lies between two: a function of the values, in any order."""
    if discrete:
        return replace(_extreme("percentile_disc", given, where), point=point)
    nullable = given.facts.nullable or where != TRUE
    bounds = bounded(given.expr, given.facts)
    column = Column("", SqlType.DOUBLE, SqlType.DOUBLE.value, bounds=bounds, nullable=nullable)
    return UnitValue("percentile_cont", given.expr, where, column, point=point)


def _is_descending(node: exp.Expr) -> bool:
    """Return whether a percentile counts from above, where ties are decided the other way round."""
    return any(bool(ordered.args.get("desc")) for ordered in node.find_all(exp.Ordered))
