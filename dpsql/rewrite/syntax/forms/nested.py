"""The contents of one SELECT's expressions: the queries nested in them, and its aggregate calls."""

from collections.abc import Collection, Iterator, Sequence

from sqlglot import exp

from dpsql.rewrite.syntax.named.aggregate_names import function_name, top_aggregates
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every

_LEAVES = (exp.Column, exp.Literal, exp.Star)
"""Nodes that have no query in them, and are most of the outputs."""


def queries_inside(node: exp.Select) -> Iterator[exp.Expr]:
    """Yield the queries nested in the expressions of a SELECT (not those in FROM or WITH)."""
    for key, value in node.args.items():
        if key in {"from_", "with_", "laterals"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Join):
                yield from queries_below(child.args.get("on"))
            elif isinstance(child, exp.Expr):
                yield from queries_below(child)


def queries_among_rows(node: exp.Select, aggregates: Collection[exp.Expr]) -> Iterator[exp.Expr]:
    """Yield those of them on whose values it depends which rows are aggregated, how, or what is aggregated."""
    for clause in ("where", "group", "joins"):
        value = node.args.get(clause) or []
        for child in value if isinstance(value, list) else [value]:
            yield from queries_below(child.args.get("on") if isinstance(child, exp.Join) else child)
    for call in aggregates:
        yield from queries_below(call)
    if not aggregates and not node.args.get("group"):  # DISTINCT: what is put out are the keys
        for output in node.expressions:
            yield from queries_below(output)


def queries_below(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """Yield the outermost queries in a part of a SELECT."""
    if node is not None and not isinstance(node, _LEAVES):
        yield from every(node, exp.Query, below=False)


def aggregates_of(node: exp.Select) -> tuple[exp.Expr, ...]:
    """Return the aggregate calls of a SELECT, each once."""
    places = [*node.expressions, node.args.get("having"), node.args.get("order"), node.args.get("distinct")]
    places += node.args.get("windows") or []
    calls = [call for place in places if place is not None for call in top_aggregates(place)]
    if len({function_name(call) for call in calls}) == len(calls):
        return tuple(calls)  # which spares writing them to see that they differ
    return tuple({render(call): call for call in reversed(calls)}.values())[::-1]


def keys_with_queries(places: Sequence[exp.Expr], keys: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Return where outputs and conditions of groups have keys that are made of queries.

    SELECT upper((SELECT kind …)) … GROUP BY (SELECT kind …)   →  (SELECT kind …) in upper(…)
    """
    nodes = {render(key): len(every(key, exp.Expr)) for key in keys if next(queries_below(key), None) is not None}
    matching = []
    for place in places if nodes else ():
        for query in queries_below(place):
            node = query
            for _ in range(max(nodes.values())):  # what is further around has more in it than any key
                if node is place or node.parent is None or render(node) in nodes:
                    break
                node = node.parent
            matching += [node] if render(node.unalias()) in nodes else []
    return matching
