"""PostgreSQL's own words for a query, in fewer of them: what it writes out of caution is what people leave out.

FROM ((trips t JOIN zones z ON ((t.zone = z.id))) LEFT JOIN days d ON (true))
→  FROM trips t JOIN zones z ON t.zone = z.id LEFT JOIN days d ON true
GROUP BY (date_trunc('day'::text, t.day))  →  GROUP BY date_trunc('day'::text, t.day)
(NOT (a IS DISTINCT FROM b))               →  a IS NOT DISTINCT FROM b
(a = ANY (ARRAY[1, 2]))                    →  a IN (1, 2)
SELECT (SELECT …) AS x … ORDER BY (SELECT …)  →  SELECT (SELECT …) AS x … ORDER BY 1
SELECT (t.a > 2) FROM t                    →  SELECT t.a > 2 AS "?column?" FROM t

Claim: each is the same to PostgreSQL. Joins bind to the left, and what stands alone in its place needs no brackets.
"""

from collections.abc import Callable, Mapping

from sqlglot import exp

from dpsql.rewrite.syntax.named.output_names import UNNAMED
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import holds, nodes

_OPERATORS = (
    exp.Binary, exp.Unary, exp.In, exp.AtTimeZone, exp.Bracket, exp.Distinct, exp.Any, exp.All,
)  # fmt: skip
"""Nodes that bind their operands: brackets around an operand may decide what belongs to it."""


def in_plain_words(tree: exp.Query) -> None:
    """Change a query that PostgreSQL has written, in place."""
    for node in [*nodes(tree)][::-1]:
        change = _CHANGES.get(type(node))
        if change is not None:
            change(node)


def _without_brackets(node: exp.Expr) -> None:
    inside, parent = node.this, node.parent
    if isinstance(inside, exp.Query) or isinstance(parent, (exp.Any, exp.All)):
        return
    alone = isinstance(parent, exp.Paren) or not isinstance(parent, _OPERATORS)
    if alone or isinstance(inside, (exp.Paren, exp.Column, exp.Literal)):
        node.replace(inside)
    elif isinstance(parent, exp.Connector):
        first = node is parent.this and type(inside) is type(parent)
        if first or not isinstance(inside, (exp.Connector, exp.Not)):
            node.replace(inside)


def _joins_in_line(node: exp.Expr) -> None:
    """Take the brackets off the first element of FROM, whose joins come first anyhow."""
    item = node.this
    while isinstance(item, exp.Subquery) and not item.args.get("alias"):
        inside, outer = item.this, item.args.get("joins") or []
        named = isinstance(inside, exp.Subquery) and (inside.args.get("joins") or inside.args.get("alias"))
        if not isinstance(inside, exp.Table) and not named:
            return
        inside.set("joins", [*(inside.args.get("joins") or []), *outer])
        node.set("this", inside)
        item = inside


def _joins_behind(node: exp.Expr) -> None:
    """Put the joins of FROM's first element where those of the others are."""
    from_ = node.args.get("from_")
    if from_ is None:
        return
    _joins_in_line(from_)
    if isinstance(from_.this, exp.Table) and isinstance(from_.this.this, exp.Values):
        table, values = from_.this, from_.this.this
        values.set("alias", table.args.get("alias"))
        values.set("joins", table.args.get("joins"))
        from_.set("this", values)
    inner = from_.this.args.get("joins")
    if inner:
        from_.this.set("joins", None)
        node.set("joins", [*inner, *(node.args.get("joins") or [])])


def _select(node: exp.Expr) -> None:
    _joins_behind(node)
    outputs = [
        output
        if isinstance(output, (exp.Alias, exp.Column, exp.Star))
        else exp.Alias(this=output, alias=exp.to_identifier(UNNAMED, quoted=True))
        for output in node.expressions
    ]
    node.set("expressions", outputs)
    _by_places(node)


def _by_places(node: exp.Expr) -> None:
    """Write what is an output with a query in it by its place where it is grouped, or ordered, by: it stands there once."""
    parts = [part for key in ("group", "order") if node.args.get(key) for part in node.args[key].expressions]
    parts = [part.this if isinstance(part, exp.Ordered) else part for part in parts]
    queried = [part for part in parts if holds(part, exp.Query)]
    if not queried:
        return
    places = {render(output.unalias()): place for place, output in reversed([*enumerate(node.expressions, start=1)])}
    for query in queried:
        place = places.get(render(query))
        if place is not None:
            query.replace(exp.Literal.number(place))


def _column(node: exp.Expr) -> None:
    """Read `public.median(x) FILTER (…)` as the call of a function that has a schema."""
    schema, call = node.args.get("table"), node.this
    if schema is None or isinstance(call, (exp.Identifier, exp.Star)):
        return
    holder = call
    while isinstance(holder.this, exp.Expr) and not isinstance(holder, exp.Anonymous):
        holder = holder.this
    named = exp.Dot(this=schema, expression=holder.copy())
    if holder is call:
        node.replace(named)
    else:
        holder.replace(named)
        node.replace(call)


def _not(node: exp.Expr) -> None:
    inside = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    if isinstance(inside, exp.NullSafeNEQ):
        node.replace(exp.NullSafeEQ(this=inside.this, expression=inside.expression))


def _listed(node: exp.Expr) -> None:
    """Write a test for one of several constants unchanged: of one constant, or of columns, PostgreSQL makes no array."""
    array = _array_of(node.expression, "any" if isinstance(node, exp.EQ) else "all")
    if array is not None and len(array.expressions) > 1 and not holds(array, exp.Column, exp.Query):
        inside = exp.In(this=node.this, expressions=array.expressions)
        node.replace(inside if isinstance(node, exp.EQ) else exp.Not(this=inside))


def _array_of(node: exp.Expr, word: str) -> exp.Array | None:
    """Return the array of ANY (…) or ALL (…); the parser knows one as a word, and the other as a function."""
    called = isinstance(node, exp.Anonymous) and node.name.lower() == word
    inside = node.expressions[0] if called else node.this if isinstance(node, (exp.Any, exp.All)) else None
    inside = inside.unnest() if isinstance(inside, exp.Paren) else inside
    if isinstance(inside, exp.Cast) and isinstance(inside.this, exp.Array) and inside.to.expressions:
        # A cast of an array is one of its elements: x::text = ANY ((ARRAY['a'::varchar])::text[])
        (type_,) = inside.to.expressions
        casts = [exp.Cast(this=member.copy(), to=type_.copy()) for member in inside.this.expressions]
        return exp.Array(expressions=casts)
    return inside if isinstance(inside, exp.Array) else None


_CHANGES: Mapping[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Paren: _without_brackets,
    exp.Select: _select,
    exp.Column: _column,
    exp.Not: _not,
    exp.EQ: _listed,
    exp.NEQ: _listed,
}
