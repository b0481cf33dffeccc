"""The column of grouped rows that a node of their SELECT is: a key or an aggregate call.

SELECT floor(fare), count(*) … GROUP BY floor(fare)  →  floor(fare) is g0, count(*) is a0
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.errors import DpsqlError
from dpsql.rewrite.ir.expr import Expr
from dpsql.rewrite.syntax.named.aggregate_names import is_aggregate
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import holds
from dpsql.rewrite.syntax.whole.splice import Match
from dpsql.rewrite.translate.values.context import Translator


def matcher(keys: Sequence[exp.Expr], exprs: Sequence[Expr], aggregates: Sequence[exp.Expr], t: Translator) -> Match:
    """Return which column a node is: by its text, or because it means what a key means, one of `exprs`."""
    named = [(node, f"g{i}") for i, node in enumerate(keys)]
    named += [(node, f"a{i}") for i, node in enumerate(aggregates)]
    ours: Mapping[int, str] = {id(node): name for node, name in named}
    kinds = {type(node) for node, _ in named}

    texts: dict[str, str] = {}

    def match(node: exp.Expr) -> str | None:
        if id(node) in ours:
            return ours[id(node)]
        if type(node) in kinds and not texts:  # not written where each is the very node
            texts.update({render(shown): name for shown, name in named})
        matched = texts.get(render(node)) if type(node) in kinds else None
        if matched is not None or not exprs or isinstance(node, exp.Query) or not holds(node, exp.Column):
            return matched
        if any(is_aggregate(part) or isinstance(part, (exp.Window, exp.Query)) for part in node.walk()):
            return None
        try:
            expr = t.expression(node)
        except DpsqlError:
            return None
        return next((f"g{i}" for i, key in enumerate(exprs) if key == expr), None)

    return match
