"""The calls that are aggregates, by name, and how one is written in a tree."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, get_args

from sqlglot import exp

from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every

StatisticName = Literal[
    "count", "sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp", "covar_pop", "covar_samp", "corr",
    "regr_count", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy", "regr_slope", "regr_intercept", "regr_r2",
]  # fmt: skip
STATISTICS: Mapping[str, StatisticName] = {
    **{name: name for name in get_args(StatisticName)},
    "variance": "var_samp",
    "stddev": "stddev_samp",
}
"""Statistics that are read off noisy sums, by the names that people write."""
OF_TWO = frozenset(
    """covar_pop covar_samp corr regr_count regr_avgx regr_avgy regr_sxx regr_syy regr_sxy regr_slope regr_intercept
    regr_r2""".split()
)
"""Those of two arguments."""
QUANTILES = frozenset({"median", "percentile_cont", "percentile_disc", "min", "max"})
LOGICAL = frozenset({"bool_and", "bool_or", "every"})
_LISTS = """array_agg string_agg json_agg jsonb_agg json_agg_strict jsonb_agg_strict xmlagg range_agg
range_intersect_agg""".split()
OBJECTS_OF_ROWS = frozenset(
    """json_object_agg jsonb_object_agg json_object_agg_strict jsonb_object_agg_strict json_object_agg_unique
    jsonb_object_agg_unique json_object_agg_unique_strict jsonb_object_agg_unique_strict""".split()
)
"""Aggregates that make an object, whose names may not be NULL."""
_LISTED = "List an answer, such as the values that there are: SELECT {}({}) FROM (SELECT DISTINCT x FROM …) AS v"
_OBJECT = (
    "List an answer, such as a count by key: SELECT {}(x, n) FROM (SELECT x, count(*) AS n FROM … GROUP BY x) AS v"
)
OF_SINGLE_ROWS: Mapping[str, str] = {
    **{name: _LISTED.format(name, "x, ','" if name == "string_agg" else "x") for name in _LISTS},
    **{name: _OBJECT.format(name) for name in sorted(OBJECTS_OF_ROWS)},
    **dict.fromkeys(
        ("bit_and", "bit_or", "bit_xor"), "Count the rows that have a bit: count(*) FILTER (WHERE x / 4 % 2 = 1)"
    ),
    "any_value": "The value that most rows have: mode() WITHIN GROUP (ORDER BY x)",
}
"""Aggregates that show values of single rows, or depend on one, and their nearest that do not."""
NAMES = frozenset({"grouping", "mode"}) | STATISTICS.keys() | QUANTILES | LOGICAL | OF_SINGLE_ROWS.keys()


OF_AGGREGATES = frozenset({"dpsql.margin", "dpsql.cut", "dpsql.shrunk"})
"""Functions that tell something of another aggregate."""


def function_name(node: exp.Expr) -> str:
    """Return the name of a call, lower case, `pg_catalog.` taken off, those of `dpsql` in full; else empty."""
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Anonymous):
        schema, name = str(node.this.name).lower(), node.expression.name.lower()
        return name if schema in {"pg_catalog", "public"} else f"{schema}.{name}"
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether `node` is one aggregate call with all that belongs to it (FILTER, WITHIN GROUP)."""
    if isinstance(node, (exp.Filter, exp.WithinGroup)):
        return True
    name = function_name(node)
    return name in OF_AGGREGATES or name in NAMES


def is_count(call: exp.Expr) -> bool:
    """Return whether an aggregate call is a number of rows, with what belongs to it."""
    bare = call.this if isinstance(call, (exp.Filter, exp.WithinGroup)) else call
    return function_name(bare) in {"count", "regr_count"}


def top_aggregates(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the outermost aggregate calls of one expression, none from nested queries.

    The function of a window call is post-processing; what it is applied to is searched.
    """
    if isinstance(node, exp.Query):
        return
    if is_aggregate(node) and not is_windowed(node):
        yield node
        return
    for child in node.iter_expressions():
        yield from top_aggregates(child)


def is_windowed(node: exp.Expr) -> bool:
    """Return whether `node` is the function of a window call, with what belongs to it, and no aggregate of rows."""
    child = node
    while isinstance(child.parent, (exp.Filter, exp.WithinGroup, exp.Dot)) and child.arg_key in {"this", "expression"}:
        child = child.parent
    return isinstance(child.parent, exp.Window) and child.arg_key == "this"


# Windows of a SELECT that are defined by WINDOW, written where they are used.
#
# SELECT lag(fare) OVER (w ORDER BY day) FROM trips WINDOW w AS (PARTITION BY rider)
# →  SELECT lag(fare) OVER (PARTITION BY rider ORDER BY day) FROM trips

_PARTS = ("partition_by", "order", "spec")


def put_windows_in_place(select: exp.Select) -> None:
    """Change a SELECT of rows so that it has no WINDOW clause; one with windows that it does not define stays."""
    windows: dict[str, exp.Window] = {}
    for window in select.args.get("windows") or ():
        name = window.this
        if not isinstance(window, exp.Window) or not isinstance(name, exp.Identifier) or not _filled(window, windows):
            return
        windows[fold(name)] = window
    calls = [window for output in select.expressions for window in output.find_all(exp.Window)]
    filled = [_filled(call, windows) for call in calls]
    if all(filled):
        select.set("windows", None)


def _filled(window: exp.Window, windows: Mapping[str, exp.Window]) -> bool:
    """Return whether a window is known, and give it what the one that it names has."""
    name = window.args.get("alias")
    if name is None:
        return True
    base = windows.get(fold(name))
    if base is None:
        return False
    for part in _PARTS:
        given = base.args.get(part)
        if given and not window.args.get(part):
            window.set(part, [item.copy() for item in given] if isinstance(given, list) else given.copy())
    window.set("alias", None)
    return True


# The contents of one SELECT's expressions: the queries nested in them, and its aggregate calls.

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
