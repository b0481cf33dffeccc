"""Outer joins that keep public rows, in words that are followed.

FROM trips RIGHT JOIN zones ON c                    →  FROM zones LEFT JOIN trips ON c
FROM zones LEFT JOIN trips ON c WHERE fare > 5      →  FROM zones JOIN trips ON c WHERE fare > 5
riders JOIN (SELECT r.rider, count(*) FROM trips LEFT JOIN riders r ON c GROUP BY r.rider) s ON s.rider = riders.rider
→  riders JOIN (SELECT r.rider, count(*) FROM trips JOIN riders r ON c GROUP BY r.rider) s ON s.rider = riders.rider

Claim: each has the rows that it had. The first is a definition; a row without a partner is NULL in all that is the partner's,
of which no comparison holds; in the third all such rows are in groups that are NULL in what is compared. FULL JOIN of private
rows is below.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import OfferedTables, reads_rows
from dpsql.rewrite.syntax.forms.listed_values import (
    alias_all,
    columns_of,
    grouping_alone,
    numbered_names,
    read_instead,
    subquery,
    with_answers,
)
from dpsql.rewrite.syntax.named.aggregate_names import (
    OF_AGGREGATES,
    aggregates_of,
    function_name,
    is_count,
    queries_below,
    queries_inside,
    top_aggregates,
)
from dpsql.rewrite.syntax.named.columns import (
    Ctes,
    columns_read_of,
    fold,
    fresh,
    from_items,
    item_name,
    output_name,
    tables_in_from,
)
from dpsql.rewrite.syntax.named.existence import conjuncts_of
from dpsql.rewrite.syntax.named.grouping import Grouping, grouping_of
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import OF_NOBODY, every, holds

_OF_GROUPS = frozenset({"expressions", "from_", "joins", "where", "group", "having", "kind"})


def lead_with_private_rows(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change the outer joins of a SELECT to such as are followed; what can't be changed stays."""
    joins, from_ = select.args.get("joins") or [], select.args.get("from_")
    if from_ is None or from_.this.args.get("joins") or not joins or any(join.args.get("using") for join in joins):
        return
    first, side = joins[0], _side(joins[0])
    ours, theirs = (_is_private(item, ctes, policy) for item in (from_.this, first.this))
    if len(joins) == 1 and side == "RIGHT" and ours and not theirs:
        left, right = from_.this, first.this
        from_.set("this", right.copy())
        first.set("this", left.copy())
        first.set("side", "LEFT")
        ours, theirs, side = theirs, ours, "LEFT"
    if len(joins) == 1 and side == "LEFT" and theirs and not ours and _are_needed(select, first.this):
        first.set("side", None)
        first.set("kind", None)


def inner_joins_for_partners(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change LEFT JOIN to JOIN in subqueries of groups that are joined by a column of the partner."""
    for join in select.args.get("joins") or []:
        query = join.this.this if isinstance(join.this, exp.Subquery) else None
        if _side(join) in {"", "LEFT"} and isinstance(query, exp.Select) and _is_private(join.this, ctes, policy):
            theirs = _compared_keys(query, join)
            inside = query.args.get("joins") or [] if theirs else []
            if all(_side(inner) in {"", "LEFT"} for inner in inside):
                for inner in inside:
                    if item_name(inner.this) in theirs:
                        inner.set("side", None)
                        inner.set("kind", None)


def _compared_keys(query: exp.Select, join: exp.Join) -> Collection[str]:
    """Return the tables of whose columns a subquery has groups, and its join compares them."""
    on, alias = join.args.get("on"), join.this.args.get("alias")
    plain = query.args.get("group") is not None and not any(
        value and key not in _OF_GROUPS for key, value in query.args.items()
    )
    if not plain or on is None or alias is None or alias.args.get("columns") or holds(query, exp.Window):
        return ()
    keys = {render(key) for key in query.args["group"].expressions}
    outputs = {output_name(output): output.unalias() for output in query.expressions}
    compared = [side for part in conjuncts_of(on) if isinstance(part, exp.EQ) for side in part.iter_expressions()]
    own = [
        side for side in compared if isinstance(side, exp.Column) and fold(side.args.get("table")) == fold(alias.this)
    ]
    values = [value for side in own if isinstance(value := outputs.get(fold(side.this)), exp.Column)]
    return {fold(value.args.get("table")) for value in values if render(value) in keys}


def _side(join: exp.Join) -> str:
    return str(join.args.get("side") or "").upper()


def _is_private(item: exp.Expr, ctes: Ctes, policy: Policy) -> bool:
    return reads_rows(exp.Select(from_=exp.From(this=item.copy())), ctes, policy)


def _are_needed(select: exp.Select, item: exp.Expr) -> bool:
    """Return whether WHERE keeps no row that has none of an element of FROM."""
    where = select.args.get("where")
    theirs = OfferedTables.of(exp.Select(from_=exp.From(this=item.copy())))
    return where is not None and any(is_never_true(part, theirs) for part in conjuncts_of(where.this))


# The value of an expression for a row that LEFT JOIN has found no partner for: all columns of the joined table are NULL.
#
# coalesce(t.fare, 0)                        →  0
# CASE WHEN t.paid = 'card' THEN 1 ELSE 0 END →  0
# CASE WHEN t.fare IS NOT NULL THEN 0 ELSE 1 END  →  1
# t.fare * 2                                 →  NULL
# z.size * t.fare, t.fare IS NOT DISTINCT FROM z.size  →  not known

Known = Fraction | str | bool | None
"""A value that follows; None is NULL."""

_STRICT_CALLS = (
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Cast, exp.Distinct, exp.Not),
    *(exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.Like, exp.ILike),
)
"""What is NULL where a part of it is."""


_STRICT_FUNCTIONS = frozenset(
    """abs btrim ceil ceiling date_part date_trunc exp extract floor initcap left length ln lower ltrim mod power replace
    right round rtrim sign split_part sqrt substr substring timezone to_char trunc upper""".split()
)
"""PostgreSQL's that are NULL where an argument is: `proisstrict` in its catalogue."""


class Unknown(Enum):
    """What does not follow."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN


def value_of_missing(node: exp.Expr, missing: OfferedTables) -> Known | Unknown:
    """Return what an expression is where the columns of some tables are NULL."""
    match node:
        case exp.Paren():
            return value_of_missing(node.this, missing)
        case exp.Column():
            return None if missing.has(node) else UNKNOWN
        case exp.Literal():
            return str(node.this) if node.is_string else Fraction(str(node.this))
        case exp.Boolean():
            return bool(node.this)
        case exp.Null():
            return None
        case exp.Anonymous() if function_name(node) == "coalesce":
            given = (value_of_missing(part, missing) for part in node.expressions)
            return next((value for value in given if value is not None), None)
        case exp.Anonymous() if function_name(node) in _STRICT_FUNCTIONS:
            return None if any(value_of_missing(part, missing) is None for part in node.expressions) else UNKNOWN
        case exp.Case() if node.this is None:
            return _of_case(node, missing)
        case exp.Is() if isinstance(node.expression, exp.Null):
            value = value_of_missing(node.this, missing)
            return value if value is UNKNOWN else (value is None) is not bool(node.args.get("negate"))
        case exp.And() | exp.Or():
            values = [value_of_missing(side, missing) for side in (node.this, node.expression)]
            deciding = isinstance(node, exp.Or)
            return (
                deciding
                if deciding in values
                else UNKNOWN
                if UNKNOWN in values
                else None
                if None in values
                else not deciding
            )
        case exp.Between() | exp.In() if not node.args.get("query"):
            return None if value_of_missing(node.this, missing) is None else UNKNOWN
        case _ if isinstance(node, _STRICT_CALLS):
            return _of_strict(node, missing)
        case _:
            return UNKNOWN


def is_never_true(condition: exp.Expr, missing: OfferedTables) -> bool:
    """Return whether a condition is not true where the columns of some tables are NULL."""
    plain = condition.unnest()
    if isinstance(plain.args.get("expression"), exp.Any):  # false of no values at all, and NULL of others
        return value_of_missing(plain.this, missing) is None
    return value_of_missing(plain, missing) in (None, False)


def _of_case(node: exp.Case, missing: OfferedTables) -> Known | Unknown:
    for branch in node.args["ifs"]:
        holds = value_of_missing(branch.this, missing)
        if holds is UNKNOWN:
            return UNKNOWN
        if holds is True:
            return value_of_missing(branch.args["true"], missing)
    default = node.args.get("default")
    return None if default is None else value_of_missing(default, missing)


def _of_strict(node: exp.Expr, missing: OfferedTables) -> Known | Unknown:
    parts = [part for part in (node.this, node.args.get("expression"), *node.expressions) if isinstance(part, exp.Expr)]
    if any(isinstance(part, (exp.All, exp.Any)) or str(part.this).upper() in {"ALL", "ANY"} for part in parts):
        return UNKNOWN  # of no values at all it is true, or false, for any value that is compared with them
    values = [value_of_missing(part, missing) for part in parts]
    if None in values:
        return None
    number = isinstance(node, exp.Cast) and isinstance(values[0], Fraction)
    return values[0] if number and not node.args["to"].expressions else UNKNOWN


# What LEFT JOIN joins and has a join in it, or computed columns: joined table by table, and computed outside.
#
# trips t LEFT JOIN (
#   SELECT r.rider, z.borough AS home, date_trunc('day', r.joined_at) AS day
#   FROM riders r LEFT JOIN zones z ON z.zone = r.home_zone) AS s ON s.rider = t.rider
# →  trips t LEFT JOIN riders r ON r.rider = t.rider LEFT JOIN zones z ON z.zone = r.home_zone
#    with z.borough for s.home and date_trunc('day', r.joined_at) for s.day
#
# Claim: the same rows. Where t finds an r, both join the same z to it. Where it finds none, no z is joined, since a condition
# that compares something of r is not true of NULL; and each column of s is NULL: what is computed of r and z is by itself, or
# coalesce(r.age, 0) is written as CASE WHEN r.rider IS NOT NULL THEN coalesce(r.age, 0) END, where r.rider is what is equal.

_FLAT = frozenset({"expressions", "from_", "joins", "where", "kind"})


def flatten_left_joins(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Put the tables of subqueries that a SELECT joins by LEFT JOIN beside its own; what can't be put there stays."""
    joins = select.args.get("joins") or []
    if any(join.args.get("using") or not _is_left_or_inner(join) for join in joins):
        return
    place = 0
    while place < len(joins):
        join = joins[place]
        query = _query_of(join.this, ctes) if _is_left(join) else None
        if (
            query is None
            or not _joins_rows(select, place, ctes, policy)
            or not _put_tables_beside(select, place, query)
        ):
            place += 1
        joins = select.args["joins"]


def _is_left(join: exp.Join) -> bool:
    return str(join.args.get("side") or "").upper() == "LEFT"


def _is_left_or_inner(join: exp.Join) -> bool:
    return str(join.args.get("side") or "").upper() in {"", "LEFT"}


def _joins_rows(select: exp.Select, place: int, ctes: Ctes, policy: Policy) -> bool:
    """Return whether private rows are joined to private ones: public tables are PostgreSQL's, or an answer beside them."""
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
    if not isinstance(query, exp.Select) or any(v and k not in _FLAT for k, v in query.args.items()):
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
    first, own = OfferedTables(frozenset({item_name(items[0])})), OfferedTables.of(query)
    if any(own.outer(expr) for expr in inside) or any(item.args.get("joins") for item in items):
        return False
    where = query.args.get("where")
    if joins and where is not None and first.outer(where):
        return False
    before = set(first.tables)
    for item, join in zip(items[1:], joins, strict=True):
        if not any(is_never_true(part, OfferedTables(frozenset(before))) for part in conjuncts_of(join.args["on"])):
            return False
        before.add(item_name(item))
    return True


def _put_tables_beside(select: exp.Select, place: int, query: exp.Select) -> bool:
    """Put the tables of a subquery in the place of its join; return whether that was done."""
    join = select.args["joins"][place]
    name, query = item_name(join.this), query.copy()
    outputs = {output_name(output): output.unalias() for output in query.expressions}
    read = list(columns_read_of(select, name))
    if any(fold(column.this) not in outputs for column in read) or _is_named_again(select, name):
        return False
    _name_apart(query, tables_in_from(select))
    outputs = {output_name(output): output.unalias() for output in query.expressions}
    missing, partner = OfferedTables.of(query), _compared(join.args.get("on"), name, outputs)
    if partner is None and any(value_of_missing(outputs[fold(column.this)], missing) is not None for column in read):
        return False
    shown = {id(output) for output in select.expressions}
    for column in read:
        if id(column) in shown:
            column = _with_its_name(column)  # noqa: PLW2901  (an output keeps its name)
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


def _with_its_name(output: exp.Column) -> exp.Column:
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


# Columns that a group key determines, which PostgreSQL lets stand beside it: further keys that make no more groups.
#
#     SELECT zones.zone, count(*) FROM trips JOIN zones ON … GROUP BY zones.zone_id
#     →  … GROUP BY zones.zone_id, zones.zone
#
# They are those of a table whose declared key is grouped by, all of its columns. A key is unique, so each group has one
# value of each; where the engine's table has several nevertheless, the measured groups are those that are then written:
# groups by all of them.

Named = tuple[str, str]
"""The table in FROM and the name of a column."""


def determined_columns(
    select: exp.Select, grouping: Grouping, ctes: Mapping[str, exp.CTE], policy: Policy
) -> Sequence[exp.Column]:
    """Return the columns beside the aggregates of a SELECT that its keys determine, each once."""
    if not grouping.keys or not grouping.plain or select.args.get("group") is None:
        return ()
    keys = {_name_of(key) for key in grouping.keys if isinstance(key, exp.Column)}
    unique = {item_name(item): _key(item, ctes, policy) for item in from_items(select) if isinstance(item, exp.Table)}
    whole = {alias for alias, key in unique.items() if key and keys >= {(alias, name) for name in key}}
    if not whole:
        return ()
    beside = [column for place in _places(select) for column in _outside_aggregates(place)]
    by_name = {_name_of(column): column for column in reversed(beside)}
    return [column for name, column in by_name.items() if name[0] in whole and name not in keys]


def _places(select: exp.Select) -> list[exp.Expr]:
    places = [*select.expressions, *(select.args.get(key) for key in ("having", "order", "distinct"))]
    return [place for place in (*places, *(select.args.get("windows") or ())) if place is not None]


def _outside_aggregates(place: exp.Expr) -> Iterator[exp.Column]:
    calls = {id(call) for call in top_aggregates(place)}
    pending = [place]
    while pending:
        node = pending.pop()
        if isinstance(node, exp.Column):
            yield node
        elif id(node) not in calls and not isinstance(node, exp.Query):
            pending += node.iter_expressions()


def _name_of(column: exp.Column) -> Named:
    return fold(column.args.get("table")), fold(column.this)


def _key(item: exp.Table, ctes: Mapping[str, exp.CTE], policy: Policy) -> frozenset[str]:
    """Return the columns of the key of the policy's table that an element of FROM is, none if it has none."""
    alias, name = item.args.get("alias"), fold(item.this)
    renamed = isinstance(alias, exp.TableAlias) and alias.args.get("columns")
    table = None if renamed or (name in ctes and not item.args.get("db")) else policy.tables.get(name)
    return frozenset[str]().union(*table.keys) if table is not None else frozenset()


# Public rows with what is joined to them of private ones, and groups of which a subquery asks: an answer beside public rows.
#
# SELECT d, count(t.fare) FROM days LEFT JOIN trips t ON t.day = d GROUP BY d
# →  SELECT p.d, coalesce(a.n, 0) FROM (SELECT DISTINCT d FROM days) AS p
#    LEFT JOIN (SELECT d, count(t.fare) AS n FROM days JOIN trips t ON t.day = d GROUP BY d) AS a
#    ON a.d IS NOT DISTINCT FROM p.d
# SELECT paid, count(*), (SELECT avg(fare) FROM rides s WHERE s.paid = r.paid) FROM rides r GROUP BY paid
# →  SELECT g.paid, g.n, (SELECT avg(fare) FROM rides s WHERE s.paid = g.paid)
#    FROM (SELECT paid, count(*) AS n FROM rides r GROUP BY paid) AS g
#
# Only aggregates to which a public row that finds none adds nothing, since what they aggregate is NULL then, or sums to which
# it adds 0: sum(coalesce(t.fare, 0)) is 0 of such rows alone. Claim: the inner query is measured, a join or a grouping like
# any other; PostgreSQL does the rest with the release.

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
    keys = (*grouping.keys, *determined_columns(select, grouping, ctes, policy))
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
    ours = OfferedTables.of(holders[-1])
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
    rows = exp.Select(expressions=alias_all(keys), from_=select.args["from_"].copy(), distinct=exp.Distinct())
    rows.set("joins", [earlier.copy() for earlier in joins[:-1]])
    rows.set("where", where.copy() if where is not None else None)
    on = [
        exp.NullSafeEQ(this=exp.column(name, "counted", quoted=True), expression=exp.column(name, "rows", quoted=True))
        for name in numbered_names(len(keys), "key")
    ]
    values = dict(zip(map(render, keys), columns_of(len(keys), "key", "rows"), strict=True))
    for (call, is_zero), column in zip(calls, columns_of(len(calls), "value", "counted"), strict=True):
        zero = [column, exp.Literal.number(0)]
        values[render(call)] = exp.Anonymous(this="coalesce", expressions=zero) if is_zero else column
    join = exp.Join(this=subquery(table, "counted"), side="LEFT", on=exp.and_(*on, copy=False), **{OF_NOBODY: "line"})
    having = select.args.get("having")
    read_instead(select, values, subquery(rows, "rows"), [join])
    if having is not None:
        select.set("where", exp.Where(this=with_answers(having.this, values)))


def _of_missing(call: exp.Expr, ours: OfferedTables) -> str | None:
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
    from_ = select.args.get("from_")
    if from_ is None or not reads_rows(exp.Select(from_=from_.copy(), joins=select.args.get("joins")), ctes, policy):
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
    pairs, ours = list[tuple[exp.Column, int]](), OfferedTables.of(select)
    for output in select.expressions:
        for query in every(output, exp.Select):
            names = OfferedTables.of(query)
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


# FULL JOIN of private rows as two parts below each other: what each row of the left side has, and what is the right's alone.
#
# FROM a FULL JOIN b ON c  →  FROM (SELECT a.x, b.y FROM a LEFT JOIN b ON c
#                             UNION ALL SELECT NULL, b.y FROM b WHERE NOT EXISTS (SELECT 1 FROM a WHERE c)) AS j
#
# Claim: these are its rows: one of `a`, perhaps with one of `b`, or one of `b` that meets none of `a`. Where COALESCE(a.k,
# b.k) is read and c says a.k = b.k, that is a.k in the first part and b.k in the second.
#
# Nothing is decided about whose the rows are: `translate` sees to it that each part's are one unit's, as in any LEFT JOIN,
# NOT EXISTS and UNION ALL (`owners`, `unions`), and a unit has as many of them as in both parts together. So c has to say
# that both sides are one unit's, and a row of `b` is alone by what there is of its own unit.

_Place = tuple[str, str]
"""A column by its table and its name."""
_Value = tuple[_Place | None, _Place | None]
"""A value of the joined rows: its column on the left, and on the right; both of COALESCE."""


def is_full_join(select: exp.Select) -> bool:
    """Return whether the first two elements of FROM are joined so that all rows of both stay."""
    joins = select.args.get("joins") or []
    return bool(joins) and _side(joins[0]) == "FULL"


def as_two_parts(select: exp.Select, ctes: Ctes) -> bool:
    """Change such a SELECT to read both parts; return whether it is plain enough for that."""
    join, left, right = select.args["joins"][0], select.args["from_"].this, select.args["joins"][0].this
    sides = item_name(left), item_name(right)
    if join.args.get("using") and not any(other.args.get("using") for other in select.args["joins"][1:]):
        _say_on(select, join, sides)
    on, parts = join.args.get("on"), [*_outside(select)]
    if on is None or "" in sides or sides[0] == sides[1] or any(map(_side, select.args["joins"][1:])):
        return False
    if any(value and key not in _CLAUSES for key, value in select.args.items()) or holds(on, exp.Query):
        return False
    if any(holds(part, exp.Query) for part in parts):
        return False
    names = _rename(select, parts, _equated(on, sides), sides)
    alias = fresh("either", {fold(table.this) for table in every(select, exp.Table)} | {*sides} | {*ctes})
    for column in (each for part in _outside(select) for each in every(part, exp.Column)):
        if not column.args.get("table") and fold(column.this) in names.values():
            column.set("table", exp.to_identifier(alias, quoted=True))
    union = _union(left, right, on, names)
    made = exp.Subquery(this=union, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    select.set("from_", exp.From(this=made))
    select.set("joins", select.args["joins"][1:])
    return True


def _say_on(select: exp.Select, join: exp.Join, sides: tuple[str, str]) -> None:
    """Write USING (k) as ON a.k = b.k, and k as COALESCE(a.k, b.k): what has no table before it is such a column."""
    names = [fold(identifier) for identifier in join.args["using"]]
    pairs = {name: [exp.column(name, side, quoted=True) for side in sides] for name in names}
    join.set("using", None)
    join.set(
        "on",
        exp.and_(*(exp.EQ(this=left_column.copy(), expression=other.copy()) for left_column, other in pairs.values())),
    )
    for column in [each for part in _outside(select) for each in every(part, exp.Column)]:
        name = fold(column.this)
        if not column.args.get("table") and name in pairs:
            merged = exp.Anonymous(this="coalesce", expressions=[side.copy() for side in pairs[name]])
            is_output = isinstance(column.parent, exp.Select)
            column.replace(exp.alias_(merged, name, quoted=True) if is_output else merged)


def _union(left: exp.Expr, right: exp.Expr, on: exp.Expr, names: dict[_Value, str]) -> exp.Expr:
    """Return both parts, of all values that are read.

    Where a row of the right side has none of the left, that is of rows with a value in all that is read of them.
    """
    first = exp.Select(
        expressions=[_as(mine or theirs, name) for (mine, theirs), name in names.items()],
        from_=exp.From(this=left.copy()),
        joins=[exp.Join(this=right.copy(), side="LEFT", on=on.copy())],
    )
    second = exp.Select(
        expressions=[_as(theirs, name) for (_, theirs), name in names.items()], from_=exp.From(this=right.copy())
    )
    read = [mine for mine, _ in names if mine is not None]
    met = exp.Select(expressions=[exp.Literal.number(1)], from_=exp.From(this=left.copy()))
    met.set("where", exp.Where(this=exp.and_(exp.Paren(this=on.copy()), *map(_is_known, read), copy=False)))
    second.set("where", exp.Where(this=exp.Not(this=exp.Exists(this=met))))
    return exp.Union(this=first, expression=second, distinct=False)


def _outside(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield what reads the joined rows: all but FROM and what the two are joined by."""
    yield from select.expressions
    for clause in ("where", "group", "having", "order"):
        if (part := select.args.get(clause)) is not None:
            yield part
    yield from (join.args["on"] for join in select.args["joins"][1:] if join.args.get("on") is not None)


def _place(column: exp.Expr) -> _Place:
    return fold(column.args.get("table")), fold(column.this)


def _equated(on: exp.Expr, sides: tuple[str, str]) -> set[_Value]:
    """Return the columns of both sides that the condition says are equal."""
    pairs = set[_Value]()
    for part in conjuncts_of(on):
        columns = (part.this, part.expression) if isinstance(part, exp.EQ) else ()
        if columns and all(isinstance(column, exp.Column) for column in columns):
            places = {_place(column)[0]: _place(column) for column in columns}
            if places.keys() == {*sides}:
                pairs.add((places[sides[0]], places[sides[1]]))
    return pairs


def _rename(
    select: exp.Select, parts: Sequence[exp.Expr], equated: set[_Value], sides: tuple[str, str]
) -> dict[_Value, str]:
    """Put names in the places of all values that are read of the joined rows; return them by what they stand for."""
    names: dict[_Value, str] = {}

    def named(value: _Value) -> exp.Expr:
        text = " ".join(f"{place[0]} {place[1]}" for place in value if place is not None)
        return exp.column(names.setdefault(value, text), quoted=True)

    outputs = [output_name(output) for output in select.expressions]
    for part in parts:
        for call in every(part, exp.Func):
            if (value := _coalesced(call, sides)) in equated and value is not None:
                call.replace(named(value))
    for part in _outside(select):
        for column in [each for each in every(part, exp.Column) if each.args.get("table")]:
            if (place := _place(column))[0] in sides:
                column.replace(named((place, None) if place[0] == sides[0] else (None, place)))
    for item, name in zip([*select.expressions], outputs, strict=True):
        if not isinstance(item, exp.Alias):
            item.replace(exp.Alias(this=item.copy(), alias=exp.to_identifier(name, quoted=True)))
    return names


def _coalesced(call: exp.Expr, sides: tuple[str, str]) -> _Value | None:
    """Return the columns of which a call takes the one that is there, if there are two, of either side."""
    if isinstance(call, exp.Anonymous):
        args = call.expressions if str(call.this).lower() == "coalesce" else []
    else:
        args = [call.this, *call.expressions] if isinstance(call, exp.Coalesce) else []
    places = {_place(arg)[0]: _place(arg) for arg in args if isinstance(arg, exp.Column)}
    return (places[sides[0]], places[sides[1]]) if len(args) == 2 and places.keys() == {*sides} else None


def _column(place: _Place) -> exp.Expr:
    return exp.column(place[1], place[0], quoted=True)


def _as(place: _Place | None, name: str) -> exp.Expr:
    value = exp.Null() if place is None else _column(place)
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def _is_known(place: _Place) -> exp.Expr:
    """Return a condition that reads a column, and is true for all its values."""
    there = exp.Is(this=_column(place), expression=exp.Null())
    return exp.Paren(this=exp.Or(this=there, expression=exp.Not(this=there.copy())))
