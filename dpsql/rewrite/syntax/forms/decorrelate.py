"""Put subqueries that depend on a row beside it into FROM, so that they are joins like any other.

    fare > (SELECT avg(fare) FROM trips s WHERE s.rider = t.rider)
    →  … LEFT JOIN (SELECT s.rider AS k, avg(fare) AS v FROM trips s GROUP BY s.rider) AS c ON c.k = t.rider
       WHERE fare > c.v
    late OR rider IN (SELECT rider FROM trips GROUP BY rider HAVING count(*) > 3)
    →  … LEFT JOIN (SELECT rider AS k FROM trips GROUP BY rider HAVING count(*) > 3) AS c ON c.k = rider
       WHERE late OR c.k IS NOT NULL

A group is there once at most, so no row is multiplied or lost. Claim: the statement measures what the joins measure,
and their claims are where joins are followed: a joined row is one individual's, or its other part is not private.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import CorrelatedQuery, OfferedTables, reads_rows, split_correlation
from dpsql.rewrite.syntax.forms.inner import with_all_public
from dpsql.rewrite.syntax.forms.set_operations import put_lists_below
from dpsql.rewrite.syntax.named.aggregate_names import (
    aggregates_of,
    is_count,
    keys_with_queries,
    queries_below,
    top_aggregates,
)
from dpsql.rewrite.syntax.named.columns import (
    Ctes,
    column_of_subquery,
    columns_of_subquery,
    fold,
    fresh,
    from_items,
    output_name,
    tables_in_from,
)
from dpsql.rewrite.syntax.named.existence import as_list, conjuncts_of, existences
from dpsql.rewrite.syntax.named.grouping import grouping_in
from dpsql.rewrite.syntax.named.units import groups_by_unit
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import OF_NOBODY, every, holds

# LATERAL subqueries over private rows, as the subqueries and joins that they are.
#
# FROM riders r, LATERAL (SELECT count(*) AS n FROM rides s WHERE s.rider = r.rider) AS l … l.n
# →  FROM riders r … (SELECT count(*) AS n FROM rides s WHERE s.rider = r.rider)
#
# FROM riders r JOIN LATERAL (SELECT fare FROM rides s WHERE s.rider = r.rider ORDER BY picked LIMIT 1) AS l ON TRUE
# →  FROM riders r JOIN (SELECT s.rider AS k, fare, row_number() OVER (PARTITION BY s.rider ORDER BY picked) AS n
#    FROM rides s) AS l ON l.k = r.rider AND l.n <= 1
#
# FROM zones z, LATERAL (
#      SELECT paid, count(*) AS n FROM rides s WHERE s.zone = z.id GROUP BY paid ORDER BY 2 DESC LIMIT 1) AS l
# →  FROM zones z JOIN (SELECT paid, count(*) AS n, s.zone AS k,
#    row_number() OVER (PARTITION BY s.zone ORDER BY count(*) DESC) AS p
#    FROM rides s GROUP BY paid, s.zone) AS l ON l.k = z.id AND l.p <= 1
#
# An aggregate without GROUP BY has one row in any case, so that each of its columns is one value of the row beside it.
# Claim: PostgreSQL means the same by both, but for the order of rows that tie. The measurement is that of the longer
# words, and their rules decide: a window is of one unit's rows, and so is a joined row.

# How decorrelation goes on, by the example of a subquery for one value:
#
# SELECT … (SELECT avg(s.fare) FROM trips s WHERE s.rider = t.rider) FROM trips t
# → split:   own key s.rider, the row's side t.rider, what is left: SELECT avg(fare) FROM trips s
# → grouped: SELECT s.rider AS k, avg(s.fare) AS v FROM trips s GROUP BY s.rider
# → joined:  FROM trips t LEFT JOIN (…) AS c ON c.k = t.rider, and c.v where the subquery stood
#
# LEFT JOIN keeps the rows that the subquery finds nothing for: avg is NULL of them, and count 0 (`value_of`).
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
    # Two columns of one name could not be told apart once they stand in a join.
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
    # LIMIT without ORDER BY is any rows: which ones would depend on how an engine reads them.
    if limit is not None and (not numbered or order is None):
        return
    parts = split_correlation(inner, select, ctes, policy)
    if parts is None or not parts.pairs or (order is not None and OfferedTables.of(inner).outer(order)):
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


def _alone(inner: exp.Select, parts: CorrelatedQuery, made: Sequence[exp.Expr]) -> exp.Select:
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


# The substitute for an aggregate of a subquery where its groups are joined: the column of a group, and of none.
#
# (SELECT count(*) FROM trips s WHERE s.rider = t.rider) + 1  →  coalesce(c.v, 0) + 1

STRICT = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Cast)
"""Expressions that are NULL if a part of them is."""


def is_null_of_nothing(output: exp.Expr, calls: Sequence[exp.Expr]) -> bool:
    """Return whether an output is NULL where its aggregates are of no rows, of which none is a count."""
    texts = {render(call) for call in calls if not is_count(call)}
    pending = [output]
    while pending:
        node = pending.pop()
        if render(node) in texts or isinstance(node, exp.Literal):
            continue
        if not isinstance(node, STRICT):
            return False
        pending += [child for child in (node.this, node.args.get("expression")) if isinstance(child, exp.Expr)]
    return True


def has_columns_outside(output: exp.Expr, calls: Sequence[exp.Expr]) -> bool:
    """Return whether an output has columns beside its aggregates."""
    inside = {id(column) for call in calls for column in every(call, exp.Column)}
    texts = {render(call) for call in calls}
    left = [column for column in every(output, exp.Column) if id(column) not in inside]
    return any(not any(render(above) in texts for above in _above(column, output)) for column in left)


def _above(node: exp.Expr, root: exp.Expr) -> Iterator[exp.Expr]:
    here: exp.Expr | None = node
    while here is not None:
        yield here
        here = None if here is root else here.parent


def value_of(column: exp.Expr, call: exp.Expr) -> exp.Expr:
    """Return an aggregate of a group, which is not there where no row is: a count is then 0."""
    if not is_count(call):
        return column
    return exp.Anonymous(this="coalesce", expressions=[column, exp.Literal.number(0)], **{OF_NOBODY: "zero"})


def with_values(node: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Change a tree so that other nodes stand in it for those with these texts."""
    if (value := values.get(render(node))) is not None:
        return value.copy()
    for child in list(node.iter_expressions()):
        child.replace(with_values(child, values))
    return node


def has_value(column: exp.Expr) -> exp.Expr:
    """Return the condition that a column has a value: where groups are joined, that there is one."""
    return exp.Paren(this=exp.Not(this=exp.Is(this=column, expression=exp.Null())))


@dataclass(frozen=True, slots=True)
class JoinedSubquery:
    """A subquery in FROM, and the names of its columns by their text."""

    item: exp.Expr
    names: dict[str, str] = field(default_factory=dict)

    def column(self, node: exp.Expr) -> exp.Column:
        """Return the column that has an expression, which the subquery puts out from now on.

        (SELECT rider AS k FROM trips GROUP BY rider) AS c   →  c.v of (SELECT rider AS k, avg(fare) AS v FROM …) AS c
        """
        text = render(node)
        if text not in self.names:
            self.names[text] = column_of_subquery(text, self.names.values())
            self.item.this.append("expressions", exp.alias_(node.copy(), self.names[text], quoted=True))
        return exp.column(self.names[text], self.item.alias, quoted=True)


_CLAUSES = frozenset({"expressions", "from_", "joins", "where", "group", "having"})
"""The parts that a subquery may have."""


def decorrelate(select: exp.Select, ctes: Ctes, policy: Policy, *, of_rows: bool) -> list[exp.Expr]:
    """Change a SELECT, and return what has come into its FROM.

    In a SELECT that reads no private rows only the subqueries with released values change: PostgreSQL runs the others itself.
    """
    put_lists_below(select, ctes, policy)
    work = _Select(select, ctes, policy, of_rows)
    for part in _parts(select):
        for query in list(queries_below(part)):
            work.replace(query)
    return [joined.item for joined in work.made.values()]


def _parts(select: exp.Select) -> list[exp.Expr]:
    """Return where a subquery is about rows, and not about what is made of groups."""
    where, aggregates = select.args.get("where"), aggregates_of(select)
    if not (aggregates or select.args.get("group") or select.args.get("distinct")):
        order = select.args.get("order")
        return [part for part in (where, *select.expressions, order) if part is not None]
    keys = grouping_in(select, aggregates).keys
    places = [*select.expressions, select.args.get("having"), select.args.get("order")]
    calls = [call for place in places if place is not None for call in top_aggregates(place)]
    shown = keys_with_queries([place for place in places if place is not None], keys)
    group = select.args.get("group")
    return [*([where] if where else []), *calls, *keys, *shown, *(group.expressions if group else ())]


@dataclass(slots=True)
class _Select:
    select: exp.Select
    ctes: Ctes
    policy: Policy
    of_rows: bool
    made: dict[str, JoinedSubquery] = field(default_factory=dict)
    """Joined subqueries, by the words of what each stands for."""

    def replace(self, query: exp.Expr) -> None:
        """Put one subquery into FROM, where that is known to mean the same."""
        query = as_list(query, self._is_test)
        value = _with_public(query) if self.of_rows else query
        holder = query.parent if isinstance(query.parent, (exp.Exists, exp.In)) else value
        if holder is None or holder.parent is None:
            return
        new = self._instead(query, holder)
        if new is None:
            return
        if isinstance(holder.parent, exp.Select):  # an output without a name has that of the subquery
            new = exp.alias_(new, output_name(holder), quoted=True)
        holder.replace(new)

    def _instead(self, query: exp.Expr, holder: exp.Expr) -> exp.Expr | None:
        inner: exp.Expr = query
        while isinstance(inner, exp.Subquery) and not inner.args.get("alias"):
            inner = inner.this
        if isinstance(inner, exp.Select) and inner.args.get("limit") and (self.of_rows or inner.args.get("group")):
            return self._first(inner, query, holder)
        if not isinstance(inner, exp.Select) or any(v for k, v in inner.args.items() if k not in _CLAUSES):
            return None
        width = len(holder.this.expressions) if isinstance(holder, exp.In) and isinstance(holder.this, exp.Tuple) else 1
        if inner.args.get("from_") is None or (len(inner.expressions) != width and not isinstance(holder, exp.Exists)):
            return None
        parts = split_correlation(inner, self.select, self.ctes, self.policy)
        if parts is None or not (self.of_rows or (parts.private and holder is query)):
            return None
        match holder:
            case exp.Exists():
                return self._exists(inner, parts, holder)
            case exp.In():
                return self._among(inner, parts, holder)
            case _:
                output = inner.expressions[0].unalias()
                return self._value(inner, parts, output if holder is query else _around(holder, output))

    def _first(self, inner: exp.Select, query: exp.Expr, holder: exp.Expr) -> exp.Expr | None:
        """Return what stands for one value of the first of a row's own rows."""
        if isinstance(holder, (exp.Exists, exp.In)) or not reads_rows(inner, self.ctes, self.policy):
            return None
        text = render(inner)
        if text not in self.made:
            self._without_commas()
            item = first_beside(self.select, inner, self._name(), self.ctes, self.policy)
            if item is None:
                return None
            self.made[text] = JoinedSubquery(item)
        column = exp.column(output_name(inner.expressions[0]), self.made[text].item.alias, quoted=True)
        return column if holder is query else _around(holder, column)

    def _exists(self, inner: exp.Select, parts: CorrelatedQuery, holder: exp.Exists) -> exp.Expr | None:
        if not parts.pairs or (self._is_test(holder) and not inner.args.get("group")):
            return None  # which is followed unchanged
        if aggregates_of(inner) and not inner.args.get("group"):
            return None  # there is a row always
        if not parts.private:
            return _in_list(inner, parts)
        keys = [inside for inside, _ in parts.pairs]
        if not self._by_unit(inner, keys) or not _groups_only_by(inner, keys):
            return None
        return has_value(self._join(inner, parts, ())[0])

    def _among(self, inner: exp.Select, parts: CorrelatedQuery, holder: exp.In) -> exp.Expr | None:
        """Return what stands for `x IN (…)` of individuals: of them none is NULL.

        In `(x, y) IN (SELECT unit, max(y) …)` the group that has the unit has the value, too.
        """
        outs, plain = [output.unalias() for output in inner.expressions], not inner.args.get("group")
        lefts = holder.this.expressions if isinstance(holder.this, exp.Tuple) else [holder.this]
        place = next(
            (i for i, out in enumerate(outs) if isinstance(out, exp.Column) and self._by_unit(inner, [out])), None
        )
        if parts.pairs or not parts.private or (self._is_test(holder) and plain) or place is None:
            return None
        outer = any(join.args.get("side") for join in self.select.args.get("joins") or ())  # which make units NULL
        if (outer and not self._drops_null(holder)) or every(holder.this, exp.Query):
            return None
        out, left = outs.pop(place), [*lefts].pop(place)
        others = [other for i, other in enumerate(lefts) if i != place]
        calls = {render(call): call for value in outs for call in top_aggregates(value)}
        if (
            not _groups_only_by(inner, [out])
            or any(has_columns_outside(value, [*calls.values()]) for value in outs)
            or (outs and plain)
        ):
            return None
        key, columns = self._join(inner, CorrelatedQuery(((out, left),), parts.own, private=True), [*calls.values()])
        values = dict(zip(calls, columns, strict=True))
        equal = [
            exp.EQ(this=exp.Paren(this=with_values(v.copy(), values)), expression=o.copy())
            for v, o in zip(outs, others, strict=True)
        ]
        return exp.Paren(this=exp.and_(has_value(key), *equal, copy=False)) if equal else has_value(key)

    def _value(self, inner: exp.Select, parts: CorrelatedQuery, output: exp.Expr) -> exp.Expr | None:
        """Return what stands for one value: aggregates, or what is looked up by a public table's key.

        With a GROUP BY of what is equal in all rows, as Django writes it, there is no value of no rows, and so no 0.
        """
        keys, grouped = [inside for inside, _ in parts.pairs], inner.args.get("group") is not None
        if not keys or inner.args.get("having") or (grouped and not _groups_by_some_of(inner, keys)):
            return None
        if any(holds(part, exp.Window) for part in inner.expressions):
            return None  # it sees the one row that there is, and would see the groups of all
        calls = aggregates_of(inner)
        if not calls:
            return None if grouped else self._looked_up(inner, parts, output)
        if has_columns_outside(output, calls):
            return None
        if not self._by_unit(inner, keys):
            # It is computed where it is released: here, what is released has no bounds.
            key, (column,) = self._join(inner, parts, (output,))
            return (
                column if grouped or is_null_of_nothing(output, calls) else _or_of_nothing(key, column, output, calls)
            )
        _, columns = self._join(inner, parts, calls)
        values = {
            render(call): column if grouped else value_of(column, call)
            for column, call in zip(columns, calls, strict=True)
        }
        return exp.Paren(this=with_values(output.copy(), values))

    def _looked_up(self, inner: exp.Select, parts: CorrelatedQuery, output: exp.Expr) -> exp.Expr | None:
        item, *others = from_items(inner)
        # A name with a schema is a table's, also where there is a CTE of that name.
        is_table = isinstance(item, exp.Table) and (bool(item.args.get("db")) or fold(item.this) not in self.ctes)
        table = self.policy.tables.get(fold(item.this)) if is_table else None
        (inside, _), *more = parts.pairs
        plain = isinstance(inside, exp.Column) and table is not None and fold(inside.this) == table.key
        if parts.private or more or others or not plain:
            return None
        return self._join(inner, parts, (output,), grouped=False)[1][0]

    def _join(
        self, inner: exp.Select, parts: CorrelatedQuery, values: Sequence[exp.Expr], *, grouped: bool = True
    ) -> tuple[exp.Column, list[exp.Column]]:
        """Put the groups of a subquery's rows into FROM, once; return the first of their keys there, and their values."""
        table, keys = inner.copy(), [inside for inside, _ in parts.pairs]
        table.set("expressions", [key.copy() for key in keys])
        table.set("where", parts.where())
        if grouped:
            table.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        text = " = ".join(map(render, (table, *(outside for _, outside in parts.pairs))))
        joined = self.made.get(text)
        if joined is None:
            table.set("expressions", [])
            name = exp.TableAlias(this=exp.to_identifier(self._name(), quoted=True))
            joined = self.made[text] = JoinedSubquery(exp.Subquery(this=table, alias=name))
            on = [exp.EQ(this=joined.column(inside), expression=outside.copy()) for inside, outside in parts.pairs]
            self._without_commas()
            self.select.append("joins", exp.Join(this=joined.item, side="LEFT", on=exp.and_(*on, copy=False)))
        return joined.column(keys[0]), [joined.column(value) for value in values]

    def _name(self) -> str:
        return fresh("subquery", tables_in_from(self.select))

    def _without_commas(self) -> None:
        for join in self.select.args.get("joins") or ():
            if not any(join.args.get(key) for key in ("side", "kind", "on", "using")):
                join.set("kind", "CROSS")  # a comma would bind less

    def _drops_null(self, holder: exp.Expr) -> bool:
        """Return whether a condition is one that rows must satisfy, to which NULL is as good as FALSE."""
        where = self.select.args.get("where")
        return where is not None and any(part is holder for part in conjuncts_of(where.this))

    def _is_test(self, holder: exp.Expr) -> bool:
        where = self.select.args.get("where")
        tests = existences(where.this)[1] if where is not None else ()
        return any(node is holder for test in tests for node in (test.node, *_under_not(test.node)))

    def _by_unit(self, inner: exp.Select, keys: Sequence[exp.Expr]) -> bool:
        return groups_by_unit(inner, keys, self.ctes, self.policy)


def _under_not(node: exp.Expr) -> Iterator[exp.Expr]:
    while isinstance(node, (exp.Not, exp.Paren)):
        node = node.this
        yield node


def _groups_only_by(inner: exp.Select, keys: Sequence[exp.Expr]) -> bool:
    group = inner.args.get("group")
    texts = {render(key) for key in keys} | {"1"}
    return group is None or all(render(element) in texts for element in group.expressions)


def _groups_by_some_of(inner: exp.Select, keys: Sequence[exp.Expr]) -> bool:
    """Return whether GROUP BY has some of these columns, and nothing else."""
    group = inner.args["group"]
    plain = bool(group.expressions) and not any(value for name, value in group.args.items() if name != "expressions")
    return plain and {render(element) for element in group.expressions} <= {render(key) for key in keys}


def _or_of_nothing(key: exp.Expr, value: exp.Expr, output: exp.Expr, calls: Sequence[exp.Expr]) -> exp.Expr:
    """Return the value of a group, and where there is none what its counts of 0 come to."""
    of_none = {render(call): exp.Literal.number(0) if is_count(call) else exp.Null() for call in calls}
    there = exp.If(this=has_value(key), true=value)
    return exp.Case(ifs=[there], default=with_values(exp.Paren(this=output.copy()), of_none), **{OF_NOBODY: "value"})


def _with_public(query: exp.Expr) -> exp.Expr:
    """Return a query with the arithmetic around it that depends on no row, unless another query is in that."""
    node, whole = query, with_all_public(query)
    while node is not whole and isinstance(node.parent, STRICT):
        node = node.parent
    return node if len(every(node, exp.Query, below=False)) == 1 else query


def _around(holder: exp.Expr, output: exp.Expr) -> exp.Expr:
    """Return what stands around a query, with what it puts out in its place."""
    made = holder.copy()
    every(made, exp.Query, below=False)[0].replace(exp.Paren(this=output.copy()))
    return made


def _in_list(inner: exp.Select, parts: CorrelatedQuery) -> exp.Expr | None:
    """Return that a value is among a public list; what is NULL is in none."""
    (inside, outside), *more = parts.pairs
    if more or inner.args.get("group") or inner.args.get("having"):
        return None
    query = inner.copy()
    query.set("expressions", [inside.copy()])
    query.set("where", parts.where())
    among = exp.In(this=outside.copy(), query=exp.Subquery(this=query))
    return exp.Anonymous(this="coalesce", expressions=[among, exp.false()])
