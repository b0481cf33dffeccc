"""Lists of the values that there are: each is in its group once.

SELECT paid, string_agg(DISTINCT zone, ',') FROM trips GROUP BY paid
→  SELECT v.k1, string_agg(DISTINCT v.x, ',') FROM (SELECT DISTINCT paid AS k1, zone AS x FROM trips) AS v GROUP BY v.k1

SELECT paid, string_agg(DISTINCT zone, ','), count(*) FROM trips GROUP BY paid
→  SELECT g.k1, l.v1, g.v1 FROM (SELECT paid AS k1, count(*) AS v1 FROM trips GROUP BY paid) AS g
   LEFT JOIN (SELECT paid AS k1, string_agg(DISTINCT zone, ',') AS v1 FROM trips GROUP BY paid) AS l
   ON l.k1 IS NOT DISTINCT FROM g.k1

Claim: each value is in its group once, in the list as in the query below, which is an answer like any other. A list is
ordered by what it is of, for PostgreSQL takes nothing else with DISTINCT.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import reads_rows
from dpsql.rewrite.syntax.forms.decorrelate import with_values
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of, function_name, queries_inside
from dpsql.rewrite.syntax.named.columns import Ctes, fresh, output_name, tables_in_from
from dpsql.rewrite.syntax.named.grouping import grouping_of
from dpsql.rewrite.syntax.read.dialect import render

# SELECTs over the answers of others: what they group is computed below, by names, and joined by the keys.
#
# SELECT paid, f(a) FROM …  →  SELECT x."key 1", x."value 1" FROM (SELECT paid AS "key 1", f(a) AS "value 1" FROM …) AS x


def grouping_alone(
    select: exp.Select, keys: Sequence[exp.Expr], calls: Sequence[exp.Expr], *, having: bool
) -> exp.Select:
    """Return the grouping alone, which puts out its keys and aggregates by names."""
    clauses = ("from_", "joins", "where", *(("having",) if having else ()))
    table = exp.Select(expressions=[*alias_all(keys), *alias_all(calls, "value")])
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


def numbered_names(count: int, what: str) -> list[str]:
    """Return names for so many."""
    return [f"{what} {i + 1}" for i in range(count)]


def alias_all(nodes: Sequence[exp.Expr], what: str = "key") -> list[exp.Expr]:
    """Return expressions under such names."""
    names = numbered_names(len(nodes), what)
    return [
        exp.Alias(this=node.copy(), alias=exp.to_identifier(n, quoted=True))
        for node, n in zip(nodes, names, strict=True)
    ]


def columns_of(count: int, what: str, table: str) -> list[exp.Expr]:
    """Return the columns of a table that have such names."""
    return [exp.column(name, table, quoted=True) for name in numbered_names(count, what)]


def subquery(query: exp.Expr, alias: str) -> exp.Subquery:
    """Return a query as an element of FROM."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


_CLAUSES = frozenset(
    {"with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "kind"}
)
_LISTS = frozenset({"string_agg", "array_agg"})


def list_values(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Let lists of the distinct values of an expression read those values, beside a SELECT's other aggregates."""
    calls = aggregates_of(select)
    values = {render(call): value for call in calls if (value := _listed(call)) is not None}
    if not values or any(value and key not in _CLAUSES for key, value in select.args.items()):
        return
    group = select.args.get("group")
    if next(queries_inside(select), None) is not None or (group is not None and not grouping_of(select).plain):
        return
    keys = grouping_of(select).keys if group is not None else ()
    # string_agg(DISTINCT zone, ',') … GROUP BY zone has one value in each list, and needs no query below.
    if any(render(value) in map(render, keys) for value in values.values()) or not reads_rows(select, ctes, policy):
        return
    if not _are_of(select, calls, keys):
        return
    others = [call for call in calls if render(call) not in values]
    of_each = {
        render(value): [call for call in calls if values.get(render(call)) == value] for value in values.values()
    }
    # Counts and the like come first: the first part says which groups there are, and lists are joined to it.
    if others or len(of_each) > 1:
        _read_beside(select, keys, ([others] if others else []) + [*of_each.values()])
    else:
        _read_values(select, keys, next(iter(values.values())))


def _listed(call: exp.Expr) -> exp.Expr | None:
    """Return what a list is of, if it has each value once."""
    if not isinstance(call, exp.Anonymous) or function_name(call) not in _LISTS or not call.expressions:
        return None
    # (DISTINCT zone ORDER BY zone) is an Order around a Distinct.
    first = call.expressions[0].this if isinstance(call.expressions[0], exp.Order) else call.expressions[0]
    if not isinstance(first, exp.Distinct):
        return None
    value, *further = [*first.expressions, *call.expressions[1:]]
    separators = all(isinstance(part.this if isinstance(part, exp.Cast) else part, exp.Literal) for part in further)
    return value if separators else None


def _are_of(select: exp.Select, calls: Sequence[exp.Expr], keys: Sequence[exp.Expr]) -> bool:
    """Return whether columns are shown, chosen and ordered by in aggregates and keys alone."""
    known = {*map(render, keys), *map(render, calls)}
    pending = [*select.expressions, *(select.args[key] for key in ("having", "order") if select.args.get(key))]
    while pending:
        node = pending.pop()
        if render(node) in known:
            continue
        if isinstance(node, exp.Column):
            return False
        pending += node.iter_expressions()
    return True


def _read_beside(select: exp.Select, keys: Sequence[exp.Expr], parts: Sequence[Sequence[exp.Expr]]) -> None:
    """Let a SELECT read several groupings by the same keys, of which the first says which groups there are."""
    first, *others = names = [f"part {place}" for place, _ in enumerate(parts, start=1)]
    own = columns_of(len(keys), "key", first)
    values = dict(zip(map(render, keys), own, strict=True))
    for name, calls in zip(names, parts, strict=True):
        values |= dict(zip(map(render, calls), columns_of(len(calls), "value", name), strict=True))
    tables = [
        subquery(grouping_alone(select, keys, calls, having=False), name)
        for name, calls in zip(names, parts, strict=True)
    ]
    joins = []
    for name, table in zip(others, tables[1:], strict=True):
        pairs = zip(columns_of(len(keys), "key", name), own, strict=True)
        # A key may be NULL, and is a group then as any other. Without keys there is one row on each side.
        same: list[exp.Expr] = [exp.NullSafeEQ(this=a, expression=b.copy()) for a, b in pairs]
        joins.append(exp.Join(this=table, side="LEFT", on=exp.and_(*(same or [exp.true()]), copy=False)))
    having = select.args.get("having")
    read_instead(select, values, tables[0], joins)
    # The groups are made below by now: HAVING count(*) > 5  →  WHERE "part 1"."value 1" > 5
    if having is not None:
        select.set("where", exp.Where(this=with_answers(having.this, values)))


def _read_values(select: exp.Select, keys: Sequence[exp.Expr], value: exp.Expr) -> None:
    """Let a SELECT whose only aggregates are lists of a value read the distinct values of each group."""
    alias = fresh("values", tables_in_from(select))
    columns = {render(key): exp.column(f"key {place}", alias, quoted=True) for place, key in enumerate(keys, start=1)}
    columns[render(value)] = exp.column("value", alias, quoted=True)
    named = [exp.alias_(key.copy(), f"key {place}", quoted=True) for place, key in enumerate(keys, start=1)]
    below = exp.Select(
        expressions=[*named, exp.alias_(value.copy(), "value", quoted=True)], distinct=exp.Distinct(),
        **{key: select.args.get(key) for key in ("from_", "joins", "where")},
    )  # fmt: skip
    names = [output_name(output) for output in select.expressions]
    outputs = [
        exp.alias_(with_values(output.unalias(), columns), name, quoted=True, copy=False)
        for output, name in zip(select.expressions, names, strict=True)
    ]
    select.set("expressions", outputs)
    for key in ("group", "having", "order"):
        if (clause := select.args.get(key)) is not None:
            with_values(clause, columns)
    for key in ("joins", "where"):
        select.set(key, None)
    table = exp.Subquery(this=below, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    select.set("from_", exp.From(this=table))
