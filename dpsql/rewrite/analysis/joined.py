"""What the conditions of a join say about the public rows that a private row finds."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.functions.comparisons import equation
from dpsql.rewrite.ir.expr import Expr, Ref, both, conjuncts, refs
from dpsql.rewrite.ir.relation import Join, Relation

PublicRows = Mapping[str, Mapping[str, Sequence[Value | None]]]
"""The rows of public tables: by table, then by column."""


def equated_with_key(relation: Relation, index: int) -> tuple[Expr, ...]:
    """Return what a joined source's declared key must be equal to: values of the sources before it."""
    source = relation.sources[index]
    conditions = source.on if source.join is Join.LEFT else both(source.on, relation.where)
    return tuple(
        other
        for one, other in _equations(conditions)
        if isinstance(one, Ref) and one.source == index and one.name == source.table.key and _is_before(other, index)
    )


def identifying(relation: Relation, units: Collection[str], rows: PublicRows) -> frozenset[tuple[int, str]]:
    """Return the columns, as (source, name), that identify units: those of `units`, and public ones that tell as much.

    A public column does that is equated with one, and so does, in a public row that is found by one, each column that tells
    all rows apart.
    """
    known = {(0, unit) for unit in units}
    for index, source in enumerate(relation.sources[1:], 1):
        conditions = both(source.on, relation.where)
        for one, other in _equations(conditions):
            if any((ref.source, ref.name) in known for ref in refs(one)):
                known |= {(ref.source, ref.name) for ref in refs(other) if ref.source}
        if (index, source.table.key) in known:
            columns = rows[source.table.name]
            known |= {(index, name) for name, values in columns.items() if len(set(values)) == len(values) > 1}
    return frozenset(known)


def matches_once(relation: Relation, index: int) -> bool:
    """Return whether no row can find two rows of a joined source whose key the engine keeps unique.

    That the key is unique helps only in the comparison for which it is: as double precision sees them, whole numbers
    from 2^53 on and most decimals have others beside them that are equal. Whole numbers are compared as such with columns
    of whole numbers, and texts with columns of texts, byte by byte.
    """
    key = relation.sources[index].table.columns.get(relation.sources[index].table.key or "")
    return key is not None and any(
        isinstance(other, Ref)
        and ((key.type.is_integer and other.type.is_integer) or key.type is other.type is SqlType.TEXT)
        for other in equated_with_key(relation, index)
    )


def _equations(condition: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Yield both sides of each equation that must hold, in either order."""
    for part in conjuncts(condition):
        sides = equation(part)
        if sides is not None:
            yield from (sides, sides[::-1])


def _is_before(expr: Expr, index: int) -> bool:
    return bool(refs(expr)) and all(ref.source < index for ref in refs(expr))
