"""How many public rows one private row can meet in a join, which are so many joined rows: noise is to be made for these.

JOIN days ON trips.day < days.d                            →  all of them
JOIN days ON trips.at >= days.d AND trips.at < days.d + 1  →  one, if no two of these stretches overlap
JOIN zones ON zones.borough = trips.borough                →  as many zones as one borough has

Claim: the numbers here are a choice and prove nothing. For all such numbers, a unit's joined rows are weighed so that
it has no more than its bound times these (`owners`); where they are too small counts are too low, where they are too
large there is more noise than need be. They are made of public rows and of the statement, so that they tell nothing.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.evaluate import evaluable, evaluate, keeps
from dpsql.rewrite.functions.comparisons import compared_ways
from dpsql.rewrite.ir.calendar import shift
from dpsql.rewrite.ir.expr import Apply, Expr, IntervalValue, Ref, refs
from dpsql.rewrite.ir.facts import Facts

Row = Mapping[Ref, Value | None]
"""The facts about a public row."""
_FAR = math.inf
"""Beyond all numbers that are compared."""
_Number = int | Fraction
_Place = tuple[_Number | float, bool]
"""A number, or what comes right behind it."""


@dataclass(slots=True)
class _Stretches:
    """From where to where each row's partners are, by one expression of these."""

    starts: list[_Place]
    ends: list[_Place]
    never: set[int] = field(default_factory=set)


def most_partners(conditions: Sequence[Expr], index: int, rows: Sequence[Row]) -> int:
    """Return the most of the rows of a source that one row of those before it can meet, at least 1.

    `conditions` hold of every joined row; those that are about sources behind this one are no help.
    """
    own = [
        condition for condition in conditions if all(ref.source == index for ref in refs(condition)) and refs(condition)
    ]
    rows = [row for row in rows if all(keeps(condition, row) for condition in own)]
    counts = [len(rows), *_equal(conditions, index, rows)]
    counts += [_deepest(stretches) for stretches in _stretches(conditions, index, rows).values()]
    return max(min(counts), 1)


def _sides(conditions: Sequence[Expr], index: int) -> Iterator[tuple[str, Expr, Expr]]:
    """Yield comparisons of something of the source's rows alone with something of rows before it, in this order."""
    for condition in conditions:
        for op, mine, other in compared_ways(condition):
            inside, outside = {ref.source for ref in refs(mine)}, {ref.source for ref in refs(other)}
            if inside == {index} and outside and max(outside) < index:
                yield op, mine, other


def _equal(conditions: Sequence[Expr], index: int, rows: Sequence[Row]) -> Iterator[int]:
    """Yield of each equation how many rows have the value that most have."""
    for op, mine, _ in _sides(conditions, index):
        if op == "eq" and evaluable(mine) and all(set(refs(mine)) <= set(row) for row in rows):
            values = Counter(evaluate(mine, row) for row in rows)
            values.pop(None, None)
            yield max(values.values(), default=0)


def _stretches(
    conditions: Sequence[Expr], index: int, rows: Sequence[Row]
) -> Mapping[tuple[Expr, SqlType | None], _Stretches]:
    """Return where each row's partners are, by what they are compared by: with numbers of any type, or with times of one."""
    by_expr: dict[tuple[Expr, SqlType | None], _Stretches] = {}
    for op, mine, other in _sides(conditions, index):
        if op == "eq" or not (mine.type.is_number or mine.type.is_temporal):
            continue
        new = _Stretches([(-_FAR, False)] * len(rows), [(_FAR, False)] * len(rows))
        stretches = by_expr.setdefault((other, None if mine.type.is_number else mine.type), new)
        read = refs(mine)
        for place, row in enumerate(rows):
            if any(ref not in row for ref in read):
                continue
            if any(row[ref] is None for ref in read):
                stretches.never.add(place)  # no comparison with NULL holds
            else:
                _narrow(stretches, place, op, mine, row)
    return by_expr


def _narrow(stretches: _Stretches, place: int, op: str, mine: Expr, row: Row) -> None:
    low, high = _value(mine, row)
    if op in ("lt", "le") and low is not None:
        stretches.starts[place] = max(stretches.starts[place], (low, op == "lt" and low == high))
    if op in ("gt", "ge") and high is not None:
        stretches.ends[place] = min(stretches.ends[place], (high, op == "ge" or low != high))


def _value(expr: Expr, row: Row) -> tuple[_Number | None, _Number | None]:
    """Return between which numbers the value of an expression is, as far as is known; no column of it is NULL."""
    if isinstance(expr, Ref) or evaluable(expr):
        value = row[expr] if isinstance(expr, Ref) else evaluate(expr, row)
        number = None if value is None or isinstance(value, str) else value
        return number, number
    if isinstance(expr, Apply) and isinstance(expr.option, IntervalValue) and len(expr.args) == 1:
        low, high = _value(expr.args[0], row)
        return _moved(low, expr.option), _moved(high, expr.option)
    env: dict[Expr, Facts] = {
        ref: Facts.of_values((value,), nullable=False) for ref, value in row.items() if value is not None
    }
    interval = facts(expr, env).interval
    return (None, None) if interval is None else (Fraction(interval.low), Fraction(interval.high))


def _moved(moment: _Number | None, span: IntervalValue) -> _Number | None:
    """Return a time moved by a span; None where that is beyond the calendar, or nothing is known."""
    try:
        return None if moment is None else shift(int(moment), span)
    except (OverflowError, ValueError):
        return None


def _deepest(stretches: _Stretches) -> int:
    """Return how many stretches have a place in common."""
    pairs = enumerate(zip(stretches.starts, stretches.ends, strict=True))
    there = [pair for place, pair in pairs if place not in stretches.never and pair[0] < pair[1]]
    steps = sorted([(end, -1) for _, end in there] + [(start, 1) for start, _ in there])
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most
