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


def all_given(intervals: Sequence[Interval | None]) -> tuple[Interval, ...] | None:
    """Return the intervals if there is one for every argument."""
    present = tuple(i for i in intervals if i is not None)
    return present if len(present) == len(intervals) else None


def corners(combine: Callable[[Fraction, Fraction], Fraction]) -> IntervalRule:
    """Apply to two intervals a function that is monotone in each argument separately."""

    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        given = all_given(intervals)
        if given is None:
            return None
        a, b = given
        ends = [combine(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return Interval(min(ends), max(ends))

    return rule


def monotone(f: Callable[[Fraction], Fraction]) -> IntervalRule:
    """Apply to an interval a function that never falls."""

    def rule(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
        given = all_given(intervals)
        return Interval(f(given[0].low), f(given[0].high)) if given else None

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
