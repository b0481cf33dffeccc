"""Inner queries over released rows that stand among private rows: each becomes a query of its own, asked before the outer.

WHERE fare > 2 * (SELECT avg(fare) FROM trips)   →  SELECT 2 * (SELECT avg(fare) FROM trips) AS answer
JOIN (SELECT zone FROM top LIMIT 3) AS s         →  WITH top AS (…) SELECT * FROM (SELECT zone FROM top LIMIT 3) AS s
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from dpsql.rewrite.syntax.named.aggregate_names import is_aggregate
from dpsql.rewrite.syntax.named.recursion import names_itself

_VALUE = "answer"
_CARRYING = (exp.Paren, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Cast, exp.Anonymous)
"""Expressions that may be around an inner query and still be one public value."""


@dataclass(frozen=True, slots=True)
class InnerAnswer:
    """A query over released rows that stands among private rows: it has to be answered before these are measured."""

    node: exp.Expr
    """A query in an expression, with the public expression around it, or an element of FROM."""
    ctes: Mapping[str, exp.CTE]
    """The CTEs that it can see."""

    @property
    def query(self) -> exp.Query:
        """Return it as a query of its own."""
        node = self.node.copy()
        # JOIN (SELECT zone …) AS s  →  SELECT * FROM (SELECT zone …) AS s; x > (SELECT avg(fare) …)  →  SELECT avg(fare) …;
        # x > 2 * (SELECT avg(fare) …)  →  SELECT 2 * (SELECT avg(fare) …) AS answer
        if isinstance(self.node.parent, (exp.From, exp.Join)):
            tree: exp.Expr = exp.Select(expressions=[exp.Star()], from_=exp.From(this=node))
        elif isinstance(node, exp.Subquery):
            tree = node.this
        else:
            tree = exp.Select(expressions=[exp.alias_(node, _VALUE, quoted=True)])
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        if self.ctes:
            own = tree.args.get("with_")
            # Its own come behind, since they may read the others.
            ctes = [*(cte.copy() for cte in self.ctes.values()), *(own.expressions if own else ())]
            recursive = any(names_itself(cte) for cte in (*self.ctes.values(), *(own.expressions if own else ())))
            tree.set("with_", exp.With(expressions=ctes, recursive=recursive))
        assert isinstance(tree, exp.Query)
        return tree

    def inside(self) -> Iterator[exp.Expr]:
        """Yield the nodes in it, the first one apart."""
        return (node for node in self.node.walk() if node is not self.node)


def with_all_public(query: exp.Expr) -> exp.Expr:
    """Return the largest expression around a query that depends on no row: it is one public value, too."""
    node = query
    while isinstance(node.parent, _CARRYING) and _is_public(node.parent, node):
        node = node.parent
    return node


def _is_public(node: exp.Expr, answered: exp.Expr) -> bool:
    """Return whether nothing outside the queries in it, and `answered`, is a column or an aggregate."""
    parts = node.walk(prune=lambda child: child is answered or isinstance(child, exp.Query))
    return not any(isinstance(part, (exp.Column, exp.Star, exp.Window)) or is_aggregate(part) for part in parts)
