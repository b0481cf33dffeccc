"""Aggregates of CASE are aggregates of some rows: `sum(CASE WHEN c THEN x END)` is `sum(x) FILTER (WHERE c)`."""

from dataclasses import replace

from dpsql.errors import MissingBounds
from dpsql.privacy.features.known_statistics import statistic
from dpsql.rewrite.analysis.exclusion import Known
from dpsql.rewrite.functions.logical import only_branch
from dpsql.rewrite.ir.expr import Const, Expr, both
from dpsql.rewrite.translate.rows.aggregates import Moment


def case_to_filter(moment: Moment, facts_of: Known) -> Moment:
    """Return the statistic with the condition of a CASE, and of CASEs in it, among those on its rows.

    A sum may also have `ELSE 0`. An aggregate that then counts or adds up ones is a count of rows.
    """
    if len(moment.args) == 1:
        case = _case(moment.args[0], zero=statistic(moment.name).adds_up)
        if case is not None and _no_wider(moment, case[1], facts_of):
            condition, value = case
            return case_to_filter(replace(moment, args=(value,), where=both(moment.where, condition)), facts_of)
        if _counts_rows(moment):
            return Moment("count", (), moment.where)
    return moment


def _case(arg: Expr, *, zero: bool) -> tuple[Expr, Expr] | None:
    """Return the condition and the value of a CASE of one branch that is otherwise NULL (or zero)."""
    branch = only_branch(arg)
    if branch is None:
        return None
    condition, value, other = branch
    nothing = isinstance(other, Const) and (other.value is None or (zero and other.value == 0))
    return (condition, value) if nothing and not _is_null(value) else None


def _no_wider(moment: Moment, value: Expr, facts_of: Known) -> bool:
    """Return whether a value by itself has no wider interval than in its CASE, whose condition may narrow it."""
    try:
        alone = facts_of(value)
    except MissingBounds:
        return False
    if statistic(moment.name).counts:
        return True
    inside = facts_of(moment.args[0]).interval
    return alone.interval is not None and inside is not None and alone.interval.meet(inside) == alone.interval


def _counts_rows(moment: Moment) -> bool:
    (arg,) = moment.args
    if not isinstance(arg, Const) or _is_null(arg):
        return False
    kind = statistic(moment.name)
    return kind.counts or (kind.adds_up and arg.value == 1)


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is None
