"""What is computed from released values is NULL where PostgreSQL would fail: a quotient by 0, the root of what is negative.

    sum(x) / count(*)  →  _dp.a0 / dpsql.nonzero(_dp.a1)            sqrt(n)  →  dpsql.sqrt(n)
    n::integer         →  CAST(dpsql.fits_integer(n) AS INT)        LIMIT (SELECT …)  →  LIMIT dpsql.not_negative((SELECT …))

An empty public group divides by 0 and noise takes values below it: a statement that was paid for must not fail for what no
planning could find out. The functions are the shadow's (`shadow/total.py`). What overflows by `+`, `-` and `*` does so in
PostgreSQL as well, whatever the noise.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.rewrite.syntax.aggregate_names import function_name
from dpsql.rewrite.syntax.dialect import render
from dpsql.rewrite.syntax.output_names import output_name

DIVIDING = frozenset({"mod", "div"})
"""Functions whose second argument may not be 0."""
PARTIAL = frozenset(
    """sqrt ln log log10 exp pow power width_bucket acos acosd acosh asin asind atanh factorial gcd lcm chr make_date
    make_interval make_time make_timestamp make_timestamptz to_timestamp""".split()
)
"""Other functions of numbers that fail for some; the shadow has each, with the same arguments."""
CASTS: Mapping[str, str] = {
    "SMALLINT": "smallint", "INT": "integer", "BIGINT": "bigint", "REAL": "real", "int2": "smallint", "int4": "integer",
    "int8": "bigint", "float4": "real",
}  # fmt: skip
"""Types of numbers that a cast can miss, as the parser spells them."""


def without_failing(tree: exp.Query) -> None:
    """Change what can fail for some numbers, in a tree that reads no private rows any more; outputs keep their names."""
    nodes = list(tree.walk(bfs=False))
    names = {id(node): [output_name(one) for one in node.expressions] for node in nodes if isinstance(node, exp.Select)}
    for node in reversed(nodes):  # what is inside first: what is around it is copied
        if isinstance(node, exp.Select):
            _keep_names(node, names[id(node)])
        else:
            _change(node)


def _keep_names(select: exp.Select, names: Sequence[str]) -> None:
    for output, name in zip(list(select.expressions), names, strict=True):
        if not isinstance(output, exp.Alias) and output_name(output) != name:
            output.replace(exp.alias_(output.copy(), name, quoted=True))


def _change(node: exp.Expr) -> None:
    match node:
        case exp.Div() | exp.Mod():
            _put_around(node.expression, "nonzero")
        case exp.Pow():
            if _varies(node):
                node.replace(_call("power", node.this, node.expression))
        case exp.Cast():
            _fit(node)
        case exp.Limit() | exp.Offset():
            _put_around(node.expression, "not_negative")
        case exp.Anonymous() | exp.Dot():
            _called(node)
        case _:
            pass


def _called(node: exp.Expr) -> None:
    """Change a call of one of PostgreSQL's functions."""
    if isinstance(node.parent, exp.Dot):
        return  # with its schema, later
    name, call = function_name(node), node.expression if isinstance(node, exp.Dot) else node
    if name in DIVIDING and len(call.expressions) == 2:
        _put_around(call.expressions[1], "nonzero")
    elif name in PARTIAL and _varies(node):
        node.replace(_call(name, *call.expressions))


def _fit(cast: exp.Cast) -> None:
    """Let a cast find nothing that it could miss."""
    type_, (written, _, length) = cast.to, render(cast.to).removeprefix("pg_catalog.").partition("(")
    if written == "DECIMAL" and length:
        places, scale = (*type_.expressions, exp.Literal.number(0))[:2]
        _put_around(cast.this, "fits_numeric", places.copy(), scale.copy())
    elif written in CASTS:
        _put_around(cast.this, f"fits_{CASTS[written]}")


def _put_around(node: exp.Expr, function: str, *more: exp.Expr) -> None:
    if _varies(node):
        node.replace(_call(function, node, *more))


def _varies(node: exp.Expr) -> bool:
    """Return whether there is anything but constants in it."""
    return node.find(exp.Column, exp.Query) is not None


def _call(function: str, *args: exp.Expr) -> exp.Expr:
    called = exp.Anonymous(this=function, expressions=[arg.copy() for arg in args])
    return exp.Dot(this=exp.to_identifier("dpsql"), expression=called)
