"""Rules that intervals of many functions follow."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.rewrite.functions.function import IntervalRule
from dpsql.rewrite.ir.expr import Apply

_SLACK = Fraction(1, 2**40)
"""More than several operations in double precision are off, relative to their result."""


def widened(interval: Interval) -> Interval:
    """Return the interval a little wider, by what rounding in double precision can be off."""
    return Interval(interval.low - abs(interval.low) * _SLACK, interval.high + abs(interval.high) * _SLACK)


def known(intervals: Sequence[Interval | None]) -> tuple[Interval, ...] | None:
    """Return the intervals if there is one for every argument."""
    found = tuple(i for i in intervals if i is not None)
    return found if len(found) == len(intervals) else None


def corners(combine: Callable[[Fraction, Fraction], Fraction]) -> IntervalRule:
    """Apply to two intervals a function that is monotone in each argument separately."""

    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        found = known(intervals)
        if found is None:
            return None
        a, b = found
        ends = [combine(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return Interval(min(ends), max(ends))

    return rule


def monotone(f: Callable[[Fraction], Fraction]) -> IntervalRule:
    """Apply to an interval a function that never falls."""

    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        found = known(intervals)
        return Interval(f(found[0].low), f(found[0].high)) if found else None

    return rule


def same(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    """Keep the first argument's interval."""
    return intervals[0]


def hull(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    """Enclose all arguments: one of them is the result."""
    result = intervals[0]
    for other in intervals[1:]:
        result = result.hull(other) if result and other else None
    return result
