"""Columns that a long statement reads in their bounds again and again: clamped once, under a name.

SELECT … least((CASE WHEN s0."fare" BETWEEN 0 AND 150 THEN … END), 2 * (CASE WHEN s0."fare" BETWEEN …)) … FROM "trips" AS s0
→  SELECT … least(s0."dpsql fare", 2 * s0."dpsql fare") …
   FROM (SELECT (CASE WHEN s0."fare" BETWEEN 0 AND 150 THEN … END) AS "dpsql fare", s0.* FROM "trips" AS s0) AS s0

Claim: it says the same of every row. A column in its bounds is total, so that it may be computed for any row, and depends on
that row alone. The names stand first: of two columns with one name DuckDB takes the first, and others refuse the statement.
"""

from collections.abc import Callable, Iterable

from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Ref

_LONG = 4_000
"""Characters from which on it is worth it: what is read of most statements is shorter."""
_OFTEN, _SAVED = 3, 1_000
"""How often a text has to be there, and how many characters there have to be of it."""


def with_columns_clamped_once(write: Callable[[Emitter], str], columns: Iterable[Ref], emitter: Emitter) -> str:
    """Return what `write` writes, with names for those `columns` that are read often in a long statement."""
    text = write(emitter)
    if len(text) < _LONG:
        return text
    often = [ref for ref in columns if _is_worth_it(ref, text, emitter)]
    return write(emitter.clamping_once(often)) if often else text


def _is_worth_it(ref: Ref, text: str, emitter: Emitter) -> bool:
    clamped = emitter.sql(ref)
    times = text.count(clamped)
    kept = not ref.optional and emitter.kept(ref.table).texts  # which are found by their whole texts
    return times >= _OFTEN and times * len(clamped) >= _SAVED and not kept and clamped.startswith("(CASE")
