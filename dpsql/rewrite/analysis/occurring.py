"""The values of several keys that can occur together, where the keys are made of the same columns.

GROUP BY payment_type, upper(payment_type)                              →  (card, CARD), (cash, CASH)
GROUP BY date_trunc('day', t), extract(dow FROM t)                      →  each day with the one weekday that it has
GROUP BY seats, CASE WHEN seats = 1 THEN payment_type END               →  (1, card), (1, cash), (2, NULL), (3, NULL)

Claim: engines find no other. All values of the columns are tried, and of times a moment of each of the shortest units that
the keys tell apart; and nothing is computed that engines round. It follows from the policy alone.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from dpsql.errors import DpsqlError
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.functions.domains import Cell
from dpsql.rewrite.functions.function import EvaluateRule
from dpsql.rewrite.functions.table import function_of, integral
from dpsql.rewrite.ir.calendar import DAY, UNITS, step, truncate
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, TimeField, refs, walk
from dpsql.rewrite.ir.facts import Env

_MOST_CASES = 20_000
"""Combinations of the columns' values that are tried."""
_EXACT = 2**53
"""The largest number up to which double precision has all that are whole, as expressions may be computed; and moments."""
_WEEKLY = frozenset({"dow", "isodow", "hour", "minute"})
"""The fields of a time that are the same a week later."""
_WEEK = 8 * DAY
"""A week, from the beginning of a unit of time in whose midst it begins."""
_ALL, _LONGEST = UNITS[0], UNITS[-1]
"""The units that tell times apart which stand for themselves."""


def linked(exprs: Sequence[Expr]) -> Iterator[tuple[int, ...]]:
    """Yield the indices of keys that are made of common columns, directly or by others; all that have none alone."""
    left = list(range(len(exprs)))
    while left:
        places = [left.pop(0)]
        columns = set(refs(exprs[places[0]]))
        while more := [index for index in left if columns & set(refs(exprs[index]))]:
            places += more
            columns |= set(refs(*(exprs[index] for index in more)))
            left = [index for index in left if index not in more]
        yield tuple(sorted(places))


def occurring(exprs: Sequence[Expr], env: Env) -> frozenset[tuple[Cell, ...]] | None:
    """Return all that keys can be together; None where that is not known, or takes too long to find out."""
    columns = refs(*exprs)
    public = [ref.source for ref in columns if ref.public]
    if len(set(public)) < len(public) or not all(map(can_be_tried, exprs)):
        return None  # columns of one public table go together as its rows have them
    cases: list[Sequence[Cell]] = []
    for ref in columns:
        values = cases_of(ref, exprs, env)
        if values is None or math.prod([len(values), *(len(case) for case in cases)]) > _MOST_CASES:
            return None
        cases.append(values)
    rows = (dict(zip(columns, case, strict=True)) for case in itertools.product(*cases))
    occurring_cells = frozenset(tuple(tried_value(expr, row) for expr in exprs) for row in rows)
    return (
        None
        if any(isinstance(c, int) and abs(c) > _EXACT for cells in occurring_cells for c in cells)
        else occurring_cells
    )


def can_be_tried(expr: Expr) -> bool:
    """Return whether engines compute what we do: no number in it has digits after the point."""
    return all(
        not (part.type.is_number and not integral(part)) and (not isinstance(part, Apply) or _rule(part) is not None)
        for part in walk(expr)
    )


def _rule(expr: Apply) -> EvaluateRule | None:
    function = function_of(expr)
    return function.evaluate or function.computed


def tried_value(expr: Expr, row: Mapping[Ref, Cell]) -> Cell:
    """Return the value of an expression where columns have these."""
    match expr:
        case Ref():
            return row[expr]
        case Const():
            return expr.value
        case Apply():
            rule = _rule(expr)
            assert rule is not None
            return rule([tried_value(arg, row) for arg in expr.args], expr)
        case _:
            assert_never(expr)


def cases_of(ref: Ref, exprs: Sequence[Expr], env: Env) -> Sequence[Cell] | None:
    """Return values of a column that make of expressions all that they can be; None where those are not few, or not known."""
    try:
        ref_facts = facts(ref, env)
    except DpsqlError:
        return None
    cases: Sequence[Value] | None = ref_facts.values
    if cases is None and ref_facts.interval is not None:
        low, high = math.ceil(ref_facts.interval.low), math.floor(ref_facts.interval.high)
        if ref.type.is_integer or ref.type is SqlType.DATE:
            cases = range(low, high + 1)
        elif ref.type is SqlType.TIMESTAMP:
            unit = min((unit for expr in exprs for unit in _units(expr, ref)), key=UNITS.index, default=_LONGEST)
            if all(_comes_again(expr, ref) for expr in exprs):
                high = min(high, low + _WEEK)
            cases = _moments(low, high, unit, [at for expr in exprs for at in _compared_with(expr, ref)])
    if cases is None or len(cases) > _MOST_CASES:
        return None
    return (*cases, None) if ref_facts.nullable else cases


def _comes_again(expr: Expr, ref: Ref) -> bool:
    """Return whether an expression reads nothing of a time but its weekday and the time of the day.

    Then it has all its values within any week, and has them again in every other one.
    """
    match expr:
        case Apply(option=TimeField(name=field), args=(inside,)) if inside == ref:
            return field in _WEEKLY
        case Apply():
            return all(_comes_again(arg, ref) for arg in expr.args)
        case Ref() | Const():
            return expr != ref
        case _:
            assert_never(expr)


def _units(expr: Expr, ref: Ref) -> Iterator[str]:
    """Yield the units of time within which an expression is the same, by the places where it reads a column."""
    match expr:
        case Apply() if _compared(expr) == ref:
            pass
        case Apply(args=(inside, *_)) if inside == ref and (unit := function_of(expr).granule(expr)) is not None:
            yield unit
        case Apply():
            for arg in expr.args:
                yield from _units(arg, ref)
        case Ref() if expr == ref:
            yield _ALL
        case Ref() | Const():
            pass


def _compared(expr: Apply) -> Expr | None:
    """Return what is compared with constants alone."""
    condition = function_of(expr).condition
    return None if condition is None else condition.compared(expr)


def _compared_with(expr: Expr, ref: Ref) -> Iterator[int]:
    """Yield the times with which a plain column is compared."""
    if isinstance(expr, Apply) and _compared(expr) == ref:
        yield from (int(arg.value) for arg in expr.args if isinstance(arg, Const) and isinstance(arg.value, int))
    elif isinstance(expr, Apply):
        for arg in expr.args:
            yield from _compared_with(arg, ref)


def _moments(low: int, high: int, unit: str, compared: Sequence[int]) -> Sequence[int] | None:
    """Return a moment of each unit, and of each part of it that comparisons tell apart, unless they are too many."""
    beside = {at + step for at in compared for step in (-1, 0, 1) if low <= at + step <= high}
    begun = _beginnings(low, high, unit)
    return None if begun is None else [*dict.fromkeys((*begun, *sorted(beside)))]


def _beginnings(low: int, high: int, unit: str) -> Sequence[int] | None:
    beginnings, at = list[int](), truncate(unit, low)
    while at <= high:
        if len(beginnings) >= _MOST_CASES or unit == _ALL:
            return None
        beginnings.append(at)
        try:
            at = step(unit, at)
        except (OverflowError, ValueError):
            break  # the calendar ends there
    return beginnings


def going_together(
    exprs: Sequence[Expr], shown: Sequence[Mapping[Cell, Cell]], env: Env
) -> Sequence[tuple[tuple[Cell, Cell], ...]] | None:
    """Return all that keys can be together, as (grouped, shown) pairs, given each key's own; None where it is not known."""
    occurring_cells = occurring(exprs, env)
    if occurring_cells is None:
        return None
    own = [{cell: grouped for grouped, cell in cells.items()} for cells in shown]
    return [
        tuple((by[cell], cell) for by, cell in zip(own, cells, strict=True))
        for cells in occurring_cells
        if all(cell in by for by, cell in zip(own, cells, strict=True))
    ]
