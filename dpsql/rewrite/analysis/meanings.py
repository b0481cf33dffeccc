"""What columns say of whose a row is: that they name the unit, or a row by a unique key, which has one owner.

Claim: all rows of a source with one value in a column that means something are one unit's, and where two columns mean the
same, equal values are the same one's. So it is of rows that are made of single units: one that is grouped by an order's key
is made of rows of that order alone, and its owner is the order's.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from dpsql.errors import AccessDenied
from dpsql.policy.model import Reference, Table, UnitBound
from dpsql.rewrite.ir.expr import Expr, Ref
from dpsql.rewrite.ir.relation import Relation, Source, UnionRows, UnitRows, WindowRows

Unique = Callable[[str], frozenset[str]]
"""Returns the columns of a table that an enforced constraint makes unique by themselves."""
UNIT = Reference("", "")
"""What the unit's own column means."""


def unit_bound(table: Table, kind: str) -> UnitBound:
    """Return how a table is protected for a unit kind.

    Raises:
        AccessDenied: it has no unit of that kind.
    """
    found = table.units.get(kind)
    if found is None:
        raise AccessDenied(
            f'table "{table.name}" has no privacy unit of kind "{kind}", which your role protects',
            because="table-without-unit",
            hint=f"The owner can declare it under `privacy_units` in {table.file or 'its schema file'}.",
        )
    return found


def meanings(source: Source, kind: str, tables: Mapping[str, Table], unique: Unique) -> Mapping[str, Reference]:
    """Return which columns name the unit, or a row that has one owner, and what they mean."""
    table = source.table
    found = {name: Reference(table.name, name) for name in unique(table.name) if as_stored(table, name)}
    if isinstance(source.made, UnitRows):
        found |= _of_keys(source.made, table, kind, tables, unique)
    elif isinstance(source.made, WindowRows):
        found |= _as_below(source.made.relation, source.made.columns, table, kind, tables, unique)
    unit = unit_bound(table, kind)
    return found | {unit.column: UNIT if unit.through is None else target_of(unit.through, kind, tables)}


def _of_keys(
    made: UnitRows, table: Table, kind: str, tables: Mapping[str, Table], unique: Unique
) -> Mapping[str, Reference]:
    """Return what the further keys of single units' rows mean: what they mean in the rows that are grouped by them."""
    return _as_below(made.relation, made.keys, table, kind, tables, unique)


def _as_below(
    inner: Relation,
    columns: Iterable[tuple[str, Expr]],
    table: Table,
    kind: str,
    tables: Mapping[str, Table],
    unique: Unique,
) -> Mapping[str, Reference]:
    """Return what columns mean that are columns of the rows below, as they are stored; each row keeps its owner."""
    found = dict[str, Reference]()
    below = with_made(inner, kind, tables, unique)
    for name, key in columns:
        source = inner.private.get(key.source) if isinstance(key, Ref) else None
        if isinstance(key, Ref) and source is not None and source.holds and as_stored(table, name):
            meaning = meanings(source, kind, tables, below).get(key.name)
            found |= {} if meaning is None else {name: meaning}
    return found


def target_of(through: Reference, kind: str, tables: Mapping[str, Table]) -> Reference:
    """Return what a reference means: the unit itself where that is the column it points to."""
    unit = unit_bound(tables[through.table], kind)
    return UNIT if unit.through is None and unit.column == through.column else replace(through, public=True)


def as_stored(table: Table, name: str) -> bool:
    """Return whether a column is compared as it is stored: what is clamped is unique no more."""
    column = table.columns.get(name)
    return column is not None and column.bounds is None and column.values is None


def with_made(relation: Relation, kind: str, tables: Mapping[str, Table], unique: Unique) -> Unique:
    """Return the same also of rows that are made of single units.

    Without further keys a unit has one of them; with one that names a row, which has one owner, there is one of each.
    """

    def of_source(source: Source) -> frozenset[str]:
        rows = source.made
        if isinstance(rows, WindowRows) and len(rows.relation.sources) == 1:  # as many rows as below, and the same
            return _unique_below(rows, source.table, kind, tables, unique)
        if not isinstance(rows, UnitRows) or len(rows.keys) > 1:
            return frozenset()
        if not rows.keys:
            return frozenset({rows.unit.name})
        return frozenset(_of_keys(rows, source.table, kind, tables, unique))

    made: dict[str, frozenset[str]] = {}
    for source in relation.sources:
        if source.made is not None:  # two may have one name
            found, name = of_source(source), source.table.name
            made[name] = made.get(name, found) & found
    return lambda name: made[name] if name in made else unique(name)


def _unique_below(
    made: WindowRows, table: Table, kind: str, tables: Mapping[str, Table], unique: Unique
) -> frozenset[str]:
    (source,) = made.relation.sources
    known = with_made(made.relation, kind, tables, unique)(source.table.name)
    return frozenset(
        name
        for name, key in made.columns
        if isinstance(key, Ref)
        and key.name in known
        and as_stored(table, name)
        and (source.made is not None or as_stored(source.table, key.name))
    )


def scanned(source: Source) -> Iterator[Table]:
    """Yield the protected tables of the engine's that a source's rows are read from, or made of."""
    match source.made:
        case None:
            yield from () if source.table.public else (source.table,)
        case UnionRows(parts=parts):
            for part in parts:
                yield from (table for one in part.relation.sources for table in scanned(one))
        case UnitRows(relation=relation) | WindowRows(relation=relation):
            yield from (table for one in relation.sources for table in scanned(one))
        case _:
            assert_never(source.made)
