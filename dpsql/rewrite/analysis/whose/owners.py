"""The owner of a joined row, and the number of such rows that one unit may have.

Neighbours differ in one unit: in all rows of one customer, in every protected table. In a table with the unit's column a
row belongs to the customer whom it names. A row that has the unit *through* a reference belongs to the owner of the row
that it points to. There is at most one such row, since an enforced constraint keeps its key unique, of one column or of
several. If there were two, the row would be two customers', and either's leaving would take it from the other. No bound
on the amount that one adds repairs that.

Claim: all rows that make up one joined row are one unit's, so that taking a unit away takes its joined rows away and
leaves all others as they were. Proof: by `meanings` a column names the unit, or all columns of a unique key name a row,
which has one owner. They are read as they are stored, and compared as whole numbers with whole numbers or bytewise as
texts. So equal values are one unit or one row. Columns of the same meaning, each equal to its counterpart (`equal`), lead
from each source that every joined row has to each other (`_check_one_unit`). To a source of LEFT JOIN its own condition
leads, with all that holds of every row, where its rows are not missing. An equation on less than all columns of a key
leads nowhere: line 2 of order 7 and line 2 of order 8 may be two customers'. NULL equals nothing, and so names nobody's
row and belongs to nobody. A reference that leads nowhere is nobody's row: the join with its target leaves it out.

Claim: a unit has at most `Owners.rows` rows' worth. That is what the measurement's weights enforce, after the join and by
the joined row's unit; how large the number is is a choice, and no promise of the data's. It is the product of `max_rows` over
the tables from whose rows all other rows follow by unique keys; where only each unit's first rows stay it is their number;
where a row can meet several of a public table it is so many times more. Only where all those tables have one row a unit by an
enforced constraint, or by its place (`Owners.single`), is nothing weighed. Where a table does not say how many (`max_rows:
auto`) the joined rows' number is chosen for each statement (`rows_per_unit`), and this is what it is taken for until then.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType, Table, UnitBound, is_unique
from dpsql.rewrite.analysis.first_rows import most_rows
from dpsql.rewrite.analysis.whose.equal import EqualColumns
from dpsql.rewrite.analysis.whose.found_by import all_found, found_by
from dpsql.rewrite.analysis.whose.meanings import (
    Meanings,
    Unique,
    meanings,
    naming_unit,
    scanned,
    unit_bound,
    with_made,
)
from dpsql.rewrite.ir.expr import Apply, Expr, Ref, both
from dpsql.rewrite.ir.relation import Join, Relation, Source, ref

_MOST_TABLES = 8
_MOST_ROWS = 2**40
"""The most that a number of rows may be that is chosen for a statement."""


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners of a relation's rows."""

    relation: Relation
    """With the tables that lead to the unit."""
    unit: Ref
    rows: int
    """How many rows one unit may have."""
    groups: int | None
    """In how many groups it may be, where the policy says so."""
    single: bool
    """Whether the engine itself keeps a unit to one row."""
    once: bool
    """Whether each row of the unit's table is in one joined row at most: then a unit has no more of these than of those."""
    up_to: int | None = None
    """The most that `rows` may be where it is chosen for each statement; None where the policy says what it is."""


def owners(relation: Relation, kind: str, tables: Mapping[str, Table], unique: Unique) -> Owners:
    """Return whose the rows are, for a unit kind.

    Raises:
        AccessDenied: a table has no unit of that kind, so nothing can be said privately.
        Unsupported: a joined row could be several units', or a reference is not enforced.
    """
    private, unique = relation.private, with_made(relation, kind, tables, unique)
    if relation.sources[0].table.public:
        raise Unsupported("write the protected table first in FROM", because="protected-table-first")
    if len(private) > _MOST_TABLES:
        raise Unsupported(
            f"{len(private)} protected tables are joined, the limit is {_MOST_TABLES}", because="too-many-tables-joined"
        )
    for source in private.values():
        _check_enforced(source.table, kind, tables, unique)
    if len(relation.sources) > 1:
        _check_one_unit(relation, kind, tables, unique)
    direct = [i for i, source in private.items() if source.holds and unit_bound(source.table, kind).through is None]
    relation, unit = _led(relation, direct[0] if direct else 0, kind, tables)
    rows, groups, single, up_to = _bounded(relation, kind, unique)
    multiple = math.prod(source.every for source in relation.joined.values() if source.every)
    rows, groups = rows * multiple, None if groups is None else min(groups, rows) * multiple
    up_to = None if up_to is None else min(up_to * multiple, _MOST_ROWS)
    if len(relation.sources) == 1:  # its rows are the joined rows
        return Owners(relation, unit, rows, groups, single, once=True, up_to=up_to)
    known_by = found_by(relation, unique)
    once = (
        unit_column
        for unit_column in _alike(relation, unit, kind)
        if all_found([unit_column.source], known_by) == relation.joined.keys()
    )
    named = next(once, None)
    return Owners(relation, named or unit, rows, groups, single, named is not None, up_to)


def _alike(relation: Relation, unit: Ref, kind: str) -> Iterator[Ref]:
    """Yield the column that names the unit, and columns that name it in other tables and are equal to it in every row.

    Whichever of them is read, the rows are the same units'.
    """
    yield unit
    for other in EqualColumns.of(relation.condition).to(unit.source, unit.name):
        source = relation.private.get(other.source)
        if other != unit and source is not None and source.holds:
            bound = unit_bound(source.table, kind)
            if bound.through is None and bound.column == other.name:
                yield other


def owned(relation: Relation, columns: Sequence[Ref], kind: str, tables: Mapping[str, Table], unique: Unique) -> bool:
    """Return whether all rows of a relation with the same values in columns are one unit's: they name it, or a row of its."""
    return any(
        {(i, name) for name in key} <= {(column.source, column.name) for column in columns}
        for i, source in relation.private.items()
        if source.holds
        for key in meanings(source, kind, tables, unique)
    )


def is_unit(relation: Relation, column: Ref, kind: str, tables: Mapping[str, Table]) -> bool:
    """Return whether a column of every row names the unit itself."""
    source = relation.private.get(column.source)
    return source is not None and source.holds and column.name in naming_unit(source.table, kind, tables)


def _check_enforced(table: Table, kind: str, tables: Mapping[str, Table], unique: Unique) -> None:
    """Refuse a unit through a reference whose target may be several rows."""
    through = unit_bound(table, kind).through
    while through is not None:
        if not is_unique(through.columns, unique(through.table)):
            raise Unsupported(
                f'the unit of "{table.name}" goes through {through.text}, which the engine does not keep unique',
                because="reference-not-enforced",
                hint=f"The owner of the data can declare PRIMARY KEY or UNIQUE for {through.text}.",
            )
        through = unit_bound(tables[through.table], kind).through


def _check_one_unit(relation: Relation, kind: str, tables: Mapping[str, Table], unique: Unique) -> None:
    """Refuse a join of rows that may be different units'."""
    said = {i: meanings(s, kind, tables, unique) for i, s in relation.private.items()}
    tied = {0}
    always = [i for i, source in relation.private.items() if source.holds]
    links = _links(relation.condition, said)
    while more := {b for a, b in links if a in tied and b in always} - tied:
        tied |= more
    for i, source in relation.private.items():
        if source.join is Join.LEFT and any(
            a in tied and b == i for a, b in _links(both(source.on, relation.condition), said)
        ):
            tied.add(i)
    tests = _tests(relation)
    for group in tests:
        inside = [i for i in group if i in said]
        met, links = set(tied), _links(both(relation.sources[group[0]].on, relation.condition), said)
        while more := {b for a, b in links if a in met and b in inside} - met:
            met |= more
        tied |= met
    alone = [source for i, source in relation.private.items() if i not in tied]
    if alone:
        raise _not_on_unit(alone[0], unit_bound(alone[0].table, kind))


def _tests(relation: Relation) -> list[list[int]]:
    """Return which sources are tested together, each EXISTS by itself."""
    groups: list[list[int]] = []
    for i, source in enumerate(relation.sources):
        if source.join in {Join.EXISTS, Join.NOT_EXISTS}:
            groups.append([i])
        elif source.join is Join.INSIDE:
            groups[-1].append(i)
    return groups


def _not_on_unit(source: Source, unit: UnitBound) -> Unsupported:
    table = next(scanned(source)).name
    if source.made is None:
        named, hint = f'"{table}"', f"JOIN {table} ON … = {table}.{unit.column}"
    else:
        named, hint = (
            f'the subquery over "{table}"',
            f"s.{unit.column} = …, which the subquery s has to put out and group by",
        )
    return Unsupported(
        f"the join with {named} must be on the privacy unit, so that each row is one individual's",
        because="join-on-unit",
        hint=f"Write … {hint}, a number or a text on both sides.",
    )


def _links(condition: Expr, said: Mapping[int, Meanings]) -> Sequence[tuple[int, int]]:
    """Return the pairs of sources whose rows a condition makes one unit's."""
    equal = EqualColumns.of(condition)
    return [
        (place, other)
        for place, other in itertools.permutations(said, 2)
        for mine, meaning in said[place].items()
        for theirs, same in said[other].items()
        if meaning == same and equal.are_equal(place, mine, other, theirs)
    ]


def _led(relation: Relation, index: int, kind: str, tables: Mapping[str, Table]) -> tuple[Relation, Ref]:
    """Return the column that names the unit of a source's rows, and the relation with the tables that lead there."""
    table = relation.sources[index].table
    unit = unit_bound(table, kind)
    if unit.through is None:
        return relation, ref(index, table, unit.column)
    target, keys, equal = tables[unit.through.table], unit.through.columns, EqualColumns.of(relation.condition)
    for i, source in relation.private.items():
        same_table = source.holds and source.made is None and source.table.name == target.name
        if same_table and equal.are_equal(index, unit.columns, i, keys):
            return _led(relation, i, kind, tables)
    last = len(relation.sources)
    pairs = [(ref(index, table, m), ref(last, target, t)) for m, t in zip(unit.columns, keys, strict=True)]
    on = both(*(Apply("eq", pair, SqlType.BOOLEAN) for pair in pairs))
    relation = replace(relation, sources=(*relation.sources, Source(target, Join.INNER, on)))
    return _led(relation, last, kind, tables)


def _bounded(relation: Relation, kind: str, unique: Unique) -> tuple[int, int | None, bool, int | None]:
    """Return how many rows a unit may have, in how many groups, whether the engine keeps it to one row, and `up_to`."""
    if len(relation.sources) == 1:
        bound = unit_bound(relation.protected, kind)
        if _once(relation, 0, bound, unique):
            return 1, bound.max_groups, True, None
        return _rows(relation, 0, bound), bound.max_groups, False, _up_to(relation, 0, bound)
    known_by = found_by(relation, unique)
    each = {i: unit_bound(source.table, kind) for i, source in relation.joined.items() if not source.table.public}
    once = {i for i, b in each.items() if _once(relation, i, b, unique)}
    rows = {i: 1 if i in once else _rows(relation, i, b) for i, b in each.items()}
    every = relation.joined.keys()
    choices = [
        (math.prod(rows[i] for i in some), size, some)
        for size in range(1, len(each) + 1)
        for some in itertools.combinations(each, size)
        if each.keys() <= all_found(some, known_by)
    ]
    most, _, some = min(choices)
    single = any(once.issuperset(sources) and all_found(sources, known_by) == every for _, _, sources in choices)
    ends = {i: _up_to(relation, i, each[i]) for i in some if i not in once}
    chosen = any(ends.values()) and not single
    up_to = math.prod(end or rows[i] for i, end in ends.items()) if chosen else None
    return (1 if single else most), each[some[0]].max_groups if len(some) == 1 else None, single, up_to


def _once(relation: Relation, index: int, bound: UnitBound, unique: Unique) -> bool:
    """Return whether a unit has one row of a source: by an enforced constraint, or as only each unit's first stays."""
    if _first(relation, index) == 1:
        return True
    return bound.through is None and frozenset({bound.column}) in unique(relation.sources[index].table.name)


def _rows(relation: Relation, index: int, bound: UnitBound) -> int:
    """Return how many rows of a source one unit may have."""
    return min(_first(relation, index) or bound.max_rows, bound.max_rows)


def _up_to(relation: Relation, index: int, bound: UnitBound) -> int | None:
    """Return the most that number may be chosen to be; None where it is not chosen."""
    first = _first(relation, index)
    most = bound.up_to if first is None or bound.up_to is None else min(first, bound.up_to)
    return None if most == 1 else most


def _first(relation: Relation, index: int) -> int | None:
    source = relation.sources[index]
    return most_rows(source, index, relation.condition) if source.holds else None
