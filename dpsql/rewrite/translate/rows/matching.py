"""The column of grouped rows that a node of their SELECT is: a key or an aggregate call.

SELECT floor(fare), count(*) … GROUP BY floor(fare)  →  floor(fare) is g0, count(*) is a0
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.errors import DpsqlError
from dpsql.rewrite.ir.expr import Expr
from dpsql.rewrite.syntax.named.aggregate_names import is_aggregate
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.splice import Match
from dpsql.rewrite.translate.values.context import Translator

_LARGER = 16
"""How many times as many nodes as the largest key has may mean the same."""


def matcher(keys: Sequence[exp.Expr], exprs: Sequence[Expr], aggregates: Sequence[exp.Expr], t: Translator) -> Match:
    """Return which column a node is: by its text, or because it means what a key means, one of `exprs`."""
    named = [(node, f"g{i}") for i, node in enumerate(keys)]
    named += [(node, f"a{i}") for i, node in enumerate(aggregates)]
    ours: Mapping[int, str] = {id(node): name for node, name in named}
    kinds = {type(node) for node, _ in named}
    texts: dict[type[exp.Expr], dict[str, str]] = {}  # by kind: where each is the very node, nothing is written
    sizes: dict[int, tuple[exp.Expr, int]] = {}
    largest = _LARGER * max((len(every(key, exp.Expr)) for key in keys), default=0)

    def match(node: exp.Expr) -> str | None:
        if id(node) in ours:
            return ours[id(node)]
        kind = type(node)
        if kind in kinds and kind not in texts:
            texts[kind] = {render(shown): name for shown, name in named if type(shown) is kind}
        matched = texts[kind].get(render(node)) if kind in kinds else None
        if matched is not None or not exprs or isinstance(node, exp.Query):
            return matched
        if id(node) not in sizes:
            sizes.update(_sizes(node))
        if not 0 < sizes[id(node)][1] <= largest:
            return None
        try:
            expr = t.expression(node)
        except DpsqlError:
            return None
        return next((f"g{i}" for i, key in enumerate(exprs) if key == expr), None)

    return match


def _sizes(tree: exp.Expr) -> dict[int, tuple[exp.Expr, int]]:
    """Return how many nodes there are in each node of a tree, by its `id`; 0 where it can be no key."""
    nodes = every(tree, exp.Expr)
    size, columns, others = dict.fromkeys(map(id, nodes), 1), set[int](), set[int]()
    for node in reversed(nodes):  # what is in a node comes before it
        me, above = id(node), id(node.parent)
        size[above] = size.get(above, 1) + size[me]
        if me in columns or isinstance(node, exp.Column):
            columns |= {me, above}
        if me in others or isinstance(node, (exp.Window, exp.Query)) or is_aggregate(node):
            others |= {me, above}
    possible = columns - others
    return {id(node): (node, size[id(node)] if id(node) in possible else 0) for node in nodes}
