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

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import compress
from operator import itemgetter
from typing import assert_never

from dpsql.policy.model import Value
from dpsql.rewrite.analysis.bounds import evaluable, evaluate
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts, PublicRows, public_rows_of
from dpsql.rewrite.analysis.groups import can_be_tried, cases_of, tried_value
from dpsql.rewrite.functions.function import Cell
from dpsql.rewrite.functions.logical import compared_ways, equation, normal_form
from dpsql.rewrite.ir.constant_table import DeferredTable
from dpsql.rewrite.ir.expr import Apply, Const, Env, Expr, Ref, refs, walk, with_refs
from dpsql.rewrite.ir.relation import (
    Join,
    PerUnitRows,
    Relation,
    Source,
    UnionRows,
    WindowRows,
    columns_read,
    leaves_out,
)

# Public rows that rows of a relation find, or are tested for, and their facts once the finding columns have values.

FoundRow = Mapping[Ref, Value | None]


@dataclass(frozen=True, eq=False)
class Lookup:
    """A public table beside the rows of a relation, with the conditions by which rows of it are found."""

    source: int
    join: Join
    conditions: tuple[Expr, ...]
    columns: tuple[Ref, ...]
    """Those of its columns that anybody reads."""
    rows: Sequence[tuple[Value | None, ...]]
    """Their values."""
    adds: bool
    """Whether it stands beside the wanted rows alone, and must not make several of one."""

    @property
    def finding(self) -> tuple[Ref, ...]:
        """Return the columns of other tables by which its rows are found."""
        return tuple(ref for ref in refs(*self.conditions) if ref.source != self.source)

    @property
    def is_known(self) -> bool:
        """Return whether it can be told by what is exactly known which rows are found."""
        return all(map(evaluable, self.conditions))

    def joined_rows(self, row: FoundRow) -> Iterator[FoundRow]:
        """Yield a row with each of the rows that it finds."""
        for values in self._candidates(row):
            joined = {**row, **dict(zip(self.columns, values, strict=True))}
            if all(evaluate(condition, joined) is True for condition in self.conditions):
                yield joined

    def _candidates(self, row: FoundRow) -> Sequence[tuple[Value | None, ...]]:
        if self._key is not None:
            _, other = self._key
            return self._by_key.get(evaluate(other, row), ())
        rows, stretches = self._ordered
        first, behind = 0, len(rows)
        for op, keys, other in stretches:
            value = evaluate(other, row)
            if value is None:
                return ()
            # Of rows in order of y: y < 5 leaves those before the first 5, y <= 5 those up to the last.
            low, high = bisect_left(keys, Fraction(value)), bisect_right(keys, Fraction(value))
            first = max(first, {"gt": high, "ge": low, "eq": low}.get(op, 0))
            behind = min(behind, {"lt": low, "le": high, "eq": high}.get(op, behind))
        return rows[first:behind]

    @cached_property
    def _key(self) -> tuple[int, Expr] | None:
        """Return the place of a column that has to be equal to something of the row's, and that."""
        for condition in self.conditions:
            sides = equation(condition)
            for own, other in (sides, sides[::-1]) if sides else ():
                outside = all(ref.source != self.source for ref in refs(other))
                if isinstance(own, Ref) and own in self.columns and outside and own.type is other.type:
                    return self.columns.index(own), other
        return None

    @cached_property
    def _ordered(self) -> tuple[Sequence[tuple[Value | None, ...]], Sequence[tuple[str, Sequence[Fraction], Expr]]]:
        """Return the rows by the first of the numbers that are compared with something of the row's, and such comparisons.

        These are of one order: a comparison leaves the rows from one place on, up to one, or between two.
        """
        compared = [
            (op, own, other)
            for condition in self.conditions
            for op, own, other in compared_ways(condition)
            if {ref.source for ref in refs(own)} == {self.source} and not own.type.is_text
            if all(ref.source != self.source for ref in refs(other))
        ]
        keyed = []
        for values in self.rows:
            row = dict(zip(self.columns, values, strict=True))
            numbers = [evaluate(own, row) for _, own, _ in compared]
            if None not in numbers:  # nothing is less than NULL
                keyed.append(([Fraction(number) for number in numbers if number is not None], values))
        keyed.sort(key=itemgetter(0))
        columns = [[numbers[place] for numbers, _ in keyed] for place in range(len(compared))]
        in_order = [keys == sorted(keys) for keys in columns]
        stretches = [
            (op, keys, other) for (op, _, other), keys in compress(zip(compared, columns, strict=True), in_order)
        ]
        return [values for _, values in keyed], stretches

    @cached_property
    def _by_key(self) -> Mapping[Value | None, Sequence[tuple[Value | None, ...]]]:
        assert self._key is not None
        rows_by_key: dict[Value | None, list[tuple[Value | None, ...]]] = {}
        for values in self.rows:
            rows_by_key.setdefault(values[self._key[0]], []).append(values)
        return rows_by_key


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
    # What finds rows of a table in both is what the other relation says: a condition of the wanted one alone, though it is
    # about rows of that table, too, is one by which its rows are told apart.
    lookups = tuple(
        _lookup(i, source, every if i in added else said, columns, rows, adds=i in added)
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
            # Whose a row is has a name of its own, which no part has.
            return any(
                _may_leave_out(part_column, part.unit, part.relation, enforced)
                for part in parts
                for part_column in refs(part.columns.get(column.name, part.unit))
            )
        case PerUnitRows() | WindowRows():  # computed for every row, whatever is read of it
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
        if isinstance(source.table, DeferredTable):
            return None
        partner = next((i for i, candidate in left if _is_same_table(candidate, source)), None)
        if partner is None:
            return None
        places[partner] = place
        left = [(i, candidate) for i, candidate in left if i != partner]
    for number, (i, source) in enumerate(left, len(told.sources)):
        has_rows = source.table.public and source.made is None and not isinstance(source.table, DeferredTable)
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
    place: int, source: Source, holding: frozenset[Expr], columns: Sequence[Ref], rows: PublicRows, *, adds: bool
) -> Lookup:
    read = tuple(ref for ref in columns if ref.source == place)
    conditions = normal_form(source.on) if not source.holds else frozenset(_finding(place, holding))
    table = public_rows_of(source.table, rows)
    # Where nobody reads a column, it still counts how many rows there are: as many empty ones.
    values = list(zip(*(table[ref.name] for ref in read), strict=True)) if read else [()] * _length(table)
    return Lookup(place, source.join, tuple(sorted(conditions, key=repr)), read, values, adds)


def _length(table: object) -> int:
    return max(map(len, table.values()), default=0) if isinstance(table, dict) else 0


def _finding(place: int, holding: frozenset[Expr]) -> Iterator[Expr]:
    """Yield the conditions that are about rows of a table and of others."""
    for part in holding:
        sources = {ref.source for ref in refs(part)}
        if place in sources and len(sources) > 1:
            yield part


# Facts about the rows of a group: the value that something has in all of them, where it has one.
#
# day = 2024-03-05                   →  date_trunc('week', t) is 2024-03-04, t >= '2024-03-01' is true
# zone = 132                         →  the borough of the zone is Queens, borough = 'Queens' is true
# payment_type = 'cash'              →  payment_type IN ('cash', 'card') is true
#
# Claim: engines find no other value in a row of the group. All values are tried that the columns can have of which the
# group's keys are made, of times a moment in each unit that can be told apart, and nothing is computed that engines round.

_MOST_CASES = 20_000
Item = Expr | Lookup
"""Things that have a value in each row: an expression, or whether a table has a matching row."""


class _Several(Exception):
    """One row would become several."""


@dataclass(frozen=True, slots=True)
class _Told:
    """The value of an item by some keys of a group."""

    keys: tuple[int, ...]
    values: Mapping[tuple[Cell, ...], Cell]


@dataclass(frozen=True, slots=True)
class GroupCells:
    """Groups by the values of their keys, and the facts about the columns of their rows."""

    keys: tuple[Expr, ...]
    groups: Sequence[tuple[Cell, ...]]
    env: Env
    """The facts about their columns."""
    declared: DeclaredFacts
    """The facts about other columns."""
    lookups: tuple[Lookup, ...] = ()

    def of(self, item: Item) -> Sequence[Cell] | None:
        """Return the value that an item has in the rows of each group; None where it can have several, or is not known."""
        if isinstance(item, Const):
            return [item.value] * len(self.groups)
        if item in self.keys:
            place = self.keys.index(item)
            return [group[place] for group in self.groups]
        try:
            told = self._told(item)
        except _Several:
            return None
        if told is None:
            return None
        wanted = [tuple(group[i] for i in told.keys) for group in self.groups]
        return None if any(cells not in told.values for cells in wanted) else [told.values[cells] for cells in wanted]

    def _told(self, item: Item) -> _Told | None:
        """Return what an item is by the values of those keys that are made of its columns."""
        needed = self._needed(item)
        if needed is None:
            return None
        columns, lookups = needed
        places = tuple(i for i, key in enumerate(self.keys) if self._is_about(key, columns, lookups))
        if not places:
            return None
        exprs = [self.keys[i] for i in places]
        for key in exprs:  # what else keys are made of has to be tried as well
            needs = self._needed(key)
            if needs is None:
                return None
            columns, lookups = _merged(columns, needs[0]), _merged(lookups, needs[1])
        values: dict[tuple[Cell, ...], Cell] = {}
        cases = self._cases(columns, [*exprs, *([] if isinstance(item, Lookup) else [item])], lookups)
        if cases is None:
            return None
        for row in cases:
            cells, value = tuple(tried_value(key, row) for key in exprs), self._value(item, row)
            # The same keys, and another value: the keys don't tell it.
            if values.setdefault(cells, value) != value:
                return None
        return _Told(places, values)

    def _value(self, item: Item, row: FoundRow) -> Cell:
        match item:
            case Lookup(join=Join.EXISTS | Join.NOT_EXISTS as join):
                return any(True for _ in item.joined_rows(row)) is (join is Join.EXISTS)
            case Lookup():
                count = len(list(item.joined_rows(row)))
                if count > 1:
                    raise _Several
                return count == 1
            case _:
                return tried_value(item, row) if set(refs(item)) <= row.keys() else None

    def _needed(self, item: Item) -> tuple[tuple[Ref, ...], tuple[Lookup, ...]] | None:
        """Return the columns of private rows from which an item follows, and the tables that it is read from, in order."""
        if isinstance(item, Lookup):
            if not item.is_known:
                return None
            read: tuple[Ref, ...] = item.finding
        else:
            read = refs(item)
        columns, lookups = dict[Ref, None](), tuple[Lookup, ...]()
        for ref in read:
            own = next((lookup for lookup in self.lookups if lookup.source == ref.source), None)
            if own is None and ref.public:
                return None
            if own is None:
                columns[ref] = None
                continue
            below = self._needed_by(own)
            if below is None:
                return None
            columns |= dict.fromkeys(below[0])
            lookups = _merged(lookups, below[1])
        return tuple(columns), lookups

    def _needed_by(self, own: Lookup) -> tuple[tuple[Ref, ...], tuple[Lookup, ...]] | None:
        if not own.is_known or any(ref.source >= own.source for ref in own.finding):
            return None
        needs = self._needed(own)
        return None if needs is None else (needs[0], _merged(needs[1], (own,)))

    def _is_about(self, key: Expr, columns: Sequence[Ref], lookups: Sequence[Lookup]) -> bool:
        sources = {lookup.source for lookup in lookups if not lookup.adds}
        return any(ref in columns or ref.source in sources for ref in refs(key))

    def _cases(
        self, columns: Sequence[Ref], exprs: Sequence[Expr], lookups: Sequence[Lookup]
    ) -> Iterator[FoundRow] | None:
        """Return rows of all kinds that these expressions can tell apart."""
        conditions = [*exprs, *(condition for lookup in lookups for condition in lookup.conditions)]
        alone = len(conditions) == len(columns) == 1 and isinstance(exprs[0], Ref)
        if not alone and not all(can_be_tried(condition) or _is_plain(condition) for condition in conditions):
            return None
        env = {**self.declared.env([ref for ref in columns if ref not in self.env]), **self.env}
        cases = [cases_of(ref, conditions, env) for ref in columns]
        listed = [case for case in cases if case is not None]
        if len(listed) < len(cases) or math.prod(map(len, listed)) > _MOST_CASES:
            return None
        return _found([dict(zip(columns, case, strict=True)) for case in itertools.product(*listed)], [*lookups])


def _is_plain(expr: Expr) -> bool:
    """Return whether an expression is a plain column, or compares such with constants."""
    return isinstance(expr, Ref) or (evaluable(expr) and all(ref.type.is_text for ref in refs(expr)))


def _merged(some: tuple, more: tuple) -> tuple:  # type: ignore[type-arg]
    return tuple(dict.fromkeys((*some, *more)))


def _found(rows: Sequence[FoundRow], lookups: Sequence[Lookup]) -> Iterator[FoundRow]:
    """Yield each row with the public rows that it finds; a row that has to find one and does not is none."""
    for row in rows:
        yield from _beside(row, lookups)


def _beside(row: FoundRow, lookups: Sequence[Lookup]) -> Iterator[FoundRow]:
    if not lookups:
        yield row
        return
    lookup, *others = lookups
    rows = list(lookup.joined_rows(row))
    if lookup.adds and len(rows) > 1 and lookup.join in {Join.INNER, Join.LEFT}:
        raise _Several
    missing: dict[Ref, Value | None] = dict.fromkeys(lookup.columns)
    if not rows and (lookup.join is Join.LEFT or lookup.adds):
        rows = [{**row, **missing}]  # that it has to have one is said by an item of its own
    for joined in rows:
        yield from _beside(joined, others)
