"""Results over released values that are NULL where PostgreSQL would fail: a quotient by 0, the root of a negative number.

    sum(x) / count(*)  →  (_dp.a0 OPERATOR(pg_dpsql./) _dp.a1)       sqrt(n)  →  pg_dpsql.sqrt(n)
    n::integer         →  CAST(pg_dpsql.fits_integer(n) AS INT)   LIMIT (SELECT …)  →  LIMIT pg_dpsql.not_negative((SELECT …))
    g::date            →  CAST(pg_dpsql.fits(g, CAST(NULL AS DATE)) AS DATE)

An empty public group divides by 0 and noise takes values below it: a statement that was paid for must not fail for what no
planning could find out. The functions and operators are the shadow's (`shadow/contents/guard.py`).
"""

from sqlglot import exp

from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every, holds
from dpsql.rewrite.syntax.whole.partial import BY_SECOND, CASTS, OPERATORS, PARTIAL, PARTS_OF_TIMES, SETS, TOTAL_CASTS

_POSITIVE = {"ntile": 0, "nth_value": 1}
"""Window functions, and which argument has to be above 0."""
_OF_FIELDS = frozenset({"date_part", "date_trunc"})


def without_failing(tree: exp.Query) -> None:
    """Change what can fail for some values, in a tree that reads no private rows any more."""
    for node in reversed(every(tree, exp.Expr)):  # what is inside first: what is around it is copied
        _change(node)


def _change(node: exp.Expr) -> None:
    match node:
        case exp.Cast():
            _fit(node)
        case exp.Limit() | exp.Offset():
            _put_around(node.expression, "not_negative")
        case exp.Anonymous() | exp.Dot():
            _called(node)
        case exp.Neg() if _varies(node):
            node.replace(_call("negative", node.this))
        case exp.Substring() | exp.Overlay() | exp.Extract() | exp.AtTimeZone() if _varies(node):
            _spelled_otherwise(node)
        case _ if type(node) in OPERATORS:
            _operated(node)
        case _:
            pass


def _operated(node: exp.Expr) -> None:
    """Change an operator between two values."""
    if not _varies(node.expression if type(node) in BY_SECOND else node):
        return
    operand, other = (
        part.copy() if _is_one(part) else exp.Paren(this=part.copy()) for part in (node.this, node.expression)
    )
    changed: exp.Expr = exp.Operator(this=operand, operator=f"pg_dpsql.{OPERATORS[type(node)]}", expression=other)
    if node.args.get("negate"):
        changed = exp.Not(this=changed)
    node.replace(exp.Paren(this=changed))


def _is_one(node: exp.Expr) -> bool:
    """Return whether a node needs no parentheses beside an operator."""
    return isinstance(node, (exp.Column, exp.Literal, exp.Paren, exp.Subquery, exp.Cast, exp.Anonymous, exp.Dot))


def _called(node: exp.Expr) -> None:
    """Change a call of one of PostgreSQL's functions."""
    if isinstance(node.parent, exp.Dot) or not _varies(node):
        return  # with its schema, later
    name, call = function_name(node), node.expression if isinstance(node, exp.Dot) else node
    if name in _OF_FIELDS and call.expressions and str(call.expressions[0].name).lower() in PARTS_OF_TIMES:
        return
    if name in _POSITIVE and len(call.expressions) > _POSITIVE[name]:
        _put_around(call.expressions[_POSITIVE[name]], "positive")
    elif name in PARTIAL or name in SETS:
        node.replace(_call(name, *call.expressions))


def _spelled_otherwise(node: exp.Substring | exp.Overlay | exp.Extract | exp.AtTimeZone) -> None:
    """Change what is a function with a grammar of its own."""
    match node:
        case exp.Substring():
            start, length = node.args.get("start") or exp.Literal.number(1), node.args.get("length")
            node.replace(_call("substring", node.this, start, *([length] if length else [])))
        case exp.Overlay():
            parts = [node.this, node.expression, node.args["from_"], node.args.get("for_")]
            node.replace(_call("overlay", *filter(None, parts)))
        case exp.Extract():
            if node.name.lower() not in PARTS_OF_TIMES:
                node.replace(_call("extract", exp.Literal.string(node.name.lower()), node.expression))
        case exp.AtTimeZone():
            if _varies(node.args["zone"]):
                node.replace(_call("timezone", node.args["zone"], node.this))


def _fit(cast: exp.Cast) -> None:
    """Let a cast find nothing that it could miss."""
    type_, (written, _, length) = cast.to, render(cast.to).lower().removeprefix("pg_catalog.").partition("(")
    if written in ("decimal", "numeric") and length:
        places, scale = (*type_.expressions, exp.Literal.number(0))[:2]
        _put_around(cast.this, "fits_numeric", places.copy(), scale.copy())
    elif written in CASTS and not length:
        _put_around(cast.this, f"fits_{CASTS[written]}".replace(" ", "_"))
    elif written not in TOTAL_CASTS:
        _put_around(cast.this, "fits", exp.Cast(this=exp.Null(), to=type_.copy()))


def _put_around(node: exp.Expr, function: str, *more: exp.Expr) -> None:
    if _varies(node):
        node.replace(_call(function, node, *more))


def _varies(node: exp.Expr) -> bool:
    """Return whether there is anything in it but constants that stand in the statement."""
    return holds(node, exp.Column, exp.Query, exp.Parameter)


def _call(function: str, *args: exp.Expr) -> exp.Expr:
    called = exp.Anonymous(this=function, expressions=[arg.copy() for arg in args])
    return exp.Dot(this=exp.to_identifier("pg_dpsql"), expression=called)
