"""What the conditions of a join say about the public rows that a private row finds."""

from collections.abc import Iterator

from dpsql.policy.model import SqlType
from dpsql.rewrite.expr import Apply, Expr, Ref, both, conjuncts, refs
from dpsql.rewrite.relation import Join, Relation


def equated_with_key(relation: Relation, index: int) -> tuple[Expr, ...]:
    """Return what a joined source's declared key must be equal to: values of the sources before it."""
    source = relation.sources[index]
    conditions = source.on if source.join is Join.LEFT else both(source.on, relation.where)
    return tuple(
        other
        for one, other in _equations(conditions)
        if isinstance(one, Ref) and one.source == index and one.name == source.table.key and _is_before(other, index)
    )


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
        if isinstance(part, Apply) and part.op == "eq":
            a, b = part.args
            yield from ((a, b), (b, a))


def _is_before(expr: Expr, index: int) -> bool:
    return bool(refs(expr)) and all(ref.source < index for ref in refs(expr))
