"""The text of an aggregate of one unit's rows: total, and the same in all orders in which an engine reads them.

sum(fare) of fares in [0, 150]  →  0 + 150/2^30 · sum(CASE … round(fare · 2^30/150) … END)
"""

from fractions import Fraction
from typing import assert_never

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.emit.binning import stepped
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import TRUE, Expr
from dpsql.rewrite.ir.unit_value import UnitValue


def unit_text(value: UnitValue, emitter: Emitter, over: str = "") -> str:
    """Return the aggregate, of all rows of a group or of those that ` OVER (…)` says."""
    where = over if value.where == TRUE else f" FILTER (WHERE {emitter.sql(value.where)}){over}"
    if value.arg is None and over and value.where != TRUE:  # Spark filters no windows
        return f"count(CASE WHEN {emitter.sql(value.where)} THEN 1 END){over}"
    if value.arg is None:
        return f"count(*){where}"
    match value.function:
        case "count" | "count_distinct":
            return f"count(DISTINCT {emitter.one_text(emitter.sql(value.arg), value.arg.type)}){where}"
        case "min" | "max":
            # Of 0 and −0, which are equal, either may come out.
            return emitter.one_text(f"{value.function}({emitter.sql(value.arg)}){where}", value.arg.type)
        case "bool_and" | "bool_or":
            return f"{value.function}({emitter.sql(value.arg)}){where}"
        case "sum" | "avg":
            return _of_steps(value, value.arg, where, emitter)
        case "percentile_cont" | "percentile_disc":
            return _percentile(value, value.arg, where, emitter)
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            return _spread(value, value.arg, where, emitter)
        case _:
            assert_never(value.function)


def _of_steps(value: UnitValue, arg: Expr, where: str, emitter: Emitter) -> str:
    interval = value.interval or Interval.of(0, 0)
    if value.steps:
        text = stepped(emitter, arg, interval, value.steps)
        low, step = interval.low, interval.width / value.steps
    else:
        text, low, step = emitter.cast(emitter.sql(arg, computed=True), SqlType.BIGINT), Fraction(0), Fraction(1)
    total, number = f"{emitter.dialect.total(text)}{where}", f"count({text}){where}"
    if value.column.type.is_integer:
        return emitter.cast(_within(total, value), SqlType.BIGINT)
    total, number = (emitter.cast(part, SqlType.DOUBLE) for part in (total, number))
    if value.function == "avg":
        return f"({emitter.double(low)} + {total} / nullif({number}, 0) * {emitter.double(step)})"
    return f"({emitter.double(low)} * {number} + {total} * {emitter.double(step)})"


def _within(total: str, value: UnitValue) -> str:
    """Return a sum of whole numbers in 64 bits: what is beyond its column's bounds counts as the nearest of them anyway."""
    bounds = value.column.bounds or Interval.of(0, 0)
    low, high = int(bounds.low), int(bounds.high)
    return f"(CASE WHEN {total} > {high} THEN {high} WHEN {total} < ({low}) THEN ({low}) ELSE {total} END)"


def _percentile(value: UnitValue, arg: Expr, where: str, emitter: Emitter) -> str:
    text, type_ = emitter.sql(arg), arg.type
    if value.function == "percentile_cont":
        text, type_ = emitter.cast(emitter.sql(arg, computed=True), SqlType.DOUBLE), SqlType.DOUBLE
    point = emitter.double(value.point)
    return emitter.one_text(f"{value.function}({point}) WITHIN GROUP (ORDER BY {text}){where}", type_)


def _spread(value: UnitValue, arg: Expr, where: str, emitter: Emitter) -> str:
    """Return a function of three whole numbers: of rows, of the sum of their steps, and of that of the squares."""
    interval = value.interval or Interval.of(0, 0)
    text = emitter.cast(stepped(emitter, arg, interval, value.steps), SqlType.BIGINT)
    sums = (emitter.dialect.total(term) for term in (text, f"{text} * {text}"))
    parts = (f"count({text}){where}", *(f"{summed}{where}" for summed in sums))
    rows, total, squares = (emitter.cast(part, SqlType.DOUBLE) for part in parts)
    others = f"({rows} - {emitter.double(Fraction(1))})" if value.function.endswith("samp") else rows
    zero = emitter.double(Fraction(0))
    over = f"({rows} * {squares} - {total} * {total})"
    mean = f"((CASE WHEN {over} > {zero} THEN {over} ELSE {zero} END) / nullif({rows} * {others}, {zero}))"
    step = interval.width / value.steps
    if value.function.startswith("stddev"):
        return emitter.dialect.product(f"sqrt({mean})", emitter.double(step))
    return emitter.dialect.product(mean, emitter.double(step**2))
