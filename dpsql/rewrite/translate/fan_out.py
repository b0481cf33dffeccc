"""Joins that make several rows of one: what a unit may have is weighed after the join, but engines would never end.

JOIN zones ON zones.borough = paid   →  as it is: several zones a row
CROSS JOIN zones                     →  as it is, where the policy's table is known to have few rows; else it is refused

Where no condition chooses among the rows of the joined table each row before has all of them, and a unit may have as many
rows more: it would lose all but one of them, and the answer would be wrong by that factor.

Claim: a unit moves what is measured no further than in a join that has an equation: `owners` counts no row of the table as
found once, so that what a unit may have is weighed after the join, however many rows it came to.
"""

from collections.abc import Iterator
from dataclasses import replace

from dpsql.errors import Unsupported
from dpsql.policy.model import Table
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.joined import equated
from dpsql.rewrite.ir.awaited_table import AwaitedTable
from dpsql.rewrite.ir.constant_table import ConstantTable
from dpsql.rewrite.ir.expr import Expr, refs
from dpsql.rewrite.ir.relation import Join, Relation, Source, ref

_MOST_COMPARED = 1_000
"""Rows of one table that each private row may be compared with, one by one."""
_MOST_TOGETHER = 1_000_000
"""Those of several such tables, multiplied."""


def fanned_out(relation: Relation, declared: Declared) -> Relation:
    """Return the relation with what is known of the rows that each of its rows has of joined public tables.

    Of a public table, only as many rows as its key has values are known before anything is asked. One of many rows has to
    have a column that is equal to something of the rows before it.

    Raises:
        Unsupported: each private row would be compared with each of the table's.
    """
    every, together = dict[int, int | None](), 1
    for index, source in enumerate(relation.sources):
        if source.table.public and not source.only_tested and index > 0:
            known = None if equated(relation, index) else _rows_of(source, index, declared)
            chosen = any(one.source == index for on in _conditions(relation, index) for one in refs(on))
            every[index], together = None if chosen else known, together * (known or 1)
    _check_few(together, _MOST_TOGETHER)
    if not every:
        return relation
    return replace(relation, sources=tuple(replace(s, every=every.get(i)) for i, s in enumerate(relation.sources)))


def _conditions(relation: Relation, index: int) -> Iterator[Expr]:
    """Yield the conditions that may choose among the rows of a table: LEFT JOIN of another one keeps them all."""
    yield relation.where
    yield from (one.on for i, one in enumerate(relation.sources) if i == index or one.join is not Join.LEFT)


def _rows_of(source: Source, index: int, declared: Declared) -> int | None:
    """Return how many rows there are, None where that is not known before there are answers."""
    match source.table:
        case AwaitedTable():
            return None
        case ConstantTable(rows=rows):
            _check_few(len(rows), _MOST_COMPARED)
            return len(rows)
        case Table(key=key) as table:
            values = None if key is None else declared.one(ref(index, table, key)).values
            if values is None or len(values) > _MOST_COMPARED:
                raise _without_equation(source)
            return len(values)


def _check_few(rows: int, most: int) -> None:
    if rows > most:
        raise Unsupported(
            f"{rows:,} rows are joined to each without an equation, the limit is {most:,}",
            because="join-without-equation",
            hint="Write ON … = …, or join fewer rows.",
        )


def _without_equation(source: Source) -> Unsupported:
    name, key = source.table.name, source.table.key or next(iter(source.table.columns))
    return Unsupported(
        f'the join with "{name}" must be on its key, or on another of its columns',
        because="join-on-key",
        hint=f"Write … JOIN {name} ON … = {name}.{key}.",
    )
