"""LATERAL subqueries over private rows, as the subqueries and joins that they are.

FROM riders r, LATERAL (SELECT count(*) AS n FROM rides s WHERE s.rider = r.rider) AS l … l.n
→  FROM riders r … (SELECT count(*) AS n FROM rides s WHERE s.rider = r.rider)
FROM riders r JOIN LATERAL (SELECT fare FROM rides s WHERE s.rider = r.rider ORDER BY picked LIMIT 1) AS l ON TRUE
→  FROM riders r JOIN (SELECT s.rider AS k, fare, row_number() OVER (PARTITION BY s.rider ORDER BY picked) AS n FROM rides s)
   AS l ON l.k = r.rider AND l.n <= 1
FROM zones z, LATERAL (SELECT paid, count(*) AS n FROM rides s WHERE s.zone = z.id GROUP BY paid ORDER BY 2 DESC LIMIT 1) AS l
→  FROM zones z JOIN (SELECT paid, count(*) AS n, s.zone AS k, row_number() OVER (PARTITION BY s.zone ORDER BY count(*) DESC)
   AS p FROM rides s GROUP BY paid, s.zone) AS l ON l.k = z.id AND l.p <= 1

An aggregate without GROUP BY has one row in any case, so that each of its columns is one value of the row beside it.
Claim: PostgreSQL means the same by both, but for the order of rows that tie. The measurement is that of the longer
words, and their rules decide: a window is of one unit's rows, and so is a joined row.
"""

from collections.abc import Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import Correlated, Offered, reads_rows, taken_apart
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.columns import Ctes
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.made_names import columns_of_subquery, fresh
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.read.trees import every

_VALUE = frozenset({"expressions", "from_", "joins", "where"})
_ROWS = _VALUE | {"group", "order", "limit"}
_PLACES = ("where", "group", "having", "order")


def without_laterals(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change the LATERAL subqueries of a SELECT that are known to mean something else; others stay."""
    for join in list(select.args.get("joins") or ()):
        inner = _inner(join)
        if inner is None or not reads_rows(inner, ctes, policy):
            continue
        if aggregates_of(inner) and not inner.args.get("group"):
            _as_values(select, join, inner)
        else:
            _as_rows(select, join, inner, ctes, policy)


def _inner(join: exp.Join) -> exp.Select | None:
    item = join.this
    alias = item.args.get("alias")
    if not isinstance(item, exp.Lateral) or not isinstance(alias, exp.TableAlias) or alias.args.get("columns"):
        return None
    if join.args.get("using") or str(join.args.get("side") or "").upper() not in {"", "LEFT"}:
        return None
    inner = item.this
    while isinstance(inner, exp.Subquery) and not inner.args.get("alias"):
        inner = inner.this
    names = [output_name(output) for output in inner.expressions] if isinstance(inner, exp.Select) else []
    return inner if isinstance(inner, exp.Select) and len({*names}) == len(names) else None


def _is_free(join: exp.Join) -> bool:
    on = join.args.get("on")
    return on is None or (isinstance(on, exp.Boolean) and bool(on.this))


def _as_values(select: exp.Select, join: exp.Join, inner: exp.Select) -> None:
    """Put a subquery for one value instead of each column of a LATERAL subquery that has one row."""
    if not _is_free(join) or any(value for key, value in inner.args.items() if key not in _VALUE):
        return
    values = {output_name(output): output.unalias() for output in inner.expressions}
    columns = _columns(select, join)
    if columns is None:
        return
    inner.set("expressions", [])
    for column in columns:
        query = inner.copy()
        query.set("expressions", [exp.alias_(values[fold(column.this)].copy(), fold(column.this), quoted=True)])
        made: exp.Expr = exp.Subquery(this=query)
        if isinstance(column.parent, exp.Select):
            made = exp.Alias(this=made, alias=exp.to_identifier(fold(column.this), quoted=True))
        column.replace(made)
    join.pop()


def _columns(select: exp.Select, join: exp.Join) -> list[exp.Column] | None:
    """Return the columns of a LATERAL subquery that a SELECT names; None where some are within others' queries or joins."""
    alias = fold(join.this.args["alias"].this)
    clauses = [select.args[key] for key in _PLACES if select.args.get(key)]
    further = [other.args["on"] for other in select.args["joins"] if other.args.get("on") is not None]
    beside = [other.this for other in select.args["joins"] if other is not join]
    columns = list[exp.Column]()
    for part in (*select.expressions, *clauses, *further, *beside):
        nested = {id(each) for query in every(part, exp.Query) for each in every(query, exp.Column)}
        for column in every(part, exp.Column):
            if fold(column.args.get("table")) == alias:
                if id(column) in nested or part in (*further, *beside):
                    return None
                columns.append(column)
    return columns


def first_beside(select: exp.Select, inner: exp.Select, alias: str, ctes: Ctes, policy: Policy) -> exp.Expr | None:
    """Join the first of a row's own rows or groups, of which a subquery has one value; return what has come into FROM.

    (SELECT fare FROM rides s WHERE s.rider = r.rider ORDER BY picked LIMIT 1)
    →  l.fare of LEFT JOIN LATERAL (SELECT fare … LIMIT 1) AS l ON true
    """
    limit = inner.args["limit"].expression
    if (
        not (isinstance(limit, exp.Literal) and limit.name == "1")
        or len(inner.expressions) != 1
        or (aggregates_of(inner) and not inner.args.get("group"))
    ):
        return None
    named = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    item = exp.Lateral(this=exp.Subquery(this=inner.copy()), alias=named)
    join = exp.Join(this=item, side="LEFT", on=exp.true())
    _as_rows(select, join, inner, ctes, policy)
    if join.this is item:
        return None
    select.append("joins", join)
    made: exp.Expr = join.this
    return made


def _as_rows(select: exp.Select, join: exp.Join, inner: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Join the rows of a LATERAL subquery by what ties them to the row beside, the first of them numbered."""
    if any(value for key, value in inner.args.items() if key not in _ROWS) or inner.find(exp.Window):
        return
    limit, order = inner.args.get("limit"), inner.args.get("order")
    most = limit.expression if limit is not None else None
    numbered = isinstance(most, exp.Literal) and not most.is_string
    if limit is not None and (not numbered or order is None):
        return
    parts = taken_apart(inner, select, ctes, policy)
    if parts is None or not parts.pairs or (order is not None and Offered.of(inner).outer(order)):
        return
    keys = [inside for inside, _ in parts.pairs]
    names = _own_names([*inner.expressions, *keys])[len(inner.expressions) :]
    made: list[exp.Expr] = [exp.alias_(key.copy(), name, quoted=True) for key, name in zip(keys, names, strict=True)]
    alias = fold(join.this.args["alias"].this)
    columns = [exp.column(name, alias, quoted=True) for name in names]
    conditions: list[exp.Expr] = [
        exp.EQ(this=column, expression=outside.copy())
        for column, (_, outside) in zip(columns, parts.pairs, strict=True)
    ]
    if limit is not None and order is not None:
        place = fresh("place in the subquery", {*names, *(output_name(output) for output in inner.expressions)})
        made.append(exp.alias_(_place(keys, order), place, quoted=True))
        conditions.append(exp.LTE(this=exp.column(place, alias, quoted=True), expression=limit.expression.copy()))
    if not _is_free(join):
        conditions.append(join.args["on"])
    join.set("this", exp.Subquery(this=_alone(inner, parts, made), alias=join.this.args["alias"].copy()))
    join.set("kind", None)
    join.set("on", exp.and_(*conditions, copy=False))


def _place(keys: Sequence[exp.Expr], order: exp.Expr) -> exp.Window:
    first = exp.Anonymous(this="row_number", expressions=[])
    return exp.Window(this=first, partition_by=[key.copy() for key in keys], order=order.copy(), over="OVER")


def _alone(inner: exp.Select, parts: Correlated, made: Sequence[exp.Expr]) -> exp.Select:
    """Return a subquery without what ties it to a row: that is put out beside what it puts out, and its groups' keys."""
    table = inner.copy()
    named = [exp.alias_(output.unalias().copy(), output_name(output), quoted=True) for output in inner.expressions]
    table.set("expressions", [*named, *made])
    table.set("where", parts.where())
    table.set("order", None)
    table.set("limit", None)
    if inner.args.get("group"):
        keys = [inside.copy() for inside, _ in parts.pairs]
        table.args["group"].set("expressions", [*inner.args["group"].expressions, *keys])
    return table


def _own_names(nodes: Sequence[exp.Expr]) -> list[str]:
    """Return a name for each that no other has."""
    return [fresh(name, {output_name(node) for node in nodes}) for name in columns_of_subquery(nodes)]
