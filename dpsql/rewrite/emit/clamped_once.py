"""Columns that a long statement reads in their bounds again and again: clamped once, under a name.

SELECT … least((CASE WHEN s0."fare" BETWEEN 0 AND 150 THEN … END), 2 * (CASE WHEN s0."fare" BETWEEN …)) … FROM "trips" AS s0
→  SELECT … least(s0."dpsql fare", 2 * s0."dpsql fare") …
   FROM (SELECT (CASE WHEN s0."fare" BETWEEN 0 AND 150 THEN … END) AS "dpsql fare", s0."fare" FROM "trips" AS s0) AS s0

Claim: it says the same of every row. A column in its bounds is total, so that it may be computed for any row, and depends on
that row alone. No name is that of a declared column, of one that an engine keeps, or of another of these, also for engines
that take capitals for small letters: what reads that, perhaps as the unit, would read a column in its bounds. The names stand
first: of a column that is not declared DuckDB takes the first, and others refuse the statement.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from dpsql.rewrite.emit.emitter import Emitter, name_of_clamped
from dpsql.rewrite.ir.expr import Expr, Ref
from dpsql.rewrite.ir.relation import Relation, columns_read

_LONG = 4_000
"""Characters from which on it is worth it: what is read of most statements is shorter."""
_OFTEN, _SAVED = 3, 1_000
"""How often a text has to be there, and how many characters there have to be of it."""
_LONGEST_NAME = 63
"""Bytes of a name; PostgreSQL cuts off what is beyond, and then names of several columns may be one."""


def with_columns_clamped_once(
    write: Callable[[Emitter], str], relation: Relation, used: Sequence[Expr], emitter: Emitter
) -> str:
    """Return what `write` writes, with names for columns of `used` and of a relation that a long statement reads often."""
    text = write(emitter)
    if len(text) < _LONG:
        return text
    often = [ref for ref in columns_read(relation, used) if _is_worth_it(ref, text, emitter)]
    named = Counter((ref.source, name_of_clamped(ref).lower()) for ref in often)
    once = [r for r in often if named[r.source, name_of_clamped(r).lower()] == 1 and _is_free(r, relation)]
    return write(emitter.clamping_once(once)) if once else text


def _is_free(ref: Ref, relation: Relation) -> bool:
    """Return whether a column's name in its bounds is short, and none of its table, or of those kept: these have numbers."""
    name = name_of_clamped(ref)
    taken = {column.lower() for column in relation.sources[ref.source].table.columns}
    return len(name.encode()) <= _LONGEST_NAME and name.lower() not in taken and not ref.name.isdecimal()


def _is_worth_it(ref: Ref, text: str, emitter: Emitter) -> bool:
    clamped = emitter.sql(ref)
    times = text.count(clamped)
    kept = not ref.optional and emitter.kept(ref.table).texts  # which are found by their whole texts
    return times >= _OFTEN and times * len(clamped) >= _SAVED and not kept and clamped.startswith("(CASE")
