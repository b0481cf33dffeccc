"""Computations on times with a zone: on the clock of the session, or of a zone that is named.

date_trunc('day', made)     →  made moved to the session's clock, truncated, and moved back
made + interval '1 month'   →  the same day of the next month by that clock
"""

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.expr import Apply, Expr, IntervalValue, Unit
from dpsql.rewrite.translate.values.arithmetic import arithmetic
from dpsql.rewrite.translate.values.context import IntervalTimes, Operand, Translator
from dpsql.rewrite.translate.values.zones import (
    Moving,
    at_time_zone,
    in_utc,
    instant,
    is_zoned,
    on_session_clock,
    shows_utc,
)

_SIZES = {"hour": 3600 * 10**6, "minute": 60 * 10**6, "second": 10**6, "milliseconds": 1000, "microseconds": 1}
"""Units of time that begin wherever clocks are changed by whole ones of them."""


def truncated_in(t: Translator, unit: str, moment: exp.Expr, zone: exp.Expr | None, node: exp.Expr) -> Expr:
    """Return `date_trunc(unit, t)` of a time with a zone, as the session's clock shows it or that of a zone."""
    zoned = moment.copy() if is_zoned(t, moment) else exp.cast(moment.copy(), "timestamptz", dialect="postgres")
    x = t.expression(zoned)
    local = on_session_clock(t, x, node) if zone is None else at_time_zone(t, _at(zoned, zone))
    begun = Apply("date_trunc", (local,), SqlType.TIMESTAMP, Unit(unit))
    if unit in _SIZES and not (zone is None and shows_utc(t)):
        by = exp.cast(exp.column("x"), "timestamp", dialect="postgres") if zone is None else _at(exp.column("x"), zone)
        pieces = Moving(t, x, by, node).pieces()
        if all(shift % _SIZES[unit] == 0 for _, shift in pieces):
            return Apply("date_trunc", (x,), SqlType.TIMESTAMPTZ, Unit(unit))
        if len(pieces) > 1:
            raise _changes(node)
    return instant(t, begun, node) if zone is None else Moving(t, begun, _at(exp.column("x"), zone), node).expression()


def _at(time: exp.Expr, zone: exp.Expr) -> exp.Expr:
    return exp.AtTimeZone(this=exp.Paren(this=time.copy()), zone=zone.copy())


def by_clock(t: Translator, node: exp.Expr) -> Operand:
    """Translate `a + b` and `a - b`: with a time with a zone, by the session's clock."""
    sides = (node.this, node.expression)
    zoned = [is_zoned(t, side) for side in sides]
    if not any(zoned):
        return arithmetic(t, node)
    other = t.operand(sides[zoned.index(True) ^ 1])
    if not isinstance(other, (IntervalValue, IntervalTimes)):
        return arithmetic(t, exp.Sub(this=in_utc(t, sides[0]), expression=in_utc(t, sides[1])))
    x = t.expression(sides[zoned.index(True)])
    sign = 1 if isinstance(node, exp.Add) else -1
    if isinstance(other, IntervalTimes):
        return _moved_often(t, x, other, node, sign)
    return _moved(t, x, other.times(sign), node)


def _moved(t: Translator, x: Expr, span: IntervalValue, node: exp.Expr) -> Expr:
    """Return a time moved: by months and days as the session's clock shows it, then by what is shorter."""
    if span.months or span.days:
        local = on_session_clock(t, x, node)
        days = Apply("shift", (local,), SqlType.TIMESTAMP, IntervalValue(span.months, span.days, 0))
        if span.months and span.days:
            _check_still(t, x, node)
        x = instant(t, days, node)
    return Apply("shift", (x,), SqlType.TIMESTAMPTZ, IntervalValue(0, 0, span.micros)) if span.micros else x


def _moved_often(t: Translator, x: Expr, times: IntervalTimes, node: exp.Expr, sign: int) -> Expr:
    """Return a time moved by a number of steps; days are 24 hours where the clock is not changed."""
    if times.span.days:
        _check_still(t, x, node)
    micros = sign * (times.span.days * DAY + times.span.micros)
    return Apply("shift_by", (x, times.number), SqlType.TIMESTAMPTZ, IntervalValue(0, 0, micros))


def _check_still(t: Translator, x: Expr, node: exp.Expr) -> None:
    """Check that the session's clock is not changed where a time is."""
    if shows_utc(t):
        return
    if len(Moving(t, x, exp.cast(exp.column("x"), "timestamp", dialect="postgres"), node).pieces()) > 1:
        raise _changes(node)


def _changes(node: exp.Expr) -> Unsupported:
    return Unsupported(
        f"{node.sql('postgres')[:80]} is not exact where the session's TimeZone changes its clock",
        because="session-clock-changes",
        hint="SET TimeZone = 'UTC', or compute with t AT TIME ZONE 'UTC'.",
    )
