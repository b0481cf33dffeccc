"""Joins that make several rows of one: what a unit may have is weighed after the join, but engines would never end.

JOIN zones ON zones.borough = paid   →  unchanged: several zones a row
JOIN days ON at >= d AND at < d + 7  →  unchanged: seven days a row, of however many there are
CROSS JOIN zones                     →  unchanged, where the policy's table has few rows; else it is refused

A row can meet as many rows of the joined table as the conditions let it (`partners`), and a unit may have as many rows more:
else it would lose all but one of them, and the answer would be wrong by that factor.

Claim: a unit moves the sums by no more than the bound that `owners` makes of these numbers, for all numbers. It counts
no row of the table as found once, so that a unit's rows are weighed after the join, however many they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dpsql.errors import Unsupported
from dpsql.policy.model import Table
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.evaluate import keeps
from dpsql.rewrite.analysis.joined import equated
from dpsql.rewrite.analysis.partners import most_partners
from dpsql.rewrite.functions.comparisons import equation
from dpsql.rewrite.ir.awaited_table import AwaitedTable
from dpsql.rewrite.ir.constant_table import ConstantTable
from dpsql.rewrite.ir.expr import Expr, Ref, both, conjuncts, refs
from dpsql.rewrite.ir.relation import Join, Relation, Source, ref

_MOST_COMPARED = 1_000
"""Rows of one table that each private row may be compared with, one by one."""
_MOST_TOGETHER = 1_000_000
"""Those of several such tables, multiplied."""
_MANY = 100
"""From so many constant rows on those are left out that no row can meet."""
_MOST_LOOKED_AT = 10_000
"""Rows of a public table that are gone through for each new statement."""


def fanned_out(relation: Relation, declared: Declared) -> Relation:
    """Return the relation with the facts about the rows that each of its rows has of joined public tables.

    One of many rows has to have a column that is equal to something of the rows before it.

    Raises:
        Unsupported: each private row would be compared with each of the table's.
    """
    every, together = dict[int, int | None](), 1
    for index, source in enumerate(relation.sources):
        if source.table.public and not source.only_tested and index > 0:
            every[index] = met = _met(relation, index, declared)
            if not equated(relation, index):
                together *= (_rows_of(source, index, declared) or 1) if met is None else _few(met)
    _check_few(together, _MOST_TOGETHER)
    if not every:
        return relation
    sources = (
        replace(source, table=_kept(relation, i, source), every=every.get(i))
        if i in every
        else replace(source, every=None)
        for i, source in enumerate(relation.sources)
    )
    return replace(relation, sources=tuple(sources))


def _kept(relation: Relation, index: int, source: Source) -> Table:
    """Return a joined table without the constant rows that its own conditions leave out: they would all be written out.

    Rows that LEFT JOIN finds none for stay, so that there WHERE decides nothing.
    """
    table = source.table
    if type(table) is not ConstantTable or len(table.rows) < _MANY or not (source.holds or source.join is Join.LEFT):
        return table
    conditions = conjuncts(source.on if source.join is Join.LEFT else both(relation.where, source.on))
    own = [part for part in conditions if refs(part) and all(each.source == index for each in refs(part))]
    columns = {name: ref(index, table, name) for name in table.columns}
    rows = [row for row in table.rows if all(keeps(c, dict(zip(columns.values(), row, strict=True))) for c in own)]
    return replace(table, rows=tuple(rows))


def _met(relation: Relation, index: int, declared: Declared) -> int | None:
    """Return how many rows of a joined table a row before it can meet; None where its rows are not known.

    Of the table's key there is one of each value. LEFT JOIN of another table keeps all rows.
    """
    on = [source.on for i, source in enumerate(relation.sources) if i == index or source.join is not Join.LEFT]
    conditions = conjuncts(both(relation.where, *on))
    table = relation.sources[index].table
    if any(isinstance(side, Ref) and side.source == index and side.name == table.key for side in _equal(conditions)):
        return None
    columns = table.by_column if isinstance(table, ConstantTable) else declared.rows.get(table.name)
    number = len(next(iter(columns.values()))) if columns else 0
    if isinstance(table, AwaitedTable) or not columns or number > _MOST_LOOKED_AT:
        return None
    mentioned = {ref for ref in refs(*conditions) if ref.source == index and ref.name in columns}
    rows = [{ref: columns[ref.name][place] for ref in mentioned} for place in range(number)]
    return most_partners(conditions, index, rows)


def _equal(conditions: Sequence[Expr]) -> Iterator[Expr]:
    """Yield what must be equal to something that is not constant."""
    for condition in conditions:
        sides = equation(condition)
        if sides is not None and all(map(refs, sides)):
            yield from sides


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
            values = None if key is None else declared.facts_of(ref(index, table, key)).values
            if values is None or len(values) > _MOST_COMPARED:
                raise _without_equation(source)
            return len(values)


def _few(met: int) -> int:
    """Return how many rows of a joined table a row meets.

    Raises:
        Unsupported: they are too many.
    """
    _check_few(met, _MOST_COMPARED)
    return met


def _check_few(rows: int, most: int) -> None:
    if rows > most:
        raise Unsupported(
            f"{rows:,} rows are joined to each without an equation, the limit is {most:,}",
            because="join-without-equation",
            hint="Write ON … = …, or leave fewer of them by WHERE.",
        )


def _without_equation(source: Source) -> Unsupported:
    name, key = source.table.name, source.table.key or next(iter(source.table.columns))
    return Unsupported(
        f'the join with "{name}" must be on its key, or on another of its columns',
        because="join-on-key",
        hint=f"Write … JOIN {name} ON … = {name}.{key}.",
    )
