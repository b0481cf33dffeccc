"""NOT within what it negates: what is said in two ways to PostgreSQL is one to planning.

NOT (a < b)              →  a >= b
NOT (a >= 1 AND a <= 2)  →  a < 1 OR a > 2

Claim: each is true, false or NULL where the other is; of two values of a type exactly one of a < b and a >= b is true.
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.rewrite.syntax.read.trees import every

_OTHERS: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ, exp.LT: exp.GTE, exp.LTE: exp.GT, exp.NEQ: exp.EQ, exp.GTE: exp.LT, exp.GT: exp.LTE,
    exp.And: exp.Or, exp.Or: exp.And,
}  # fmt: skip


def with_negations_within(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place."""
    for node in every(tree, exp.Not):  # what is around others first
        if (changed := _negated(node.this)) is not None:
            node.replace(changed)


def _negated(node: exp.Expr) -> exp.Expr | None:
    """Return the negation of a comparison, or of several; None of anything else."""
    inside = node.unnest() if isinstance(node, exp.Paren) else node
    other = _OTHERS.get(type(inside))
    if other is None or not all(map(_is_value, (inside.this, inside.expression))):
        return None
    if not isinstance(inside, exp.Connector):
        return exp.Paren(this=other(this=inside.this, expression=inside.expression))
    parts = [_negated(part) or exp.Not(this=part) for part in (inside.this, inside.expression)]
    return exp.Paren(this=other(this=parts[0], expression=parts[1]))


def _is_value(node: exp.Expr) -> bool:
    """Return whether a side is one value, and neither a row nor some of several."""
    rows = isinstance(node, (exp.Tuple, exp.Any, exp.All))
    return not rows and not (isinstance(node, exp.Anonymous) and node.name.lower() in {"row", "all", "any"})
