"""Joins that make several rows of one: what a unit may have is weighed after the join, but engines would never end.

JOIN zones ON zones.borough = paid   →  as it is: several zones a row
CROSS JOIN zones                     →  as it is, where the policy's table is known to have few rows; else it is refused

Where no condition compares the rows of the joined table with others each row before has all of them, or those that a
condition on them alone leaves, and a unit may have as many rows more: else it would lose all but one of them, and the answer
would be wrong by that factor.

Claim: a unit moves what is measured no further than in a join that has an equation: `owners` counts no row of the table as
found once, so that what a unit may have is weighed after the join, however many rows it came to.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dpsql.errors import Unsupported
from dpsql.policy.model import Table, Value
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.evaluate import keeps
from dpsql.rewrite.analysis.joined import equated
from dpsql.rewrite.ir.awaited_table import AwaitedTable
from dpsql.rewrite.ir.constant_table import ConstantTable
from dpsql.rewrite.ir.expr import both, conjuncts, refs
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
            every[index] = None if known is None else _kept(relation, index, declared)
            together *= known or 1
    _check_few(together, _MOST_TOGETHER)
    if not every:
        return relation
    return replace(relation, sources=tuple(replace(s, every=every.get(i)) for i, s in enumerate(relation.sources)))


def _kept(relation: Relation, index: int, declared: Declared) -> int | None:
    """Return how many rows of a joined table each row before it has; None where a condition compares them with it.

    LEFT JOIN of another table keeps them all. What a condition on other columns than the key leaves is not known.
    """
    on = [one.on for i, one in enumerate(relation.sources) if i == index or one.join is not Join.LEFT]
    about = [one for one in conjuncts(both(relation.where, *on)) if any(ref.source == index for ref in refs(one))]
    mentioned = {ref for one in about for ref in refs(one)}
    if any(ref.source != index for ref in mentioned):
        return None
    rows = [{ref: row[ref.name] for ref in mentioned if ref.name in row} for row in _rows(relation, index, declared)]
    return max(sum(all(keeps(one, row) for one in about) for row in rows), 1)


def _rows(relation: Relation, index: int, declared: Declared) -> Iterator[Mapping[str, Value | None]]:
    """Yield what is known of each row of a table of which it is known how many there are."""
    match relation.sources[index].table:
        case ConstantTable() as table:
            yield from (dict(zip(table.columns, row, strict=True)) for row in table.rows)
        case Table(key=key) as table if key is not None:
            yield from ({key: value} for value in declared.one(ref(index, table, key)).values or ())


def _rows_of(source: Source, index: int, declared: Declared) -> int | None:
    """Return how many rows there are, None where that is not known before there are answers.

    Raises:
        Unsupported: there are too many.
    """
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
