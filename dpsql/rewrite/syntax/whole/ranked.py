"""Whether it matters which groups there are: where the first of a ranking are shown, or groups are counted themselves.

SELECT zone, avg(tip) FROM trips GROUP BY zone ORDER BY 2 DESC LIMIT 5           ranked: the first 5
SELECT zone, avg(tip), rank() OVER (ORDER BY avg(tip)) FROM trips GROUP BY zone  ranked
SELECT DISTINCT ON (borough) … ORDER BY borough, count(*) DESC                   ranked
SELECT avg(n) FROM (SELECT count(*) AS n FROM trips GROUP BY zone) AS zones      counted
SELECT day, count(*) FROM (SELECT DISTINCT day, zone FROM trips) AS d GROUP BY 1 counted
SELECT sum(n) FROM (SELECT count(*) AS n FROM trips GROUP BY zone) AS zones      neither: sums would lack the small ones
SELECT zone, avg(tip) FROM trips GROUP BY zone ORDER BY 2                        neither: one line a group
SELECT month, lag(count(*)) OVER (ORDER BY month) FROM trips GROUP BY month      neither
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.aggregate_names import function_name, top_aggregates
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.trees import holds

_PLACES = frozenset(
    {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "first_value", "last_value", "nth_value"}
)
"""Window functions by which the first of some rows are found."""


def ranked_rows(select: exp.Select) -> int | None:
    """Return the number of groups of a SELECT of which a ranking shows the first, in it or in what reads it.

    None where all are shown, however they are ordered; 0 where the number is not known, or groups are counted.
    """
    if is_counted(select) and not _is_added_up(select):
        return 0
    by_keys = _keys(select)
    found = [rows for query in _readers(select) if (rows := _first(query, select, by_keys)) is not None]
    return min(found, default=None)


def is_counted(select: exp.Select) -> bool:
    """Return whether the groups of a SELECT are rows to an aggregate.

    Their number alone is that of the rows which the SELECT has by itself: clients ask for it to know how many will come.
    """
    return any(
        query is not select and isinstance(query, exp.Select) and _aggregates(query) for query in _readers(select)
    )


def _is_added_up(select: exp.Select) -> bool:
    """Return whether what groups have is only added up: nothing is lost then from the sum of those that are shown."""
    around = [query for query in _readers(select) if query is not select and isinstance(query, exp.Select)]
    calls = [call for query in around for call in aggregates_of(query)]
    return bool(aggregates_of(select)) and bool(calls) and all(function_name(call) == "sum" for call in calls)


def _aggregates(query: exp.Select) -> bool:
    calls = aggregates_of(query)
    number = all(function_name(call) == "count" and not holds(call, exp.Column) for call in calls)
    return bool(query.args.get("group")) or not number


def _readers(select: exp.Select) -> Iterator[exp.Query]:
    """Yield the queries that a SELECT is, or stands in."""
    node: exp.Expr | None = select
    while node is not None:
        if isinstance(node, exp.Query):
            yield node
        node = node.parent


def _first(query: exp.Query, select: exp.Select, by_keys: frozenset[str]) -> int | None:
    """Return how many rows of a ranking a query that reads a SELECT's groups shows; None where it is no ranking."""
    if query.args.get("distinct") is not None:
        return 0
    outputs = query.expressions if isinstance(query, exp.Select) else []
    windows = (window for output in outputs for window in output.find_all(exp.Window))
    if any(_ranks(window, query is select, by_keys) for window in windows):
        return 0
    order = query.args.get("order")
    by = [_written_out(ordered.this, outputs) for ordered in (order.expressions if order is not None else ())]
    if all(_is_of_keys(expr, query is select, by_keys) for expr in by):
        return None
    return _rows(query)


def _rows(query: exp.Query) -> int | None:
    """Return how many rows LIMIT leaves; None where there is none, 0 where nobody knows."""
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if offset is not None and _number(offset.expression) != 0:
        return 0
    if limit is None:
        return None
    return _number(limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression) or 0


def _number(written: exp.Expr | None) -> int | None:
    """Return a whole number that stands in the statement."""
    while isinstance(written, (exp.Paren, exp.Cast)):
        written = written.this
    return int(written.this) if isinstance(written, exp.Literal) and str(written.this).isdigit() else None


def _ranks(window: exp.Window, itself: bool, by_keys: frozenset[str]) -> bool:
    """Return whether a window function finds the first of groups, by what is computed of them."""
    call = window.this
    while isinstance(call, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        call = call.this
    order = window.args.get("order")
    name = function_name(call) or (call.sql_name().lower() if isinstance(call, exp.Func) else "")
    if name not in _PLACES or order is None:
        return False
    return not all(_is_of_keys(ordered.this, itself, by_keys) for ordered in order.expressions)


def _written_out(by: exp.Expr, outputs: Sequence[exp.Expr]) -> exp.Expr:
    """Return the output that is meant by its place or its name."""
    if isinstance(by, exp.Literal) and not by.is_string and 0 < int(by.this) <= len(outputs):
        output = outputs[int(by.this) - 1]
        return output.this if isinstance(output, exp.Alias) else output
    if isinstance(by, exp.Column) and not by.args.get("table"):
        return next((output.this for output in outputs if _is_called(output, by.this)), by)
    return by


def _is_called(output: exp.Expr, name: exp.Identifier) -> bool:
    return isinstance(output, exp.Alias) and fold(output.args["alias"]) == fold(name)


def _is_of_keys(by: exp.Expr, itself: bool, by_keys: frozenset[str]) -> bool:
    """Return whether an expression is one of keys alone: in the SELECT itself no aggregate's, above it of keys' columns."""
    if itself:
        return not any(True for _ in top_aggregates(by))
    return not holds(by, exp.Query) and all(fold(column.this) in by_keys for column in by.find_all(exp.Column))


def _keys(select: exp.Select) -> frozenset[str]:
    """Return the names of outputs in which there is no aggregate."""
    outputs = [output for output in select.expressions if not any(True for _ in top_aggregates(output))]
    named = [output.args["alias"] if isinstance(output, exp.Alias) else output.this for output in outputs]
    return frozenset(fold(name) for name in named if isinstance(name, exp.Identifier))
