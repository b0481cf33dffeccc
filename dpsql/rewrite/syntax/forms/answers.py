"""SELECTs over the answers of others: what they group is computed below, by names, and joined by the keys.

SELECT paid, f(a) FROM …  →  SELECT x."key 1", x."value 1" FROM (SELECT paid AS "key 1", f(a) AS "value 1" FROM …) AS x
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.read.dialect import render


def grouping_alone(
    select: exp.Select, keys: Sequence[exp.Expr], calls: Sequence[exp.Expr], *, having: bool
) -> exp.Select:
    """Return the grouping alone, which puts out its keys and aggregates by names."""
    clauses = ("from_", "joins", "where", *(("having",) if having else ()))
    table = exp.Select(expressions=[*named(keys), *named(calls, "value")])
    for clause in clauses:
        value = select.args.get(clause)
        table.set(clause, [part.copy() for part in value] if isinstance(value, list) else value and value.copy())
    if keys:
        table.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return table


def read_instead(select: exp.Select, values: Mapping[str, exp.Expr], source: exp.Expr, joins: list[exp.Join]) -> None:
    """Let a SELECT read the keys and aggregates of an answer, and be named as before."""
    outputs = [
        exp.Alias(
            this=with_answers(output.unalias(), values), alias=exp.to_identifier(output_name(output), quoted=True)
        )
        for output in select.expressions
    ]
    order = select.args.get("order")
    for part in order.expressions if order is not None else ():
        node = part.this if isinstance(part, exp.Ordered) else part
        node.replace(with_answers(node, values))
    select.set("expressions", outputs)
    select.set("from_", exp.From(this=source))
    select.set("joins", joins)
    for clause in ("where", "group", "having"):
        select.set(clause, None)


def with_answers(node: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a copy of an expression with what stands for its keys and aggregates; subqueries stay as they are."""
    value = values.get(render(node))
    if value is not None:
        return value.copy()
    made: exp.Expr = node.copy()
    if not isinstance(node, exp.Query):
        for child in list(made.iter_expressions()):
            child.replace(with_answers(child, values))
    return made


def numbered(count: int, what: str) -> list[str]:
    """Return names for so many."""
    return [f"{what} {i + 1}" for i in range(count)]


def named(nodes: Sequence[exp.Expr], what: str = "key") -> list[exp.Expr]:
    """Return expressions under such names."""
    names = numbered(len(nodes), what)
    return [
        exp.Alias(this=node.copy(), alias=exp.to_identifier(n, quoted=True))
        for node, n in zip(nodes, names, strict=True)
    ]


def columns_of(count: int, what: str, table: str) -> list[exp.Expr]:
    """Return the columns of a table that have such names."""
    return [exp.column(name, table, quoted=True) for name in numbered(count, what)]


def subquery(query: exp.Expr, alias: str) -> exp.Subquery:
    """Return a query as an element of FROM."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
