"""The public rows that a private row can find, by the conditions of a join."""

from collections.abc import Iterator, Mapping, Sequence

from dpsql.policy.model import Table, Value
from dpsql.rewrite.functions.comparisons import equation
from dpsql.rewrite.ir.constant_table import AwaitedTable, ConstantTable
from dpsql.rewrite.ir.expr import Expr, Ref, both, conjuncts, refs
from dpsql.rewrite.ir.relation import Join, Relation, naming_units

PublicRows = Mapping[str, Mapping[str, Sequence[Value | None]]]
"""The rows of public tables: by table, then by column."""


def public_rows_of(table: Table, rows: PublicRows) -> Mapping[str, Sequence[Value | None]]:
    """Return the rows of a public table, or of constants."""
    if isinstance(table, AwaitedTable):
        return {}
    return table.by_column if isinstance(table, ConstantTable) else rows[table.name]


def equated(relation: Relation, index: int) -> tuple[Expr, ...]:
    """Return what columns of a joined source must be equal to: values of the sources before it."""
    source = relation.sources[index]
    conditions = source.on if source.join is Join.LEFT else both(source.on, relation.where)
    return tuple(
        other
        for own, other in _equations(conditions)
        if isinstance(own, Ref) and own.source == index and _is_before(other, index)
    )


def identifying(relation: Relation, rows: PublicRows) -> frozenset[tuple[int, str]]:
    """Return the columns, as (source, name), that identify units of any kind, and public ones that tell as much.

    A public column does that is equated with one, and so does, in a public row that is found by one, each column that tells
    all rows apart.
    """
    identified = naming_units(relation)
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
