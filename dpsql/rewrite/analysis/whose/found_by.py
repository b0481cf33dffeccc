"""Sources with at most one row in a joined row, given its rows of other sources: unique keys find it.

Claim: where each column of a key is equal to a column of rows that are known, compared exactly, the row is known, too: there
is one at most with these values, by an enforced constraint, or as constants were looked at. A key of several columns may be
found by several sources together, and is found by no part of it.
"""

from collections.abc import Mapping, Sequence

from dpsql.policy.model import Table, UniqueKey
from dpsql.rewrite.analysis.whose.equal import EqualColumns
from dpsql.rewrite.analysis.whose.meanings import Unique, as_stored
from dpsql.rewrite.ir.awaited_table import AwaitedTable
from dpsql.rewrite.ir.constant_table import ConstantTable
from dpsql.rewrite.ir.expr import both
from dpsql.rewrite.ir.relation import Relation, UnitRows, is_single

Finders = frozenset[tuple[frozenset[int], ...]]
"""By key, for each of its columns the sources with what it is equal to."""


def found_by(relation: Relation, unique: Unique) -> Mapping[int, Finders]:
    """Return by which sources' rows one row of each source at most is found."""
    return {i: finders(relation, i, unique) for i in relation.joined}


def all_found(some: Sequence[int], found_by: Mapping[int, Finders]) -> frozenset[int]:
    """Return the sources of which a joined row has one row at most, once it is known which it has of `some`."""
    reached = frozenset(some)
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
        or isinstance(source.made, UnitRows)
        or all(as_stored(source.table, name) for name in key)
    )


def _unique_in(table: Table, unique: Unique) -> frozenset[UniqueKey]:
    """Return the keys that are unique in a table; constants were looked at, and answers are not known yet."""
    match table:
        case AwaitedTable():
            return frozenset()
        case ConstantTable():
            return frozenset() if table.key is None else frozenset({frozenset({table.key})})
        case _:
            return unique(table.name)
