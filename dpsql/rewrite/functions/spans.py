"""What comparisons and keys say of a time: from which value on it is, up to which, and to the beginning of what it is cut.

admitted_at >= '2026-03-01'        →  from 2026-03-01 on
date_trunc('day', admitted_at)     →  day
"""

from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, Unit, option

_SWAPPED = {"ge": "le", "gt": "lt", "le": "ge", "lt": "gt", "eq": "eq"}
"""The operator between the sides of a comparison when they change places."""


def truncated(expr: Expr, time: Ref) -> str | None:
    """Return to the beginning of what an expression cuts a time: of a day, a month; None where it does something else."""
    if expr == time:
        return "day" if time.type is SqlType.DATE else None
    if not isinstance(expr, Apply) or len(expr.args) != 1:
        return None
    (inner,) = expr.args
    match expr.op:
        case "timestamp_to_date":
            return "day" if inner == time else truncated(inner, time)
        case "date_to_timestamp":
            return truncated(inner, time)
        case "date_trunc":
            whole = time.type is SqlType.TIMESTAMP and inner == time
            return option(expr, Unit).name if whole or truncated(inner, time) == "day" else None
        case _:
            return None


def compared(condition: Expr, time: Ref) -> tuple[int | None, int | None] | None:
    """Return from which value on, and up to which, a comparison lets a time be, as it is counted: in days or microseconds.

    None of anything but a comparison with one constant of its type.
    """
    if not isinstance(condition, Apply) or condition.op not in _SWAPPED or len(condition.args) != 2:
        return None
    left, right = condition.args
    how, constant = (condition.op, right) if left == time else (_SWAPPED[condition.op], left)
    if time not in (left, right) or not isinstance(constant, Const) or constant.type is not time.type:
        return None
    value = constant.value
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    match how:
        case "ge":
            return value, None
        case "gt":
            return value + 1, None
        case "lt":
            return None, value
        case "le":
            return None, value + 1
        case _:
            return value, value + 1
