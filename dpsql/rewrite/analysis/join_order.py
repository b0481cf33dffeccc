"""Joined sources in an order in which each public one stands behind what it is equal to.

FROM sales, demographics d, customer c WHERE c.id = sales.customer AND d.id = c.demographics
→  FROM sales, customer c, demographics d WHERE …

Claim: inner joins, written with any commas and conditions, have the same rows in any order of their elements.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dpsql.rewrite.functions.comparisons import equation
from dpsql.rewrite.ir.expr import TRUE, Expr, Ref, both, conjuncts, refs, with_refs
from dpsql.rewrite.ir.relation import Join, Relation

ChangeExpr = Callable[[Expr], Expr]
"""Returns the expression over the sources once these have changed places."""


def with_joins_moved(relation: Relation) -> tuple[Relation, ChangeExpr] | None:
    """Return the rows with their sources in such an order, and what that makes of expressions; None if they are in one."""
    inner = [i for i, source in enumerate(relation.sources) if source.holds]
    if len(inner) < 3 or any(source.join is Join.LEFT for source in relation.sources):
        return None
    condition = both(relation.where, *(relation.sources[i].on for i in inner))
    order = _order(relation, inner, condition)
    if order == inner:
        return None
    others = [i for i, _ in enumerate(relation.sources) if i not in inner]
    places = {old: new for new, old in enumerate([*order, *others])}

    def change(expr: Expr) -> Expr:
        return with_refs(expr, lambda ref: replace(ref, source=places[ref.source]))

    sources = [replace(relation.sources[i], on=TRUE, join=Join.INNER) for i in order]
    tests = [replace(relation.sources[i], on=change(relation.sources[i].on)) for i in others]
    columns = {name: change(expr) for name, expr in relation.columns.items()}
    first, *rest = sources
    moved = replace(
        relation, sources=(replace(first, join=Join.FROM), *rest, *tests), where=change(condition), columns=columns
    )
    return moved, change


def _order(relation: Relation, inner: Sequence[int], condition: Expr) -> Sequence[int]:
    """Return the places of inner joined sources in the order in which each is led to, if anything leads to it."""
    led = _leading(condition)
    (first, *left), order = inner, [inner[0]]
    while left:
        chosen = next((i for i in left if _is_led(relation, i, order, led)), left[0])
        left.remove(chosen)
        order.append(chosen)
    return order if first == order[0] else inner


def _is_led(relation: Relation, place: int, order: Sequence[int], led: Mapping[int, Sequence[frozenset[int]]]) -> bool:
    private = not relation.sources[place].table.public
    return private or any(others <= set(order) for others in led.get(place, ()))


def _leading(condition: Expr) -> Mapping[int, Sequence[frozenset[int]]]:
    """Return, for each source with a column that is equal to something, the sources that this is of."""
    leaders: dict[int, list[frozenset[int]]] = {}
    for part in conjuncts(condition):
        sides = equation(part)
        for side, other in (sides, sides[::-1]) if sides is not None else ():
            of = frozenset(ref.source for ref in refs(other))
            if isinstance(side, Ref) and of and side.source not in of:
                leaders.setdefault(side.source, []).append(of)
    return leaders
