"""The first rows of each unit, of which there are as many as are asked for.

FROM (SELECT fare, row_number() OVER (PARTITION BY rider ORDER BY day) AS n FROM rides) AS t WHERE n <= 2   →  2 rows

Claim: a unit has no more of these rows than is said. `row_number` gives the rows of a unit the places 1, 2, 3, …, each
once, where the unit alone is what they are told apart by. A place is read clamped to the greatest that the column may
have, so a condition tells rows apart only below that. Where a unit has one row nothing is weighed
(`test_attack_succeeds_on_a_mistake` has the mistakes that would be one here); else weights enforce any number that is
said, and a smaller one has less noise.
"""

import math

from dpsql.policy.interval import Interval
from dpsql.policy.model import Column
from dpsql.rewrite.analysis.predicates import assumed
from dpsql.rewrite.ir.expr import Expr, both, conjuncts, refs
from dpsql.rewrite.ir.facts import Facts
from dpsql.rewrite.ir.relation import Source, WindowRows, ref
from dpsql.rewrite.ir.unit_value import Window


def most_rows(source: Source, index: int, condition: Expr) -> int | None:
    """Return how many rows of the source with that number one unit may have where a condition holds; None: any number."""
    if not isinstance(source.made, WindowRows):
        return None
    places = (window.column for window in source.made.windows if _counts_all(window))
    limits = [most for place in places if (most := places_left(source, index, place, condition)) is not None]
    return min(limits, default=None)


def _counts_all(window: Window) -> bool:
    """Return whether each row of a unit has another place."""
    return window.function == "row_number" and not window.partition


def places_left(source: Source, index: int, place: Column, condition: Expr) -> int | None:
    """Return how many places the condition leaves, None where the last of them is among these."""
    column = ref(index, source.table, place.name)
    about = [conjunct for conjunct in conjuncts(condition) if set(refs(conjunct)) == {column}]
    narrowed, possible = assumed(
        both(*about), {column: Facts(nullable=False, interval=place.bounds)}, holds=True, chosen=True
    )
    left, every = narrowed[column].interval, place.bounds
    if not possible:
        return 1
    if left is None or every is None or not _told_apart(math.floor(left.high), every):
        return None
    return max(math.floor(left.high) - math.ceil(left.low) + 1, 1)


def _told_apart(last: int, every: Interval) -> bool:
    """Return whether a place is one row's: those beyond the greatest are read as that."""
    return last < every.high
