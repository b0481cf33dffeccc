"""Which queries over released rows have one row at most, whatever was released: told before anything is paid for.

SELECT avg(n) FROM answer        SELECT zone FROM answer ORDER BY n DESC LIMIT 1        SELECT n FROM answer WHERE zone = 7
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from dpsql.rewrite.syntax.aggregate_names import function_name, top_aggregates
from dpsql.rewrite.syntax.existence import conjuncts_of
from dpsql.rewrite.syntax.identifiers import fold
from dpsql.rewrite.syntax.partial import SETS
from dpsql.rewrite.syntax.trees import every

_WITH_ROWS = SETS | {"unnest", "generate_series", "generate_subscripts", "string_to_table"}
_PLACES = (exp.From, exp.Join, exp.In, exp.Exists, exp.Any, exp.All, exp.Lateral, exp.CTE, exp.SetOperation, exp.With)
"""Where a query in a query is no single value."""


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """What is known of the rows of an answer before they are."""

    most: int | None
    """None: nobody knows how many there will be."""
    keys: frozenset[str] | None
    """The columns that no two rows agree in; None: there are none."""


Released = Mapping[str, ReleasedRows]
"""By the names that stand in the places of answers."""


def several_rows(query: exp.Expr, released: Released) -> bool:
    """Return whether a query, whose CTEs stand in their places, may have more than one row."""
    return not _is_single(query, released)


def values_of_several_rows(query: exp.Expr, released: Released) -> bool:
    """Return whether a query has another in it that stands for one value, and may have more than one row."""
    inside = (one for one in every(query, exp.Subquery) if not _is_table(one))
    return any(not _is_single(one, released) for one in inside)


def _is_table(node: exp.Subquery) -> bool:
    parent = node.parent
    if isinstance(parent, exp.Select):
        return node.arg_key != "expressions"
    return parent is None or isinstance(parent, (*_PLACES, exp.Subquery))


def _is_single(query: exp.Expr, released: Released) -> bool:
    if _is_limited(query):
        return True
    match query:
        case exp.Subquery():
            return _is_single(query.this, released)
        case exp.Intersect() | exp.Except():
            return _is_single(query.this, released)
        case exp.Values():
            return len(query.expressions) == 1
        case exp.Select():
            return not _has_more_rows(query) and _is_one_row(query, released)
        case _:
            return False


def _is_one_row(select: exp.Select, released: Released) -> bool:
    alone = all(_is_single_source(one, released) for one in _sources(select))
    return _is_total(select) or alone or _is_picked(select, released)


def _is_limited(query: exp.Expr) -> bool:
    """Return whether a query has a LIMIT, or FETCH, that lets one row pass, or none."""
    limit = query.args.get("limit")
    if isinstance(limit, exp.Limit):
        return isinstance(limit.expression, exp.Literal) and limit.expression.name in ("0", "1")
    if not isinstance(limit, exp.Fetch):
        return False
    options, count = limit.args.get("limit_options"), limit.args.get("count")
    more = options is not None and (options.args.get("with_ties") or options.args.get("percent"))
    return not more and (count is None or count.name == "1")


def _has_more_rows(select: exp.Select) -> bool:
    """Return whether one row may become several: by grouping sets, or functions with rows."""
    group = select.args.get("group")
    if group is not None and group.find(exp.GroupingSets, exp.Rollup, exp.Cube) is not None:
        return True
    calls = (call for one in select.expressions for call in every(one, exp.Func))
    return any(isinstance(call, exp.UDTF) or function_name(call) in _WITH_ROWS for call in calls)


def _is_total(select: exp.Select) -> bool:
    """Return whether all rows are aggregated into one."""
    outputs = [*select.expressions, *filter(None, [select.args.get("having")])]
    return not select.args.get("group") and any(True for one in outputs for _ in top_aggregates(one))


def _sources(select: exp.Select) -> list[exp.Expr]:
    from_ = select.args.get("from_")
    return [
        *([] if from_ is None else [from_.this]),
        *(join.this for join in select.args.get("joins") or ()),
        *(select.args.get("laterals") or ()),
    ]


def _is_single_source(source: exp.Expr, released: Released) -> bool:
    if isinstance(source, exp.Table):
        known = released.get(source.name)
        return known is not None and known.most is not None and known.most <= 1
    return isinstance(source, (exp.Subquery, exp.Values)) and _is_single(source, released)


def _is_picked(select: exp.Select, released: Released) -> bool:
    """Return whether a condition names the one row: keys of a single source, each equal to something from elsewhere."""
    sources, where = _sources(select), select.args.get("where")
    keys = _keys(sources[0], released) if len(sources) == 1 else None
    if keys is None or where is None:
        return False
    found = {name for one in conjuncts_of(where.this) if (name := _compared(one)) is not None}
    return keys <= found


def _compared(condition: exp.Expr) -> str | None:
    """Return the column that a condition sets equal to what depends on no row."""
    if not isinstance(condition, exp.EQ):
        return None
    for one, other in ((condition.this, condition.expression), (condition.expression, condition.this)):
        if isinstance(one, exp.Column) and other.find(exp.Column) is None:
            return fold(one.this)
    return None


def _keys(source: exp.Expr, released: Released) -> frozenset[str] | None:
    """Return columns of an element of FROM of which no two rows agree in all; None if none are known."""
    if isinstance(source, exp.Table):
        known = released.get(source.name)
        return None if known is None else known.keys
    query = source.this if isinstance(source, exp.Subquery) else None
    alias = source.args.get("alias")
    if not isinstance(query, exp.Select) or (alias is not None and alias.args.get("columns")):
        return None
    inside = _sources(query)
    if len(inside) != 1 or query.args.get("group") or _has_more_rows(query) or _is_total(query):
        return None
    keys = _keys(inside[0], released)
    shown = {
        fold(one.unalias().this): fold(one.args["alias"]) if isinstance(one, exp.Alias) else fold(one.this)
        for one in query.expressions
        if isinstance(one.unalias(), exp.Column)
    }
    return None if keys is None or not keys <= shown.keys() else frozenset(shown[key] for key in keys)
