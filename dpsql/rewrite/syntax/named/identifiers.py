"""Names as PostgreSQL reads them, and where they stand."""

from sqlglot import exp

from dpsql.lexer.tokens import folded


def fold(identifier: exp.Expr | None) -> str:
    """Return a name as PostgreSQL folds it: lower case unless quoted."""
    if not isinstance(identifier, exp.Identifier):
        return ""
    return str(identifier.this) if identifier.args.get("quoted") else folded(str(identifier.this))


def position(node: exp.Expr) -> int | None:
    """Return where the node stands in the query, counted from 1, if the parser kept it."""
    for part in node.find_all(exp.Identifier):
        start = part.meta.get("start")
        if isinstance(start, int):
            return start + 1
    return None
