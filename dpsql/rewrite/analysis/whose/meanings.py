"""The meaning of columns for a row's owner: they name the unit, or by a unique key a row, which has one owner.

Claim: all rows of a source with one value in a column that means something, or with the same values in several that mean
something together, are one unit's, and where two mean the same, equal values are the same one's. So it is of rows that are
made of single units: one that is grouped by an order's key is made of rows of that order alone, and its owner is the order's.

A key of several columns names a row by all of them: of order 7 there are lines that nothing keeps from being different
units', and line 2 is there of each order. Less than all of its columns mean nothing.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import assert_never

from dpsql.errors import AccessDenied
from dpsql.policy.model import Reference, Table, UniqueKey, UnitBound, is_unique
from dpsql.rewrite.ir.expr import Expr, Ref
from dpsql.rewrite.ir.relation import Relation, Source, UnionRows, UnitRows, WindowRows

Unique = Callable[[str], frozenset[UniqueKey]]
"""Returns the keys of a table that enforced constraints keep unique."""
Meanings = Mapping[tuple[str, ...], Reference]
"""The meaning of columns together: those of a key in the places of the key's own."""
UNIT = Reference("", "")
"""The meaning of the unit's own column."""


def unit_bound(table: Table, kind: str) -> UnitBound:
    """Return how a table is protected for a unit kind.

    Raises:
        AccessDenied: it has no unit of that kind.
    """
    bound = table.units.get(kind)
    if bound is None:
        raise AccessDenied(
            f'table "{table.name}" has no privacy unit of kind "{kind}", which your role protects',
            because="table-without-unit",
            hint=f"The owner can declare it under `privacy_units` in {table.file or 'its schema file'}.",
        )
    return bound


def meanings(source: Source, kind: str, tables: Mapping[str, Table], unique: Unique) -> Meanings:
    """Return which columns name the unit, or a row that has one owner, and what they mean."""
    table = source.table
    keys = unique(table.name) | (
        {frozenset(table.joint_key)} if is_unique(table.joint_key, unique(table.name)) else set()
    )
    meaning_of = {
        tuple(sorted(key)): _named(table.name, sorted(key))
        for key in keys
        if all(as_stored(table, name) for name in key)
    }
    if isinstance(source.made, UnitRows):
        meaning_of |= _of_keys(source.made, table, kind, tables, unique)
    elif isinstance(source.made, WindowRows):
        meaning_of |= _as_below(source.made.relation, source.made.columns, table, kind, tables, unique)
    through = unit_bound(table, kind).through
    if through is not None:
        pairs = sorted(zip(through.columns, unit_bound(table, kind).columns, strict=True))
        meaning_of[tuple(mine for _, mine in pairs)] = _named(through.table, [theirs for theirs, _ in pairs])
    return meaning_of | dict.fromkeys(((name,) for name in naming_unit(table, kind, tables)), UNIT)


def _named(table: str, key: Iterable[str]) -> Reference:
    first, *further = key
    return Reference(table, first, further=tuple(further))


def _of_keys(made: UnitRows, table: Table, kind: str, tables: Mapping[str, Table], unique: Unique) -> Meanings:
    """Return what the further keys of single units' rows mean: what they mean in the rows that are grouped by them."""
    return _as_below(made.relation, made.keys, table, kind, tables, unique)


def _as_below(
    inner: Relation,
    columns: Iterable[tuple[str, Expr]],
    table: Table,
    kind: str,
    tables: Mapping[str, Table],
    unique: Unique,
) -> Meanings:
    """Return what columns mean that are columns of the rows below, as they are stored; each row keeps its owner."""
    meaning_of = dict[tuple[str, ...], Reference]()
    below = with_made(inner, kind, tables, unique)
    names: dict[int, dict[str, list[str]]] = {}
    for name, key in columns:
        source = inner.private.get(key.source) if isinstance(key, Ref) else None
        if isinstance(key, Ref) and source is not None and source.holds and as_stored(table, name):
            names.setdefault(key.source, {}).setdefault(key.name, []).append(name)
    for index, above in names.items():
        said = meanings(inner.private[index], kind, tables, below)
        for together, meaning in said.items():
            if above.keys() >= set(together):
                meaning_of |= dict.fromkeys(itertools.product(*(above[column] for column in together)), meaning)
    return meaning_of


def naming_unit(table: Table, kind: str, tables: Mapping[str, Table]) -> frozenset[str]:
    """Return the columns that name the unit itself: its own, or those that point to what does in the row that has it."""
    bound = unit_bound(table, kind)
    if bound.through is None:
        return frozenset({bound.column})
    target = unit_bound(tables[bound.through.table], kind)
    pairs = zip(bound.columns, bound.through.columns, strict=True)
    return frozenset(mine for mine, theirs in pairs if target.through is None and theirs == target.column)


def as_stored(table: Table, name: str) -> bool:
    """Return whether a column is compared in its stored form: a clamped column is unique no more."""
    column = table.column_named(name)
    return column is not None and column.bounds is None and column.values is None


def with_made(relation: Relation, kind: str, tables: Mapping[str, Table], unique: Unique) -> Unique:
    """Return the same also of rows that are made of single units.

    Without further keys a unit has one of them, else one of each combination of keys; where those name a row, which has one
    owner, there is one of each.
    """

    def of_source(source: Source) -> frozenset[UniqueKey]:
        rows = source.made
        if isinstance(rows, WindowRows) and len(rows.relation.sources) == 1:  # as many rows as below, and the same
            return _unique_below(rows, source.table, kind, tables, unique)
        if not isinstance(rows, UnitRows):
            return frozenset()
        if not rows.keys:
            return frozenset({frozenset({rows.unit.name})})
        every = {name for name, _ in rows.keys}
        named = _of_keys(rows, source.table, kind, tables, unique)
        grouped_by = frozenset({rows.unit.name, *every})
        return frozenset({grouped_by, *(frozenset(key) for key in named if every == set(key))})

    made: dict[str, frozenset[UniqueKey]] = {}
    for source in relation.sources:
        if source.made is not None:  # two may have one name
            keys, name = of_source(source), source.table.name
            made[name] = made.get(name, keys) & keys
    return lambda name: made[name] if name in made else unique(name)


def _unique_below(
    made: WindowRows, table: Table, kind: str, tables: Mapping[str, Table], unique: Unique
) -> frozenset[UniqueKey]:
    (source,) = made.relation.sources
    above = {
        key.name: name
        for name, key in made.columns
        if isinstance(key, Ref)
        and as_stored(table, name)
        and (source.made is not None or as_stored(source.table, key.name))
    }
    unique_keys = with_made(made.relation, kind, tables, unique)(source.table.name)
    return frozenset(frozenset(above[name] for name in key) for key in unique_keys if above.keys() >= key)


def scanned(source: Source) -> Iterator[Table]:
    """Yield the protected tables of the engine's that a source's rows are read from, or made of."""
    match source.made:
        case None:
            yield from () if source.table.public else (source.table,)
        case UnionRows(parts=parts):
            for part in parts:
                yield from (table for inner in part.relation.sources for table in scanned(inner))
        case UnitRows(relation=relation) | WindowRows(relation=relation):
            yield from (table for inner in relation.sources for table in scanned(inner))
        case _:
            assert_never(source.made)
