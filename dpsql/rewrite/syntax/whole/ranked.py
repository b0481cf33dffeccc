"""Whether it matters which groups there are: where they are ranked, cut off, or counted themselves.

SELECT zone, avg(tip) FROM trips GROUP BY zone ORDER BY 2 DESC LIMIT 5           ranked
SELECT zone, avg(tip), rank() OVER (ORDER BY avg(tip)) FROM trips GROUP BY zone  ranked
SELECT avg(n) FROM (SELECT count(*) AS n FROM trips GROUP BY zone) AS zones      counted
SELECT day, count(*) FROM (SELECT DISTINCT day, zone FROM trips) AS d GROUP BY 1 counted
SELECT zone, avg(tip) FROM trips GROUP BY zone ORDER BY zone                     neither: one line a group
"""

from collections.abc import Iterator

from sqlglot import exp

from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.aggregate_names import function_name, top_aggregates
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.trees import holds

_CUT = ("limit", "offset", "fetch", "distinct")


def is_ranked(select: exp.Select) -> bool:
    """Return whether a SELECT's groups are ranked or cut off, in it or in what reads it, or are counted."""
    return is_counted(select) or _orders(select) or any(_is_cut(query) for query in _readers(select))


def is_counted(select: exp.Select) -> bool:
    """Return whether the groups of a SELECT are rows to an aggregate.

    Their number alone is that of the rows which the SELECT has by itself: clients ask for it to know how many will come.
    """
    return any(
        query is not select and isinstance(query, exp.Select) and _aggregates(query) for query in _readers(select)
    )


def _aggregates(query: exp.Select) -> bool:
    calls = aggregates_of(query)
    number = all(function_name(call) == "count" and not holds(call, exp.Column) for call in calls)
    return bool(query.args.get("group")) or not number


def _readers(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the queries that a SELECT is, or stands in."""
    node: exp.Expr | None = select
    while node is not None:
        if isinstance(node, exp.Query):
            yield node
        node = node.parent


def _is_cut(query: exp.Expr) -> bool:
    return any(query.args.get(key) is not None for key in _CUT)


def _orders(select: exp.Select) -> bool:
    """Return whether something is ordered by aggregates: its own rows, or those of a window."""
    if not aggregates_of(select):
        return False
    outputs = {
        fold(output.args["alias"]): output.this for output in select.expressions if isinstance(output, exp.Alias)
    }
    order = select.args.get("order")
    for ordered in order.expressions if order is not None else ():
        by = ordered.this
        if isinstance(by, exp.Literal) and not by.is_string and 0 < int(by.this) <= len(select.expressions):
            by = select.expressions[int(by.this) - 1]
        elif isinstance(by, exp.Column) and not by.args.get("table"):
            by = outputs.get(fold(by.this), by)
        if any(True for _ in top_aggregates(by)):
            return True
    return any(holds(output, exp.Window) for output in select.expressions)
