"""Whether the rows of one relation are among those of another, and by which conditions and public rows they are told apart.

FROM trips JOIN zones ON zone = id WHERE borough = 'Queens' AND fare > 5
    is, of FROM trips WHERE fare > 5, what finds a zone, with borough = 'Queens'

A question leaves out each row that lacks a value in a column that it names, unless the column is declared nullable: there
NULL is a value, and takes what the policy does not know. So of a column that one of the two names and the other does not it
has to be known that no row lacks a value in it, by its engine, which enforces what is declared (`engines.tables`).
Declarations alone say nothing of what rows hold.

Claim: a row of the wanted relation is a row of the other for which all conditions hold that the other does not say,
and each such row stands in it once, with what its lookups find beside it. A mistake here answers wrongly, and tells
nothing: only releases are read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from dpsql.rewrite.analysis.joined import PublicRows, public_rows_of
from dpsql.rewrite.analysis.told.lookups import Lookup
from dpsql.rewrite.functions.normal_form import normal_form
from dpsql.rewrite.ir.awaited_table import AwaitedTable
from dpsql.rewrite.ir.expr import Apply, Expr, Ref, refs, walk, with_refs
from dpsql.rewrite.ir.relation import (
    Join,
    Relation,
    Source,
    UnionRows,
    UnitRows,
    WindowRows,
    columns_read,
    leaves_out,
)

EnforcedColumns = Callable[[str], frozenset[str]]
"""Returns the columns of a table in which no row lacks a declared value, because its engine sees to that."""
_ADDED = frozenset({Join.INNER, Join.LEFT, Join.EXISTS, Join.NOT_EXISTS})


@dataclass(frozen=True)
class AmongRows:
    """How a wanted relation's rows are among those of another, in whose numbers its sources are."""

    renamed: Callable[[Expr], Expr]
    """Returns an expression over the wanted relation as one over the other's sources, and over `lookups`."""
    every: frozenset[Expr]
    """The conditions that hold of each wanted row, renamed."""
    told: frozenset[Expr]
    """The conditions that hold of each row of the other relation."""
    lookups: tuple[Lookup, ...]


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Rows of a relation for which a condition holds, and what is read of them."""

    relation: Relation
    where: Expr
    read: Sequence[Expr]
    unit: Ref

    @property
    def columns(self) -> tuple[Ref, ...]:
        """Return all columns that it names."""
        return columns_read(self.relation, [*self.read, self.where])


def condition_words(relation: Relation, where: Expr) -> frozenset[object]:
    """Return the constants and the columns' names in all that holds of each row.

    Where rows are among others, all words of these are among theirs: numbering sources anew changes neither, nor which
    parts of a condition are equal. So most releases are told apart by their words, without a look at their conditions.
    """
    holding = normal_form(relation.where, where, *(source.on for source in relation.sources if source.holds))
    parts = (part for condition in holding for part in walk(condition) if not isinstance(part, Apply))
    return frozenset((part.table, part.name) if isinstance(part, Ref) else part for part in parts)


def among_rows(of_wanted: ReadRows, of_told: ReadRows, rows: PublicRows, enforced: EnforcedColumns) -> AmongRows | None:
    """Return how the wanted rows are among others; None where that is not known. `rows` are those of public tables."""
    wanted, told = of_wanted.relation, of_told.relation
    places = _places(wanted, told)
    if places is None:
        return None

    def renamed(expr: Expr) -> Expr:
        return with_refs(expr, lambda ref: replace(ref, source=places[ref.source]))

    sources = {places[i]: replace(s, on=renamed(s.on)) for i, s in enumerate(wanted.sources)}
    own = dict(enumerate(told.sources))
    if any(not _is_alike(sources[i], source) for i, source in own.items()):
        return None
    every = normal_form(renamed(wanted.where), renamed(of_wanted.where), *(s.on for s in sources.values() if s.holds))
    said = normal_form(told.where, of_told.where, *(source.on for source in own.values() if source.holds))
    added = {i: source for i, source in sources.items() if i not in own}
    if not said <= every or not _leave_out_the_same(of_wanted, of_told, places, enforced):
        return None
    columns = refs(*map(renamed, of_wanted.read), *of_told.read, *every, *(source.on for source in added.values()))
    lookups = tuple(
        _lookup(i, source, every, columns, rows, adds=i in added)
        for i, source in sorted(sources.items())
        if i in added or (source.holds and source.table.public and source.made is None)
    )
    # By what a table is found, its rows are told apart by it, and not by a condition of their own.
    finding = {part for lookup in lookups if lookup.adds and lookup.join is Join.INNER for part in lookup.conditions}
    return AmongRows(renamed, every - finding, said, lookups)


def _leave_out_the_same(
    of_wanted: ReadRows, of_told: ReadRows, places: Mapping[int, int], enforced: EnforcedColumns
) -> bool:
    """Return whether two questions leave out the same rows for lack of a value."""
    named = [{(places[column.source], column.name): (column, of_wanted) for column in of_wanted.columns}]
    named.append({(column.source, column.name): (column, of_told) for column in of_told.columns})
    beside = [which for pair in (named, named[::-1]) for name, which in pair[0].items() if name not in pair[1]]
    return all(not _may_leave_out(column, rows.unit, rows.relation, enforced) for column, rows in beside)


def _may_leave_out(column: Ref, unit: Ref, relation: Relation, enforced: EnforcedColumns) -> bool:
    """Return whether there may be rows that a question leaves out because it names a column."""
    source = relation.sources[column.source]
    match source.made:
        case UnionRows(parts=parts):  # each part leaves out its own, for all columns of which the one is computed
            return any(
                _may_leave_out(part_column, part.unit, part.relation, enforced)
                for part in parts
                for part_column in refs(part.columns[column.name])
            )
        case UnitRows() | WindowRows():  # computed for every row, whatever is read of it
            return False
        case None:
            return leaves_out(column, unit) and column.name not in enforced(source.table.name)
        case _:
            assert_never(source.made)


def _places(wanted: Relation, told: Relation) -> dict[int, int] | None:
    """Return the numbers that the sources of a relation have in another; those that it has not have numbers beyond.

    None where there is a source that stands in the other alone, or one more that is private.
    """
    left, places = list(enumerate(wanted.sources)), dict[int, int]()
    for place, source in enumerate(told.sources):
        if isinstance(source.table, AwaitedTable):
            return None
        partner = next((i for i, candidate in left if _is_same_table(candidate, source)), None)
        if partner is None:
            return None
        places[partner] = place
        left = [(i, candidate) for i, candidate in left if i != partner]
    for number, (i, source) in enumerate(left, len(told.sources)):
        has_rows = source.table.public and source.made is None and not isinstance(source.table, AwaitedTable)
        if not has_rows or source.join not in _ADDED:
            return None
        places[i] = number
    return places


def _is_same_table(source: Source, other: Source) -> bool:
    names = source.table.name == other.table.name and source.made == other.made
    return names and (source.table == other.table or not source.table.public) and (source.holds == other.holds)


def _is_alike(source: Source, other: Source) -> bool:
    """Return whether two sources come into their rows in the same way."""
    if source.holds and other.holds:
        return True
    return source.join is other.join and normal_form(source.on) == normal_form(other.on)


def _lookup(
    place: int, source: Source, every: frozenset[Expr], columns: Sequence[Ref], rows: PublicRows, *, adds: bool
) -> Lookup:
    read = tuple(ref for ref in columns if ref.source == place)
    conditions = normal_form(source.on) if not source.holds else frozenset(_finding(place, every))
    table = public_rows_of(source.table, rows)
    values = list(zip(*(table[ref.name] for ref in read), strict=True)) if read else [()] * _length(table)
    return Lookup(place, source.join, tuple(sorted(conditions, key=repr)), read, values, adds)


def _length(table: object) -> int:
    return max(map(len, table.values()), default=0) if isinstance(table, dict) else 0


def _finding(place: int, every: frozenset[Expr]) -> Iterator[Expr]:
    """Yield the conditions that are about rows of a table and of others."""
    for part in every:
        sources = {ref.source for ref in refs(part)}
        if place in sources and len(sources) > 1:
            yield part
