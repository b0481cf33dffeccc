"""Facts about columns by declaration alone: bounds, domains, and the rows of public tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dpsql.errors import InternalError
from dpsql.policy.model import Column, SqlType, Table, Value
from dpsql.rewrite.functions.logical import equation
from dpsql.rewrite.ir.constant_table import ConstantTable, DeferredTable
from dpsql.rewrite.ir.expr import Env, Expr, Facts, Ref, both, conjuncts, refs
from dpsql.rewrite.ir.relation import Join, Relation, naming_units

# The public rows that a private row can find, by the conditions of a join.

PublicRows = Mapping[str, Mapping[str, Sequence[Value | None]]]
"""The rows of public tables: by table, then by column."""


def public_rows_of(table: Table, rows: PublicRows) -> Mapping[str, Sequence[Value | None]]:
    """Return the rows of a public table, or of constants."""
    if isinstance(table, DeferredTable):
        return {}
    return table.by_column if isinstance(table, ConstantTable) else rows[table.name]


def equal_values(relation: Relation, index: int) -> tuple[Expr, ...]:
    """Return what columns of a joined source must be equal to: values of the sources before it."""
    source = relation.sources[index]
    # Which row a LEFT JOIN finds is decided by ON alone; WHERE looks at what it has found.
    conditions = source.on if source.join is Join.LEFT else both(source.on, relation.where)
    return tuple(
        other
        for own, other in _equations(conditions)
        if isinstance(own, Ref) and own.source == index and _is_before(other, index)
    )


def identifying_columns(relation: Relation, rows: PublicRows) -> frozenset[tuple[int, str]]:
    """Return the columns, as (source, name), that identify units of any kind, and public ones that tell as much.

    What points to a row of a protected table does, since that is an individual's, be it another than whose row points
    there. A public column does that is equated with one, and so does, in a public row that is found by one, each column
    that tells all rows apart.
    """
    identified = naming_units(relation)
    for index, source in relation.private.items():
        columns_there = source.table.columns.values()
        identified |= {(index, c.name) for c in columns_there if c.references is not None and not c.references.public}
    for index, source in enumerate(relation.sources[1:], 1):
        conditions = both(source.on, relation.where)
        for side, other in _equations(conditions):
            if any((ref.source, ref.name) in identified for ref in refs(side)):
                identified |= {(ref.source, ref.name) for ref in refs(other)}
        if source.table.public and (index, source.table.key) in identified:
            columns = public_rows_of(source.table, rows)
            identified |= {(index, name) for name, values in columns.items() if len(set(values)) == len(values) > 1}
    return frozenset(identified)


def _equations(condition: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Yield both sides of each equation that must hold, in either order."""
    for part in conjuncts(condition):
        sides = equation(part)
        if sides is not None:
            yield from (sides, sides[::-1])


def _is_before(expr: Expr, index: int) -> bool:
    return bool(refs(expr)) and all(ref.source < index for ref in refs(expr))


_MOST = 4096
"""Columns that are remembered: those of policies stay, and those that statements make come and go."""


@dataclass(frozen=True, slots=True)
class DeclaredFacts:
    """The public facts about columns."""

    public: Mapping[tuple[str, str], Facts]
    """The facts about every column of every public table, read from its rows."""
    rows: PublicRows = field(default_factory=dict, compare=False, repr=False)
    """These rows, where they are known."""
    _found: dict[tuple[int, str, str, bool], tuple[Column, Facts]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """Columns and their facts, by a column's `id`; the column is kept beside, so that no other one gets them."""

    def env(self, columns: Sequence[Ref]) -> Env:
        """Return the facts about these columns."""
        return {ref: self.facts_of(ref) for ref in columns}

    def facts_of(self, ref: Ref) -> Facts:
        """Return the facts about one column."""
        key = id(ref.column), ref.table, ref.name, ref.optional
        entry = self._found.get(key)
        if entry is None:
            if len(self._found) >= _MOST:
                self._found.clear()
            entry = self._found[key] = ref.column, self._one(ref)
        return entry[1]

    def _one(self, ref: Ref) -> Facts:
        column, nullable = ref.column, ref.column.nullable or ref.optional
        public_facts = self.public.get((ref.table, ref.name))
        if public_facts is not None:
            return replace(public_facts, nullable=public_facts.nullable or ref.optional)
        if column.references is not None and column.references.public:
            target = self.public.get((column.references.table, column.references.column))
            if target is None:
                raise InternalError
            return replace(target, nullable=nullable)
        if column.values is not None:
            return Facts.of_values(column.values, nullable=nullable)
        if column.type is SqlType.BOOLEAN:
            return Facts.of_values((False, True), nullable=nullable)
        return Facts(nullable, column.bounds)
