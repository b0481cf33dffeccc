"""The owner of a joined row, and the number of such rows that one unit may have.

Neighbours differ in one unit: in all rows of one customer, in every protected table. In a table with the unit's column a
row belongs to the customer whom it names. A row that has the unit *through* a reference belongs to the owner of the row
that it points to. There is at most one such row, since an enforced constraint keeps its key unique, of one column or of
several. If there were two, the row would be two customers', and either's leaving would take it from the other. No bound
on the amount that one adds repairs that.

Claim: all rows that make up one joined row are one unit's, so that taking a unit away takes its joined rows away and
leaves all others as they were. Proof: by `meanings` a column names the unit, or all columns of a unique key name a row,
which has one owner. They are read as they are stored, and compared as whole numbers with whole numbers or bytewise as
texts. So equal values are one unit or one row. Columns of the same meaning, each equal to its counterpart, lead
from each source that every joined row has to each other (`_require_one_unit`). To a source of LEFT JOIN its own condition
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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from dpsql.errors import AccessDenied, MissingBounds, Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Reference, SqlType, Table, UniqueKey, UnitBound, is_unique
from dpsql.rewrite.analysis.bounds import facts_if_possible
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.functions.logical import are_exact_numbers, equation
from dpsql.rewrite.ir.constant_table import ConstantTable, DeferredTable
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Expr, Facts, Ref, both, conjuncts, refs, walk, with_refs
from dpsql.rewrite.ir.relation import (
    Join,
    PerUnitRows,
    Relation,
    Source,
    UnionRows,
    Window,
    WindowRows,
    is_single,
    ref,
    relations_below,
)

# Columns that have one value in each row for which a condition holds.
#
# a.x = b.y AND b.y = c.z   →  a.x, b.y and c.z are one class
#
# Claim: in a row for which the condition holds, columns of one class have the same value, and it is not NULL. Proof: each
# equation of two columns holds there, since it is a part of a conjunction. Whole numbers are compared with whole numbers,
# texts with texts of their type, and a unit's decimals with decimals or whole numbers by their texts, all of them exactly.
# Each column is read in the same way in all places. So equality is transitive here.

_Place = tuple[int, str]
"""A column, by its source and its name."""


@dataclass(frozen=True, slots=True)
class EqualColumns:
    """The columns that are equal, by a condition."""

    classes: Mapping[_Place, Sequence[Ref]]
    """By column, those of its class in order of first appearance."""

    @classmethod
    def of(cls, condition: Expr) -> "EqualColumns":
        """Return what a condition says."""
        classes: dict[_Place, list[Ref]] = {}
        # Only what AND joins holds of every row that stays. An equation within OR says nothing of any one row.
        for part in conjuncts(condition):
            column, other = equation(part) or (part, part)
            if isinstance(column, Ref) and isinstance(other, Ref) and _compared_exactly(column, other):
                _merge(classes, column, other)
        return cls(classes)

    def to(self, index: int, name: str) -> Sequence[Ref]:
        """Return the columns that are equal to that of a source, that itself among them; none if it is equal to none."""
        return self.classes.get((index, name), ())

    def sources_of(self, index: int, name: str) -> frozenset[int]:
        """Return the other sources that have a column which is equal to that of a source."""
        return frozenset(ref.source for ref in self.to(index, name)) - {index}

    def are_equal(self, index: int, names: Sequence[str], other: int, others: Sequence[str]) -> bool:
        """Return whether columns of a source are equal to as many of another one, each to that in its place."""
        return all(
            any((ref.source, ref.name) == (other, theirs) for ref in self.to(index, mine))
            for mine, theirs in zip(names, others, strict=True)
        )


def _compared_exactly(ref: Ref, other: Ref) -> bool:
    both_whole = ref.type.is_integer and other.type.is_integer
    # Doubles are left out: 2⁵³ and 2⁵³ + 1 are equal once one side is a double, so that a row of one unit would meet
    # another's.
    return both_whole or (ref.type.is_text and ref.type is other.type) or are_exact_numbers(ref, other)


def _merge(classes: dict[_Place, list[Ref]], column: Ref, other: Ref) -> None:
    mine, others = (classes.setdefault((ref.source, ref.name), [ref]) for ref in (column, other))
    if mine is not others:
        mine += others
        classes.update(dict.fromkeys(((ref.source, ref.name) for ref in others), mine))


# The meaning of columns for a row's owner: they name the unit, or by a unique key a row, which has one owner.
#
# Claim: all rows of a source with one value in a column that means something, or with the same values in several that mean
# something together, are one unit's, and where two mean the same, equal values are the same one's. So it is of rows that are
# made of single units: one that is grouped by an order's key is made of rows of that order alone, and its owner is the
# order's.
#
# A key of several columns names a row by all of them: of order 7 there are lines that nothing keeps from being different
# units', and line 2 is there of each order. Less than all of its columns mean nothing.

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
    if isinstance(source.made, PerUnitRows):
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


def _of_keys(made: PerUnitRows, table: Table, kind: str, tables: Mapping[str, Table], unique: Unique) -> Meanings:
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
        if not isinstance(rows, PerUnitRows):
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


def protected_tables(source: Source) -> Iterator[Table]:
    """Yield the protected tables of the engine's that a source's rows are read from, or made of."""
    match source.made:
        case None:
            yield from () if source.table.public else (source.table,)
        case UnionRows(parts=parts):
            for part in parts:
                yield from (table for inner in part.relation.sources for table in protected_tables(inner))
        case PerUnitRows(relation=relation) | WindowRows(relation=relation):
            yield from (table for inner in relation.sources for table in protected_tables(inner))
        case _:
            assert_never(source.made)


# Sources with at most one row in a joined row, given its rows of other sources: unique keys find it.
#
# Claim: where each column of a key is equal to a column of rows that are known, compared exactly, the row is known, too:
# there is one at most with these values, by an enforced constraint, or as constants were looked at. A key of several columns
# may be found by several sources together, and is found by no part of it.

Finders = frozenset[tuple[frozenset[int], ...]]
"""By key, for each of its columns the sources with what it is equal to."""


def found_by(relation: Relation, unique: Unique) -> Mapping[int, Finders]:
    """Return by which sources' rows one row of each source at most is found."""
    return {i: finders(relation, i, unique) for i in relation.joined}


def all_found(some: Sequence[int], found_by: Mapping[int, Finders]) -> frozenset[int]:
    """Return the sources of which a joined row has one row at most, once it is known which it has of `some`."""
    reached = frozenset(some)
    # A closure as of functional dependencies: what is known finds more, until nothing new is found.
    while more := {i for i, keys in found_by.items() if any(all(of & reached for of in key) for key in keys)} - reached:
        reached |= more
    return reached


def finders(relation: Relation, index: int, unique: Unique) -> Finders:
    """Return by which sources' rows one row of this one at most is found, by a unique key.

    The rows of GROUP BY are grouped by keys as they are read: clamping a clamped key again changes nothing.
    """
    source = relation.sources[index]
    if is_single(source.table):
        return frozenset({()})
    condition = relation.condition if source.holds else both(source.on, relation.condition)
    equal = EqualColumns.of(condition)
    return frozenset(
        tuple(equal.sources_of(index, name) for name in sorted(key))
        for key in _unique_in(source.table, unique)
        if source.table.public
        or isinstance(source.made, PerUnitRows)
        or all(as_stored(source.table, name) for name in key)
    )


def _unique_in(table: Table, unique: Unique) -> frozenset[UniqueKey]:
    """Return the keys that are unique in a table; constants were looked at, and answers are not known yet."""
    match table:
        case DeferredTable():
            return frozenset()
        case ConstantTable():
            return frozenset() if table.key is None else frozenset({frozenset({table.key})})
        case _:
            return unique(table.name)


# The first rows of each unit, of which there are as many as are asked for.
#
# FROM (SELECT fare, row_number() OVER (PARTITION BY rider ORDER BY day) AS n FROM rides) AS t WHERE n <= 2   →  2 rows
#
# Claim: a unit has no more of these rows than is said. `row_number` gives the rows of a unit the places 1, 2, 3, …, each
# once, where the unit alone is what they are told apart by. A place is read clamped to the greatest that the column may
# have, so a condition tells rows apart only below that. Where a unit has one row nothing is weighed
# (`test_attack_succeeds_on_a_mistake` has the mistakes that would be one here); else weights enforce any number that is
# said, and a smaller one has less noise.


def most_rows(source: Source, index: int, condition: Expr) -> int | None:
    """Return how many rows of the source with that number one unit may have where a condition holds; None: any number."""
    if not isinstance(source.made, WindowRows):
        return None
    places = (window.column for window in source.made.windows if _counts_all(window))
    limits = [most for place in places if (most := places_left(source, index, place, condition)) is not None]
    return min(limits, default=None)


def _counts_all(window: Window) -> bool:
    """Return whether each row of a unit has another place."""
    return window.function == "row_number" and not window.partition


def places_left(source: Source, index: int, place: Column, condition: Expr) -> int | None:
    """Return how many places the condition leaves, None where the last of them is among these."""
    column = ref(index, source.table, place.name)
    about = [conjunct for conjunct in conjuncts(condition) if set(refs(conjunct)) == {column}]
    narrowed, possible = facts_if_possible(
        both(*about), {column: Facts(nullable=False, interval=place.bounds)}, holds=True, chosen=True
    )
    left, every = narrowed[column].interval, place.bounds
    if not possible:
        return 1
    if left is None or every is None or not _told_apart(math.floor(left.high), every):
        return None
    return max(math.floor(left.high) - math.ceil(left.low) + 1, 1)


def _told_apart(last: int, every: Interval) -> bool:
    """Return whether a place is one row's: those beyond the greatest are read as that."""
    return last < every.high


# An engine may look at all orders of so many joins, and weights have to be found for all of them.
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
        _require_enforced(source.table, kind, tables, unique)
    if len(relation.sources) > 1:
        _require_one_unit(relation, kind, tables, unique)
    # A table that names its unit itself is the best to read it from. Otherwise the tables on the way to it are joined.
    direct = [i for i, source in private.items() if source.holds and unit_bound(source.table, kind).through is None]
    relation, unit = _led(relation, direct[0] if direct else 0, kind, tables)
    rows, groups, single, up_to = _bounded(relation, kind, unique)
    multiple = math.prod(source.every for source in relation.joined.values() if source.every)
    # A row that meets seven public rows is seven joined rows, each in a group of its own perhaps.
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


def determine_unit(
    relation: Relation, columns: Sequence[Ref], kind: str, tables: Mapping[str, Table], unique: Unique
) -> bool:
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


def _require_enforced(table: Table, kind: str, tables: Mapping[str, Table], unique: Unique) -> None:
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


def _require_one_unit(relation: Relation, kind: str, tables: Mapping[str, Table], unique: Unique) -> None:
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
        raise _not_on_unit(alone[0], relation, kind)


def _tests(relation: Relation) -> list[list[int]]:
    """Return which sources are tested together, each EXISTS by itself."""
    groups: list[list[int]] = []
    for i, source in enumerate(relation.sources):
        if source.join in {Join.EXISTS, Join.NOT_EXISTS}:
            groups.append([i])
        elif source.join is Join.INSIDE:
            groups[-1].append(i)
    return groups


def _not_on_unit(source: Source, relation: Relation, kind: str) -> Unsupported:
    table, unit = next(protected_tables(source)).name, unit_bound(source.table, kind)
    others = {other.table.name: unit_bound(other.table, kind) for other in relation.private.values()}
    through = [
        f"{name}.{bound.column} = {table}.{bound.through.column}"
        for name, bound in others.items()
        if bound.through is not None and bound.through.table == table and not bound.through.further
    ]
    own = [
        f"{name}.{bound.column}" for name, bound in sorted(others.items()) if bound.through is None and name != table
    ]
    if source.made is None:
        # Both sides are named: of a join by another column that points to persons, as a manager's, the wrong one is missed.
        beside = f"JOIN {table} ON {own[0] if own else '…'} = {table}.{unit.column}"
        itself = f"JOIN {table} AS b ON a.{unit.column} = b.{unit.column}"
        twice = sum(other.table.name == table for other in relation.private.values()) > 1
        named, hint = f'"{table}"', f"JOIN {table} ON {through[0]}" if through else itself if twice else beside
        # In the place of what the join says it would be another question.
        if own and not through and not twice and refs(source.on):
            hint = f"JOIN {table} ON … AND {own[0]} = {table}.{unit.column}, beside what it is joined by"
    else:
        named, hint = (
            f'the subquery over "{table}"',
            f"s.{unit.column} = …, which the subquery s has to put out and group by",
        )
    astray = _pointing(source, relation, kind)
    return Unsupported(
        f"the join with {named} must be on the privacy unit, so that each row is one individual's",
        because="join-on-unit",
        hint=f"Write … {hint}, of one type on both sides." if astray is None else astray,
    )


def _pointing(source: Source, relation: Relation, kind: str) -> str | None:
    """Return that a source is joined by what points to another individual than whose row points, if it is."""
    index, table, key = relation.sources.index(source), source.table, unit_bound(source.table, kind).column
    for equal in EqualColumns.of(both(source.on, relation.condition)).to(index, key):
        to, own = equal.column.references, relation.sources[equal.source].table.units.get(kind)
        if to is not None and to.table == table.name and own is not None and equal.name not in own.columns:
            return (
                f"{equal.table}.{equal.name} points to another {kind} than the one whose row it is: beside it can be read "
                f"what {table.name} says of {equal.table}.{own.column} alone."
            )
    return None


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
    with_missing = _number_with_missing(relation, rows, unique)
    single = any(once.issuperset(sources) and all_found(sources, known_by) == every for _, _, sources in choices)
    fewer = not single and with_missing is not None and with_missing < most
    ends = {i: _up_to(relation, i, each[i]) for i in (each if fewer else some) if i not in once}
    chosen = any(ends.values()) and not single
    if fewer:
        up_to = _number_with_missing(relation, {i: ends.get(i) or rows[i] for i in each}, unique) if chosen else None
        return with_missing or most, None, False, up_to
    up_to = math.prod(end or rows[i] for i, end in ends.items()) if chosen else None
    return (1 if single else most), each[some[0]].max_groups if len(some) == 1 else None, single, up_to


_MOST_LEFT = 3
"""Tables of LEFT JOIN, each of which has a row or none in a joined row."""


def _number_with_missing(relation: Relation, rows: Mapping[int, int], unique: Unique) -> int | None:
    """Return how many joined rows a unit may have, as the sum over which tables of LEFT JOIN have a row in them.

    subscriptions LEFT JOIN invoices USING (subscription)  →  as many as invoices, and as subscriptions without one

    A joined row in which such a table has a row is one of the inner join. In one where it has none the table is known: by
    NULL in its columns. None where there is no such table, or there are too many.
    """
    left = [i for i in rows if relation.sources[i].join is Join.LEFT]
    if not 0 < len(left) <= _MOST_LEFT:
        return None
    number = 0
    for met in itertools.product((True, False), repeat=len(left)):
        missing = [i for i, is_met in zip(left, met, strict=True) if not is_met]
        inner = [
            replace(source, join=Join.INNER) if i in left and i not in missing else source
            for i, source in enumerate(relation.sources)
        ]
        known_by = found_by(replace(relation, sources=tuple(inner)), unique)
        others = [i for i in rows if i not in missing]
        number += min(
            math.prod(rows[i] for i in some)
            for size in range(1, len(others) + 1)
            for some in itertools.combinations(others, size)
            if rows.keys() <= all_found((*some, *missing), known_by)
        )
    return number


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


# Numbers of a unit's own rows, which count up to a number that is taken for `max_rows: auto` before anything is measured.
#
# SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY 1) AS t   →  n is clamped to 20
# SELECT row_number() OVER (PARTITION BY passenger_id ORDER BY fare) AS n FROM trips   →  so is n

_PLACES = frozenset({"row_number", "rank", "dense_rank"})
_COMPARED = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_ANY = 2**62
"""More than any unit has."""


def refuse_undeclared_numbers(relation: Relation, exprs: Sequence[Expr], declared: DeclaredFacts) -> None:
    """Refuse a condition that nothing satisfies for a number that nobody has declared: HAVING count(*) > 30, where 20 count.

    It decides which rows there are, or which of a joined relation's, or is in `exprs`, which are computed of them: FILTER
    (WHERE n > 30), CASE WHEN n > 30 THEN 1 ELSE 0 END. Or it is in what rows are made of.

    Raises:
        Unsupported: there is one.
    """
    if numbers := dict(_numbers(relation)):
        joined = (source.on for source in relation.sources if not source.holds)
        parts = (part for expr in exprs for part in walk(expr) if part.type is SqlType.BOOLEAN)
        computed = (part for part in parts if any(_place(ref) in numbers for ref in refs(part)))
        for condition in (TRUE, *joined, *computed):
            _refuse_beyond(relation, both(relation.condition, condition), declared)
    for source in relation.sources:
        for below, made_of in _below(source, set(source.table.columns)):
            refuse_undeclared_numbers(below, made_of, declared)


def _refuse_beyond(relation: Relation, condition: Expr, declared: DeclaredFacts) -> None:
    wide = _of_any_size(relation, condition)
    if wide != condition and not _can_hold(condition, declared) and _can_hold(wide, declared):
        raise _beyond(relation, condition)


def _can_hold(condition: Expr, declared: DeclaredFacts) -> bool:
    try:
        return refine_by_predicate(refs(condition), condition, declared) is not None
    except MissingBounds:  # it could not be computed of every number
        return True


def _beyond(relation: Relation, expr: Expr) -> Unsupported:
    read = {_place(ref) for ref in refs(expr)}
    unit, most = next(number for place, number in _numbers(relation) if place in read)
    return Unsupported(
        f"each {unit}'s own rows are capped at {most:,} here, so that none has so many",
        because="number-beyond-auto",
        hint="`max_rows: auto` stands for that number; the owner of the data can declare another, or `{auto: N}`.",
    )


def _of_any_size(relation: Relation, expr: Expr) -> Expr:
    """Return an expression of such numbers as if they had no bounds, under names of their own, as they are other columns."""
    numbers = dict(_numbers(relation))

    def change(ref: Ref) -> Ref:
        bounds = ref.column.bounds
        if bounds is None or _place(ref) not in numbers:
            return ref
        wide = replace(ref.column, bounds=Interval.of(-_ANY if bounds.low < 0 else bounds.low, _ANY))
        return replace(ref, name=f"{ref.name} of any size", column=wide)

    return with_refs(expr, change) if numbers else expr


def unit_numbers(relation: Relation, exprs: Sequence[Expr]) -> Iterator[tuple[str, int]]:
    """Yield the units of whose own rows a number decides, and the most that count, if that is not declared.

    It is read by expressions that are computed of rows, or by a condition for which rows there are. Those that conditions
    keep below that are none of them, of the first three rows it is the same how many more there are, nor are those that
    are compared with less, as in n >= 5.
    """
    numbers = dict(_numbers(relation))
    read = [*exprs, relation.where, *(source.on for source in relation.sources)]
    deciding = {_place(ref) for expr in read for ref in _changed_by_cap(expr, numbers)} if numbers else set()
    for place, number in numbers.items():
        source = relation.sources[place[0]]
        holding = both(relation.condition, source.on)
        if place in deciding and places_left(source, place[0], source.table.columns[place[1]], holding) is None:
            yield number
    places = {_place(ref) for ref in refs(*read)}
    for index, source in enumerate(relation.sources):
        names = {name for of, name in places if of == index}
        for below, computed in _below(source, names):
            yield from unit_numbers(below, computed)


def _changed_by_cap(expr: Expr, numbers: Collection[tuple[int, str]]) -> Iterator[Ref]:
    """Yield the numbers that an expression reads, but for those that it compares with less than what they are capped at.

    n < 5, NOT n BETWEEN 2 AND 5, n >= 20  →  none, where 20 count        n <= 20, n = 20, n * 2 > 5  →  n
    """
    match expr:
        case Ref():
            yield from (expr,) if _place(expr) in numbers else ()
        case Apply(args=args):
            for arg in args if not _is_within_cap(expr) else ():
                yield from _changed_by_cap(arg, numbers)


def _is_within_cap(comparison: Apply) -> bool:
    """Return whether a number is compared with one inside of its bounds: it does not matter then how far beyond it is."""
    match comparison.args:
        case (Ref(column=Column(bounds=Interval(low=low, high=high))), Const(value=int() | Fraction() as value)):
            op = comparison.op
            below = value < high or (value == high and op in {"lt", "ge"})
            above = low >= 0 or value > low or (value == low and op in {"gt", "le"})
            return op in _COMPARED and below and above
        case _:
            return False


def _place(ref: Ref) -> tuple[int, str]:
    return ref.source, ref.name


def _numbers(relation: Relation) -> Iterator[tuple[tuple[int, str], tuple[str, int]]]:
    """Yield the columns that are such numbers, by their places, with the units and the most that count of their rows."""
    for index, source in enumerate(relation.sources):
        match source.made:
            case PerUnitRows(unit=unit, values=values, wide=False):
                columns = [value.column for value in values if value.grows]
            case WindowRows(unit=unit, windows=windows):
                columns = [
                    window.column
                    for window in windows
                    if window.function in _PLACES or (window.value is not None and window.value.grows)
                ]
            case _:
                continue
        most = max(map(_undeclared, relations_below(source)), default=0)
        yield from (((index, column.name), (unit.name, most)) for column in columns if most)


def _undeclared(relation: Relation) -> int:
    """Return how many rows of a unit count where nobody has declared it, else 0: `auto` may choose more for a statement."""
    bounds = (bound for source in relation.sources for bound in source.table.units.values())
    return max(
        (bound.max_rows for bound in bounds if bound.up_to is not None and bound.up_to > bound.max_rows), default=0
    )


def _below(source: Source, names: set[str]) -> Iterator[tuple[Relation, Sequence[Expr]]]:
    """Yield the relations that a source's rows are made of, with what some of its columns are computed of there."""
    match source.made:
        case PerUnitRows(relation=relation, keys=keys, values=values):
            of_values = (e for v in values if v.column.name in names for e in (v.arg, v.where) if e is not None)
            yield relation, (*(key for name, key in keys if name in names), *of_values)
        case WindowRows(relation=relation, columns=columns, windows=windows):
            taken = {name for window in windows if window.column.name in names for name in _taken(window)}
            yield relation, [expr for name, expr in columns if name in names | taken]
        case UnionRows(parts=parts):
            for part in parts:
                yield part.relation, [expr for name, expr in part.columns.items() if name in names]
        case None:
            pass


def _taken(window: Window) -> Iterator[str]:
    """Yield the columns that a window's values are made of."""
    if window.arg is not None:
        yield window.arg
    if window.value is not None:
        yield from (ref.name for e in (window.value.arg, window.value.where) if e is not None for ref in refs(e))
