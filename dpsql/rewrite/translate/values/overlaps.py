"""OVERLAPS of two spans of time, each of two times in any order, or of a time and what is added to it.

(a, b) OVERLAPS (c, d), a before b and c before d  →  a < d AND c < b OR a = c
"""

from dataclasses import dataclass

from sqlglot import exp

from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.expr import NULL, TRUE, Apply, Const, Expr, IntervalValue, both
from dpsql.rewrite.translate.values.arithmetic import as_moment, as_timestamp
from dpsql.rewrite.translate.values.comparisons import BOOL, at_one_clock
from dpsql.rewrite.translate.values.context import IntervalTimes, Translator, refused

_NOTHING = Const(None, BOOL)


@dataclass(frozen=True, slots=True)
class _Span:
    """When it begins and ends; NULL is an end that is not known, and a beginning only where both are."""

    start: Expr
    end: Expr
    present: bool
    """Whether neither can be NULL."""


def overlaps(t: Translator, node: exp.Expr) -> Expr:
    """Translate OVERLAPS, as PostgreSQL decides it where a time is NULL, too."""
    sides = (node.this, node.expression)
    if any(not isinstance(side, exp.Tuple) or len(side.expressions) != 2 for side in sides):
        raise refused(node, because="overlaps-of-times")
    a, b, c, d = at_one_clock(t, *(part for side in sides for part in side.expressions))
    first, other = _span(t, a, b, node), _span(t, c, d, node)
    tied = _compare("eq", first.start, other.start)
    if first.present and other.present:
        crossed = both(_compare("lt", first.start, other.end), _compare("lt", other.start, first.end))
        return Apply("or", (crossed, tied), BOOL)
    after, before = _compare("gt", first.start, other.start), _compare("lt", first.start, other.start)
    ended = both(*(Apply("not", (_missing(span.end),), BOOL) for span in (first, other) if not span.present))
    together = Apply("case", (ended, TRUE, _NOTHING), BOOL)
    args = (after, _reaches(first, other), before, _reaches(other, first), tied, together, _NOTHING)
    return Apply("case", args, BOOL)


def _reaches(later: _Span, earlier: _Span) -> Expr:
    """Return whether the span that begins earlier lasts until the later one; unknown where it has no end."""
    inside = _compare("lt", later.start, earlier.end)
    if later.present:
        return inside
    return Apply("case", (inside, TRUE, _missing(later.end), _NOTHING, inside), BOOL)


def _span(t: Translator, first: exp.Expr, second: exp.Expr, node: exp.Expr) -> _Span:
    length = t.operand(second)
    if isinstance(length, (IntervalValue, IntervalTimes)):
        second = exp.Add(this=exp.Paren(this=first.copy()), expression=exp.Paren(this=second.copy()))
    a, b = (as_timestamp(as_moment(t, t.expression(part))) for part in (first, second))
    if any(time.type is not SqlType.TIMESTAMP and time != NULL for time in (a, b)):
        raise refused(node, because="overlaps-of-times")
    facts_of_times = tuple(t.facts_of(time) for time in (a, b))
    present = not any(facts.nullable for facts in facts_of_times)
    ends = [facts.interval for facts in facts_of_times]
    forward = isinstance(length, IntervalValue) and min(length.months, length.days, length.micros) >= 0
    if present and (forward or (ends[0] and ends[1] and ends[0].high <= ends[1].low)):
        return _Span(a, b, present)
    if present and ends[0] and ends[1] and ends[1].high <= ends[0].low:
        return _Span(b, a, present)
    missing = () if present else (_missing(a), b)
    none = () if present else (_missing(a), Const(None, SqlType.TIMESTAMP))
    turned = _compare("gt", a, b)
    return _Span(
        Apply("case", (*missing, turned, b, a), SqlType.TIMESTAMP),
        Apply("case", (*none, turned, a, b), SqlType.TIMESTAMP),
        present,
    )


def _missing(time: Expr) -> Expr:
    return Apply("is_null", (time,), BOOL)


def _compare(op: str, a: Expr, b: Expr) -> Expr:
    return Apply(op, (a, b), BOOL)
