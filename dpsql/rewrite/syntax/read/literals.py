"""Literals with the types that PostgreSQL says they are of: 'cash'::text, (5)::double precision."""

from sqlglot import exp


def literal_text(node: exp.Expr) -> str | None:
    """Return a text that is written as one, for any type of text that it is said to be of; None of anything else."""
    while isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.TEXT_TYPES)):
        node = node.this
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


def untyped(node: exp.Expr) -> exp.Expr:
    """Return a literal without the types that it is said to be of; anything else unchanged."""
    inside = node
    while isinstance(inside, (exp.Paren, exp.Cast)):
        inside = inside.this
    return inside if isinstance(inside, exp.Literal) else node
