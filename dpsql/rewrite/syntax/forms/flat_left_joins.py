"""What LEFT JOIN joins and has a join in it, or computed columns: joined table by table, and computed outside.

trips t LEFT JOIN (
  SELECT r.rider, z.borough AS home, date_trunc('day', r.joined_at) AS day
  FROM riders r LEFT JOIN zones z ON z.zone = r.home_zone) AS s ON s.rider = t.rider
→  trips t LEFT JOIN riders r ON r.rider = t.rider LEFT JOIN zones z ON z.zone = r.home_zone
   with z.borough for s.home and date_trunc('day', r.joined_at) for s.day

Claim: the same rows. Where t finds an r, both join the same z to it. Where it finds none, no z is joined, since a condition
that compares something of r is not true of NULL; and each column of s is NULL: what is computed of r and z is by itself, or
coalesce(r.age, 0) is written as CASE WHEN r.rider IS NOT NULL THEN coalesce(r.age, 0) END, where r.rider is what is equal.
"""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import Offered, reads_rows
from dpsql.rewrite.syntax.forms.missing_rows import value_of_missing
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.columns import Ctes, columns_read_of, from_items, item_name, tables_in_from
from dpsql.rewrite.syntax.named.existence import conjuncts_of
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.made_names import fresh
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.read.trees import every, holds

_CLAUSES = frozenset({"expressions", "from_", "joins", "where", "kind"})


def flatten_left_joins(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Put the tables of subqueries that a SELECT joins by LEFT JOIN beside its own; what can't be put there stays."""
    joins = select.args.get("joins") or []
    if any(join.args.get("using") or not _is_left_or_inner(join) for join in joins):
        return
    place = 0
    while place < len(joins):
        join = joins[place]
        query = _query_of(join.this, ctes) if _is_left(join) else None
        if query is None or not _joins_rows(select, place, ctes, policy) or not _put_beside(select, place, query):
            place += 1
        joins = select.args["joins"]


def _is_left(join: exp.Join) -> bool:
    return str(join.args.get("side") or "").upper() == "LEFT"


def _is_left_or_inner(join: exp.Join) -> bool:
    return str(join.args.get("side") or "").upper() in {"", "LEFT"}


def _joins_rows(select: exp.Select, place: int, ctes: Ctes, policy: Policy) -> bool:
    """Return whether private rows are joined to private ones: public tables are PostgreSQL's, or are in `public_left`."""
    joins = select.args["joins"]
    before = exp.Select(from_=select.args["from_"].copy(), joins=[join.copy() for join in joins[:place]])
    joined = exp.Select(from_=exp.From(this=joins[place].this.copy()))
    return reads_rows(joined, ctes, policy) and reads_rows(before, ctes, policy)


def _query_of(item: exp.Expr, ctes: Ctes) -> exp.Select | None:
    """Return the SELECT of rows that an element of FROM is, if it is one that has a join or computes something."""
    alias = item.args.get("alias")
    if not isinstance(alias, exp.TableAlias) or alias.args.get("columns"):
        return None
    if isinstance(item, exp.Subquery):
        query: exp.Expr | None = item.this
    else:
        named = isinstance(item, exp.Table) and not item.args.get("db") and fold(item.this) in ctes
        query = ctes[fold(item.this)].this if named else None
    if not isinstance(query, exp.Select) or any(v and k not in _CLAUSES for k, v in query.args.items()):
        return None
    plain = all(isinstance(output.unalias(), exp.Column) for output in query.expressions)
    if plain and not query.args.get("joins"):
        return None
    return query if not aggregates_of(query) and not holds(query, exp.Window, exp.Star) and _is_flat(query) else None


def _is_flat(query: exp.Select) -> bool:
    """Return whether all that a query reads are tables of its own FROM, each joined by LEFT JOIN to those before it."""
    joins = query.args.get("joins") or []
    if any(join.args.get("using") or not _is_left(join) or join.args.get("on") is None for join in joins):
        return False
    inside = [expr for expr in (*query.expressions, query.args.get("where"), *(j.args["on"] for j in joins)) if expr]
    if any(holds(expr, exp.Query) for expr in inside):
        return False
    items = list(from_items(query))
    if len(items) != 1 + len(joins) or not all(
        isinstance(i, (exp.Table, exp.Subquery)) and item_name(i) for i in items
    ):
        return False
    first, own = Offered(frozenset({item_name(items[0])})), Offered.of(query)
    if any(own.outer(expr) for expr in inside) or any(item.args.get("joins") for item in items):
        return False
    where = query.args.get("where")
    if joins and where is not None and first.outer(where):
        return False
    before = set(first.tables)
    for item, join in zip(items[1:], joins, strict=True):
        if not any(_never_true(part, Offered(frozenset(before))) for part in conjuncts_of(join.args["on"])):
            return False
        before.add(item_name(item))
    return True


def _never_true(condition: exp.Expr, missing: Offered) -> bool:
    """Return whether a condition is not true where the columns of some tables are NULL."""
    return value_of_missing(condition, missing) in (None, False)


def _put_beside(select: exp.Select, place: int, query: exp.Select) -> bool:
    """Put the tables of a subquery in the place of its join; return whether that was done."""
    join = select.args["joins"][place]
    name, query = item_name(join.this), query.copy()
    outputs = {output_name(output): output.unalias() for output in query.expressions}
    read = list(columns_read_of(select, name))
    if any(fold(column.this) not in outputs for column in read) or _is_named_again(select, name):
        return False
    _name_apart(query, tables_in_from(select))
    outputs = {output_name(output): output.unalias() for output in query.expressions}
    missing, partner = Offered.of(query), _compared(join.args.get("on"), name, outputs)
    if partner is None and any(value_of_missing(outputs[fold(column.this)], missing) is not None for column in read):
        return False
    shown = {id(output) for output in select.expressions}
    for column in read:
        if id(column) in shown:
            column = _named(column)  # noqa: PLW2901  (an output keeps its name)
        value = outputs[fold(column.this)]
        column.replace(_in_place(value if value_of_missing(value, missing) is None else _if_there(value, partner)))
    where = query.args.get("where")
    on = [part for part in (join.args.get("on"), where.this if where is not None else None) if part is not None]
    first, *others = from_items(query)
    further = [exp.Join(this=item, side="LEFT", on=inner.args["on"]) for item, inner in _pairs(others, query)]
    own = exp.Join(this=first, side="LEFT", on=exp.and_(*on, copy=False))
    select.set("joins", [*select.args["joins"][:place], own, *further, *select.args["joins"][place + 1 :]])
    return True


def _pairs(items: Sequence[exp.Expr], query: exp.Select) -> Iterator[tuple[exp.Expr, exp.Join]]:
    return zip(items, query.args.get("joins") or [], strict=True)


def _named(output: exp.Column) -> exp.Column:
    """Give an output the name that it has; return it below that."""
    inner = output.copy()
    output.replace(exp.alias_(inner, fold(output.this), quoted=True, copy=False))
    return inner


def _compared(on: exp.Expr | None, name: str, outputs: Mapping[str, exp.Expr]) -> exp.Column | None:
    """Return a column of a subquery's tables that is not NULL where a row has found one of the subquery's."""
    for part in conjuncts_of(on) if on is not None else ():
        for side in (part.this, part.expression) if isinstance(part, exp.EQ) else ():
            if isinstance(side, exp.Column) and fold(side.args.get("table")) == name:
                value = outputs[fold(side.this)]
                if isinstance(value, exp.Column):
                    return value
    return None


def _if_there(value: exp.Expr, partner: exp.Expr | None) -> exp.Expr:
    assert partner is not None
    there = exp.Not(this=exp.Is(this=partner.copy(), expression=exp.Null()))
    return exp.Case(ifs=[exp.If(this=there, true=value.copy())])


def _in_place(value: exp.Expr) -> exp.Expr:
    return value.copy() if isinstance(value, exp.Column) else exp.Paren(this=value.copy())


def _is_named_again(select: exp.Select, name: str) -> bool:
    """Return whether a query inside calls something of its own by the name, so that it is not plain what is meant."""
    return any(name in tables_in_from(inner) for inner in every(select, exp.Select) if inner is not select)


def _name_apart(query: exp.Select, taken: frozenset[str]) -> None:
    """Name what a query reads by names that are not taken."""
    new: dict[str, str] = {}
    for item in from_items(query):
        name = item_name(item)
        new[name] = fresh(name, {*taken, *new.values()})
    columns: Mapping[str, list[exp.Column]] = {name: list(columns_read_of(query, name)) for name in new}
    for item in list(from_items(query)):
        alias = item.args.get("alias")
        columns_named = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        name_apart = exp.to_identifier(new[item_name(item)], quoted=True)
        item.set("alias", exp.TableAlias(this=name_apart, columns=columns_named))
    for name, read in columns.items():
        for column in read:
            column.set("table", exp.to_identifier(new[name], quoted=True))
