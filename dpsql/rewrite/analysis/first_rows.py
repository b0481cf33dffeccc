"""The first rows of each unit, of which there are as many as are asked for.

FROM (SELECT fare, row_number() OVER (PARTITION BY rider ORDER BY day) AS n FROM rides) AS t WHERE n <= 2   →  2 rows

Claim: a unit has no more of these rows than is said. `row_number` gives the rows of a unit the places 1, 2, 3, …, each once,
where the unit alone is what they are told apart by. A place is read clamped to the greatest that the column may have, so a
condition tells rows apart only below that. What a unit moves does not rest on this: weights enforce whatever number is
said, and a smaller one has less noise.
"""

from fractions import Fraction

from dpsql.rewrite.functions.comparisons import number_of
from dpsql.rewrite.ir.expr import Apply, Expr, Ref, conjuncts
from dpsql.rewrite.ir.relation import Source, WindowRows

_MIRRORED = {"eq": "eq", "le": "ge", "lt": "gt", "ge": "le", "gt": "lt"}


def most_rows(source: Source, place: int, condition: Expr) -> int | None:
    """Return how many rows of the source at that place one unit may have where the condition holds; None: any number."""
    if not isinstance(source.made, WindowRows):
        return None
    places = [w.column.name for w in source.made.windows if w.function == "row_number" and not w.partition]
    found = [most for part in conjuncts(condition) for name in places if (most := _told(part, place, name)) is not None]
    return min(found, default=None)


def _told(part: Expr, place: int, name: str) -> int | None:
    """Return how many places a condition allows; None unless it is one that tells places apart."""
    if not isinstance(part, Apply) or part.op not in _MIRRORED or len(part.args) != 2:
        return None
    one, other = part.args
    op = part.op if isinstance(one, Ref) else _MIRRORED[part.op]
    column, number = (one, number_of(other)) if isinstance(one, Ref) else (other, number_of(one))
    if not isinstance(column, Ref) or (column.source, column.name) != (place, name) or number is None:
        return None
    last = _last(op, number)
    greatest = column.column.bounds
    if last is None or greatest is None or last >= greatest.high:
        return None
    return 1 if op == "eq" else max(last, 1)


def _last(op: str, number: Fraction) -> int | None:
    """Return the last place that may stay; None where there is none."""
    if op == "lt":
        return -(-number.numerator // number.denominator) - 1
    return None if op in {"ge", "gt"} else number.numerator // number.denominator
