"""The range of a quotient of two sums, for all rows that there may be: a part of a whole is between none and all of it."""

import math

from dpsql.errors import MissingBounds
from dpsql.policy.interval import Interval
from dpsql.privacy.features.case_to_filter import case_to_filter
from dpsql.privacy.features.design import of_present_rows
from dpsql.rewrite.analysis.exclusion import Known
from dpsql.rewrite.ir.expr import TRUE, conjuncts
from dpsql.rewrite.translate.rows.aggregates import Moment

_SHARE = Interval.of(0, 1)
_LARGEST = 2**31
"""Ends that an integer of PostgreSQL's holds do not change what type a quotient has."""


def range_of_quotient(part: Moment, whole: Moment, facts_of: Known) -> Interval | None:
    """Return where `part` / `whole` is, of counts or sums; None where nothing is known.

    Claim: the rows of the part are among those of the whole, whose number is not negative; each row of the part is worth
    between the ends times what it is worth in the whole, and each other row 0, which is between them, too.
    """
    try:
        numerator, other = (of_present_rows(case_to_filter(moment, facts_of), facts_of) for moment in (part, whole))
        values = Interval.of(1, 1) if numerator.name == "count" else _values(numerator, facts_of)
        if values is None or not _is_among(numerator, other):
            return None
        if other.name == "sum":
            return _SHARE if numerator.name == "sum" and numerator.args == other.args and values.low >= 0 else None
        return Interval(min(values.low, _SHARE.low), max(values.high, _SHARE.low)) if other.name == "count" else None
    except MissingBounds:
        return None


def _values(moment: Moment, facts_of: Known) -> Interval | None:
    """Return what is added up, of whole numbers between whole numbers."""
    if moment.name != "sum" or not moment.args[0].type.is_number:
        return None
    interval = facts_of(moment.args[0]).interval
    if interval is None or not moment.args[0].type.is_integer:
        return interval
    whole = Interval.of(math.floor(interval.low), math.ceil(interval.high))
    return whole if whole.magnitude < _LARGEST else None


def _is_among(moment: Moment, other: Moment) -> bool:
    """Return whether all rows of one are rows of the other."""
    return other.where == TRUE or set(conjuncts(other.where)) <= set(conjuncts(moment.where))
