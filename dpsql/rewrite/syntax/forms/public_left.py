"""Public rows with what is joined to them of private ones, and groups of which a subquery asks: an answer beside public rows.

SELECT d, count(t.fare) FROM days LEFT JOIN trips t ON t.day = d GROUP BY d
→  SELECT p.d, coalesce(a.n, 0) FROM (SELECT DISTINCT d FROM days) AS p
   LEFT JOIN (SELECT d, count(t.fare) AS n FROM days JOIN trips t ON t.day = d GROUP BY d) AS a
   ON a.d IS NOT DISTINCT FROM p.d
SELECT paid, count(*), (SELECT avg(fare) FROM rides s WHERE s.paid = r.paid) FROM rides r GROUP BY paid
→  SELECT g.paid, g.n, (SELECT avg(fare) FROM rides s WHERE s.paid = g.paid)
   FROM (SELECT paid, count(*) AS n FROM rides r GROUP BY paid) AS g

Only aggregates to which a public row that finds none adds nothing, since what they aggregate is NULL then, or sums to which
it adds 0: sum(coalesce(t.fare, 0)) is 0 of such rows alone. Claim: the inner query is measured, a join or a grouping like any
other; PostgreSQL does the rest with the release.
"""

from collections.abc import Collection, Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.answers import (
    columns_of,
    grouping_alone,
    named,
    numbered,
    read_instead,
    subquery,
    with_answers,
)
from dpsql.rewrite.syntax.forms.correlation import Offered, reads_rows
from dpsql.rewrite.syntax.forms.determined import determined
from dpsql.rewrite.syntax.forms.missing_rows import value_of_missing
from dpsql.rewrite.syntax.forms.nested import aggregates_of, queries_below, queries_inside
from dpsql.rewrite.syntax.named.aggregate_names import OF_AGGREGATES, function_name, is_count
from dpsql.rewrite.syntax.named.columns import Ctes, from_items
from dpsql.rewrite.syntax.named.grouping import grouping_of
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.made_names import fresh
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every

_CLAUSES = frozenset({"with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset"})


def as_answers(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change a grouped SELECT to one over the answer of such, where that is known to mean the same."""
    group = select.args.get("group")
    if group is None or any(value for key, value in select.args.items() if key not in _CLAUSES):
        return
    if any(isinstance(element, (exp.Rollup, exp.Cube, exp.GroupingSets)) for element in group.expressions):
        return
    joins = select.args.get("joins") or []
    if joins and str(joins[-1].args.get("side") or "").upper() == "LEFT" and not joins[-1].args.get("using"):
        _beside_public(select, joins, ctes, policy)
    elif any(True for part in (*select.expressions, select.args.get("having")) for _ in queries_below(part)):
        _below_subqueries(select, ctes, policy)


def _grouped(select: exp.Select, ctes: Ctes, policy: Policy) -> tuple[tuple[exp.Expr, ...], Sequence[exp.Expr]] | None:
    """Return the keys and the aggregates of a SELECT; None where something else is shown, or it is ordered by that."""
    grouping, calls = grouping_of(select), aggregates_of(select)
    keys = (*grouping.keys, *determined(select, grouping, ctes, policy))
    texts = {render(part) for part in (*keys, *calls)}
    order = [
        element.this if isinstance(element, exp.Ordered) else element for element in _elements(select.args.get("order"))
    ]
    shown = [*(output.unalias() for output in select.expressions), *order]
    shown += [having.this] if (having := select.args.get("having")) is not None else []
    return (keys, calls) if all(_is_made_of(expr, texts) for expr in shown) else None


def _elements(node: exp.Expr | None) -> Sequence[exp.Expr]:
    return node.expressions if node is not None else ()


def _is_made_of(node: exp.Expr, texts: Collection[str]) -> bool:
    """Return whether no column in an expression stands outside of these expressions, and subqueries."""
    if isinstance(node, exp.Query) or render(node) in texts:
        return True
    return not isinstance(node, exp.Column) and all(_is_made_of(child, texts) for child in node.iter_expressions())


def _beside_public(select: exp.Select, joins: Sequence[exp.Join], ctes: Ctes, policy: Policy) -> None:
    *publics, private = from_items(select)
    holders = [exp.Select(from_=exp.From(this=source.copy())) for source in (*publics, private)]
    reads = [reads_rows(holder, ctes, policy) for holder in holders]
    kind = str(joins[-1].args.get("kind") or "").upper()
    if any(reads[:-1]) or not reads[-1] or kind not in {"", "OUTER"} or next(queries_inside(select), None) is not None:
        return
    ours = Offered.of(holders[-1])
    if (grouped := _grouped(select, ctes, policy)) is None:
        return
    keys, calls = grouped
    where = select.args.get("where")
    of_public = [*keys, *([where] if where is not None else [])]
    if any(ours.has(column) for part in of_public for column in every(part, exp.Column)):
        return
    added = [_of_missing(call, ours) for call in calls]
    if None in added:
        return
    zeros = [is_count(call) or of == "zero" for call, of in zip(calls, added, strict=True)]
    _put_beside(select, joins, keys, list(zip(calls, zeros, strict=True)))


def _put_beside(
    select: exp.Select, joins: Sequence[exp.Join], keys: Sequence[exp.Expr], calls: Sequence[tuple[exp.Expr, bool]]
) -> None:
    """Let a SELECT read the public rows' keys, beside what is counted of the private rows that they find.

    Each aggregate comes with whether it is 0 of public rows that find none, and not NULL.
    """
    where = select.args.get("where")
    table = grouping_alone(select, keys, [call for call, _ in calls], having=False)
    table.args["joins"][-1].set("side", None)
    table.args["joins"][-1].set("kind", None)
    rows = exp.Select(expressions=named(keys), from_=select.args["from_"].copy(), distinct=exp.Distinct())
    rows.set("joins", [earlier.copy() for earlier in joins[:-1]])
    rows.set("where", where.copy() if where is not None else None)
    on = [
        exp.NullSafeEQ(this=exp.column(name, "counted", quoted=True), expression=exp.column(name, "rows", quoted=True))
        for name in numbered(len(keys), "key")
    ]
    values = dict(zip(map(render, keys), columns_of(len(keys), "key", "rows"), strict=True))
    for (call, is_zero), column in zip(calls, columns_of(len(calls), "value", "counted"), strict=True):
        zero = [column, exp.Literal.number(0)]
        values[render(call)] = exp.Anonymous(this="coalesce", expressions=zero) if is_zero else column
    join = exp.Join(this=subquery(table, "counted"), side="LEFT", on=exp.and_(*on, copy=False))
    having = select.args.get("having")
    read_instead(select, values, subquery(rows, "rows"), [join])
    if having is not None:
        select.set("where", exp.Where(this=with_answers(having.this, values)))


def _of_missing(call: exp.Expr, ours: Offered) -> str | None:
    """Return what an aggregate adds of a public row without a private one: "nothing", or "zero"; None if it is not known."""
    if function_name(call) in OF_AGGREGATES:
        return _of_missing(_called(call).expressions[0], ours)
    if isinstance(call, exp.Filter):
        if value_of_missing(call.expression.this, ours) in (None, False):
            return "nothing"
        call = call.this
    if not isinstance(call, exp.Anonymous) or len(call.expressions) != 1:
        return None
    value = value_of_missing(call.expressions[0], ours)
    zero = value == 0 and not isinstance(value, bool) and function_name(call) == "sum"
    return "nothing" if value is None else "zero" if zero else None


def _called(call: exp.Expr) -> exp.Expr:
    return call.expression if isinstance(call, exp.Dot) else call


def _below_subqueries(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Put the grouping of a SELECT below subqueries among its outputs that name its keys."""
    if select.args.get("having") is not None and next(queries_below(select.args["having"]), None) is not None:
        return
    if not reads_rows(exp.Select(from_=select.args["from_"].copy(), joins=select.args.get("joins")), ctes, policy):
        return
    if (grouped := _grouped(select, ctes, policy)) is None:
        return
    by, calls = grouped
    inside = (*by, *calls, select.args.get("where"), select.args.get("order"))
    if any(True for part in inside for _ in queries_below(part)) or not _tied(select, by):
        return
    alias = fresh("groups", {fold(read.this) for read in every(select, exp.Table)})
    keys = columns_of(len(by), "key", alias)
    values = dict(zip(map(render, by), keys, strict=True))
    values |= dict(zip(map(render, calls), columns_of(len(calls), "value", alias), strict=True))
    table = grouping_alone(select, by, calls, having=True)
    for column, index in _tied(select, by):
        column.replace(keys[index].copy())
    read_instead(select, values, subquery(table, alias), [])


def _tied(select: exp.Select, keys: Sequence[exp.Expr]) -> Sequence[tuple[exp.Column, int]]:
    """Return the columns of subqueries that are a group's keys, each with which; none where another one is not theirs."""
    pairs, ours = list[tuple[exp.Column, int]](), Offered.of(select)
    for output in select.expressions:
        for query in every(output, exp.Select):
            names = Offered.of(query)
            for column in every(query, exp.Column):
                if names.has(column):
                    continue
                index = next(
                    (i for i, key in enumerate(keys) if ours.has(column) and _is(column, key)),
                    None,
                )
                if index is None:
                    return ()
                pairs.append((column, index))
    return pairs


def _is(column: exp.Column, key: exp.Expr) -> bool:
    same_table = fold(key.args.get("table")) == fold(column.args.get("table"))
    return isinstance(key, exp.Column) and fold(key.this) == fold(column.this) and same_table
