"""The time of the day of a moment: how many microseconds have gone since midnight.

picked::time                      →  between 0 and 86399999999
date_trunc('hour', picked)::time  →  one of 24
"""

from collections.abc import Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.domains import Cell, Domains, too_many
from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.functions.steps import of_time
from dpsql.rewrite.ir.calendar import DAY, SIZES
from dpsql.rewrite.ir.expr import Apply, Expr, Unit, option


def moment_of(time: Expr) -> Expr | None:
    """Return the moment whose time of the day an expression is; None of other times."""
    return time.args[0] if isinstance(time, Apply) and time.op == "time_of_day" else None


def _emit(args: Sequence[str], _: Apply, dialect: Dialect) -> str:
    return dialect.elapsed_micros(args[0], dialect.truncated("day", args[0]))


def _within_day(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    """Return between which times of the day an interval is: those of its ends only if it is within one day."""
    x = intervals[0]
    if x is None:
        return None
    if x.low // DAY == x.high // DAY:
        return Interval(Fraction(x.low % DAY), Fraction(x.high % DAY))
    return Interval.of(0, DAY - 1)


def _times(apply: Apply, domains: Domains) -> Sequence[Cell] | None:
    """Return the times of the day of all moments, if those are few; of beginnings of hours, say, those in a day."""
    (moment,) = apply.args
    while isinstance(moment, Apply) and moment.op == "in_utc":
        (moment,) = moment.args
    interval = domains.interval(moment)
    if interval is None or not isinstance(moment, Apply):
        return None
    size = SIZES.get(option(moment, Unit).name) if moment.op == "date_trunc" else None
    if size is None or interval.width < DAY:
        return sorted({int(value) % DAY for value in domains.of(moment) if value is not None})
    if DAY // size > domains.limit:
        raise too_many(DAY // size, domains.limit)
    return range(0, DAY, size)


DAY_TIMES: tuple[Function, ...] = (
    Function(
        "time_of_day",
        "t::time",
        _emit,
        _within_day,
        domain=_times,
        step=of_time,
        describe=lambda args, _: f"{args[0]}::time",
    ),
)
