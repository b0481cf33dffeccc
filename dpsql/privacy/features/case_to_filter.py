"""Aggregates of CASE are aggregates of some rows: `sum(CASE WHEN c THEN x END)` is `sum(x) FILTER (WHERE c)`."""

from dataclasses import replace

from dpsql.errors import MissingBounds
from dpsql.privacy.features.statistic import Known
from dpsql.rewrite.ir.expr import Apply, Const, Expr, both
from dpsql.rewrite.translate.aggregates import Moment


def opened(moment: Moment, known: Known) -> Moment:
    """Return the statistic with the condition of a CASE, and of CASEs in it, among those on its rows.

    A sum may also have `ELSE 0`. What then counts or adds up ones is a count of rows.
    """
    if len(moment.args) == 1:
        found = _case(moment.args[0], zero=moment.name == "sum")
        if found is not None and _alike(moment, found[1], known):
            condition, value = found
            return opened(replace(moment, args=(value,), where=both(moment.where, condition)), known)
        if _counts_rows(moment):
            return Moment("count", (), moment.where)
    return moment


def _case(arg: Expr, *, zero: bool) -> tuple[Expr, Expr] | None:
    """Return the condition and the value of a CASE of one branch that is otherwise NULL (or zero)."""
    if not (isinstance(arg, Apply) and arg.op == "case" and len(arg.args) == 3):
        return None
    condition, value, other = arg.args
    nothing = isinstance(other, Const) and (other.value is None or (zero and other.value == 0))
    return (condition, value) if nothing and not _is_null(value) else None


def _alike(moment: Moment, value: Expr, known: Known) -> bool:
    """Say whether a value is as tame by itself as in its CASE, whose condition may keep it from growing."""
    try:
        alone = known(value)
    except MissingBounds:
        return False
    if moment.name == "count":
        return True
    inside = known(moment.args[0]).interval
    return alone.interval is not None and inside is not None and alone.interval.meet(inside) == alone.interval


def _counts_rows(moment: Moment) -> bool:
    (arg,) = moment.args
    if not isinstance(arg, Const) or _is_null(arg):
        return False
    return moment.name == "count" or (moment.name == "sum" and arg.value == 1)


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is None
