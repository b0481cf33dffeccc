"""The names of output columns: PostgreSQL has written one for each that is no column of that name."""

from sqlglot import exp

from dpsql.rewrite.syntax.named.identifiers import fold

UNNAMED = "?column?"


def output_name(node: exp.Expr) -> str:
    """Return the name of an output column."""
    if isinstance(node, exp.Alias):
        return fold(node.args["alias"])
    return fold(node.this) if isinstance(node, exp.Column) else UNNAMED
