"""Remove what changes nothing: aggregates that nobody reads, limits that end nothing.

SELECT count(*) FROM (SELECT zone, avg(fare) FROM trips GROUP BY zone ORDER BY 2) AS t
→  SELECT count(*) FROM (SELECT zone, NULL FROM trips GROUP BY zone) AS t
(SELECT fare FROM trips OFFSET 0)  →  (SELECT fare FROM trips)
EXISTS (SELECT 1 FROM trips LIMIT 1)  →  EXISTS (SELECT 1 FROM trips)

BI tools first ask how many rows an answer has, and that may be public. Prisma writes OFFSET 0, and Django LIMIT 1.
"""

from collections.abc import Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of, function_name, top_aggregates
from dpsql.rewrite.syntax.named.columns import Ctes, fold, from_items, item_name, output_name
from dpsql.rewrite.syntax.read.trees import every


def simplify(nodes: Sequence[exp.Expr]) -> None:
    """Remove limits that end nothing, and blank the aggregates of every grouped query whose rows are only counted.

    The tree of `nodes` changes.
    """
    for node in nodes:
        if isinstance(node, exp.Query):
            _leave_out_limits(node)
        elif isinstance(node, exp.Exists):
            _leave_out_one(node)
    selects = [node for node in nodes if isinstance(node, exp.Select)]
    for select in selects if len(selects) > 1 else ():
        inner = _only_counted(select)
        if inner is not None and inner.args.get("group") and not inner.args.get("distinct"):
            inner.set("order", None)  # with LIMIT or without, the number of rows is the same in any order
            inner.set("expressions", [_blank(node, index) for index, node in enumerate(inner.expressions)])


def _leave_out_limits(query: exp.Query) -> None:
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if isinstance(offset, exp.Offset) and isinstance(offset.expression, exp.Literal) and offset.expression.this == "0":
        query.set("offset", None)
    if isinstance(limit, exp.Limit) and (isinstance(limit.expression, exp.Null) or _is_all(limit.expression)):
        query.set("limit", None)


def _is_all(node: exp.Expr | None) -> bool:
    """Return whether LIMIT has ALL behind it, which is a word there and no name."""
    name = node.this if isinstance(node, exp.Column) and not node.args.get("table") else node
    unquoted = not (isinstance(name, exp.Identifier) and name.args.get("quoted"))
    return isinstance(name, (exp.Identifier, exp.Var)) and unquoted and name.name.upper() == "ALL"


def _leave_out_one(test: exp.Exists) -> None:
    """Leave out how many rows there are to be, where there is to be any."""
    query = test.this
    while isinstance(query, (exp.Subquery, exp.Paren)):
        query = query.this
    limit = query.args.get("limit") if isinstance(query, exp.Query) else None
    count = limit.expression if isinstance(limit, exp.Limit) else None
    if (
        isinstance(count, exp.Literal)
        and str(count.this).isdigit()
        and int(count.this)
        and not query.args.get("offset")
    ):
        query.set("limit", None)


def _only_counted(select: exp.Select) -> exp.Select | None:
    """Return the query whose rows a SELECT only counts."""
    extra = [k for k, v in select.args.items() if v and k not in {"expressions", "from_", "with_", "limit", "kind"}]
    from_ = select.args.get("from_")
    if extra or from_ is None or from_.this.args.get("joins"):
        return None
    if not all(_is_count_star(node.unalias()) for node in select.expressions):
        return None
    item = from_.this
    if isinstance(item, exp.Table):
        return _cte(select, item)
    inner = item.this if isinstance(item, exp.Subquery) else None
    return inner if isinstance(inner, exp.Select) else None


def _is_count_star(node: exp.Expr) -> bool:
    return (
        function_name(node) == "count" and isinstance(node, exp.Anonymous) and isinstance(node.expressions[0], exp.Star)
    )


def _cte(select: exp.Select, table: exp.Table) -> exp.Select | None:
    """Return the query of a CTE of `select` that is read in this one place."""
    with_, name = select.args.get("with_"), fold(table.this)
    if with_ is None or table.args.get("db"):
        return None
    # Read in a second place, its aggregates would be missed there.
    uses = [t for t in select.find_all(exp.Table) if fold(t.this) == name]
    queries = [cte.this for cte in with_.expressions if fold(cte.args["alias"].this) == name]
    return queries[0] if len(uses) == 1 and queries and isinstance(queries[0], exp.Select) else None


def _blank(node: exp.Expr, index: int) -> exp.Expr:
    if not any(True for _ in top_aggregates(node)):
        return node
    name = node.args["alias"].copy() if isinstance(node, exp.Alias) else exp.to_identifier(f"a{index}")
    return exp.Alias(this=exp.Null(), alias=name)


# A random number of each row by which rows are told apart: the key of their table does the same.
#
# SELECT rider, gen_random_uuid() AS row FROM trips  →  SELECT rider, trip_id AS row FROM trips
#
# Semantic layers write it for conversions, and partition by it. Claim: no two rows have the same of either, and a statement
# that has the call once can do nothing with it but tell its rows apart, since nothing else has such a value: it is grouped
# and partitioned by, and never compared or shown.

_CALL = "gen_random_uuid"
_CLAUSES = frozenset({"expressions", "from_", "where", "kind"})
_TELLING_APART = (exp.Select, exp.Window, exp.Group, exp.Tuple, exp.Alias)
"""Where a column may stand that tells rows apart: among outputs, what is grouped by, and what is partitioned by."""


def number_by_key(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Write the key for the one random number of each row of a protected table."""
    calls = [output for output in select.expressions if _is_call(output.unalias())]
    if len(calls) != 1 or any(value and key not in _CLAUSES for key, value in select.args.items()):
        return
    items = list(from_items(select))
    table = policy.tables.get(fold(items[0].this)) if len(items) == 1 and isinstance(items[0], exp.Table) else None
    if (
        table is None
        or table.public
        or table.key is None
        or (fold(items[0].this) in ctes and not items[0].args.get("db"))
    ):
        return
    whole = select.root()
    name = output_name(calls[0])
    once = sum(1 for node in every(whole, exp.Anonymous) if _is_call(node)) == 1
    if aggregates_of(select) or not once or not all(map(_tells_apart, _named(whole, name))):
        return
    key = exp.column(table.key, item_name(items[0]), quoted=True)
    calls[0].replace(exp.alias_(key, name, quoted=True))


def _is_call(node: exp.Expr) -> bool:
    return function_name(node) == _CALL


def _named(whole: exp.Expr, name: str) -> list[exp.Column]:
    return [column for column in every(whole, exp.Column) if fold(column.this) == name]


def _tells_apart(column: exp.Column) -> bool:
    """Return whether a column is passed on, grouped or partitioned by, under its name and below the outermost query."""
    parent = column.parent
    if isinstance(parent, exp.Alias) and fold(parent.args["alias"]) != fold(column.this):
        return False
    if isinstance(parent, exp.Window):
        return column.arg_key == "partition_by"
    select = column.find_ancestor(exp.Select)
    listed = column.arg_key == "expressions" or isinstance(parent, exp.Alias)
    return isinstance(parent, _TELLING_APART) and listed and select is not None and select is not select.root()
