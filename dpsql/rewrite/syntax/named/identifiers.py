"""Names as PostgreSQL reads them."""

from sqlglot import exp

from dpsql.lexer.tokens import folded


def fold(identifier: exp.Expr | None) -> str:
    """Return a name as PostgreSQL folds it: lower case unless quoted."""
    if not isinstance(identifier, exp.Identifier):
        return ""
    return str(identifier.this) if identifier.args.get("quoted") else folded(str(identifier.this))
