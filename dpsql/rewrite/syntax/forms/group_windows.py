"""Windows beside groups: over everybody's rows of a key, which are groups in other words, and over groups of single units.

SELECT DISTINCT zone, count(*) OVER (PARTITION BY zone) FROM trips  →  SELECT zone, count(*) FROM trips GROUP BY zone
SELECT fare, avg(fare) OVER (PARTITION BY zone) AS a FROM trips t
→  SELECT fare, (SELECT avg(u.fare) FROM trips u WHERE u.zone = t.zone) AS a FROM trips t

In the first the keys have to be the windows' partition, all of it and no more: then each partition is one of the distinct
rows. In the second a window has no order and no frame, and its keys are never NULL, which would be a partition and equals
nothing. The subquery is an answer of its own, released before the rows are read.

SELECT rider, zone, row_number() OVER (PARTITION BY rider ORDER BY count(*) DESC) AS p FROM trips GROUP BY rider, zone
→  SELECT rider, zone, row_number() OVER (PARTITION BY rider ORDER BY "count(*)" DESC) AS p
   FROM (SELECT rider, zone, count(*) AS "count(*)" FROM trips GROUP BY rider, zone) AS "groups"

PostgreSQL groups before it looks at windows, and at DISTINCT ON, so that these are of the rows that groups make.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import reads_rows
from dpsql.rewrite.syntax.named.aggregate_names import (
    STATISTICS,
    aggregates_of,
    function_name,
    is_aggregate,
    put_windows_in_place,
)
from dpsql.rewrite.syntax.named.columns import (
    Ctes,
    columns_read_of,
    first_bytes,
    fold,
    fresh,
    from_items,
    item_name,
    output_name,
    tables_in_from,
)
from dpsql.rewrite.syntax.named.grouping import Set, grouping_in
from dpsql.rewrite.syntax.named.units import groups_by_unit
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every, holds

_PLAIN = frozenset({"this", "partition_by", "over"})
"""The parts of such a window: no order, no frame."""
_BELOW = ("from_", "joins", "where", "group", "having")
"""The clauses that say which groups there are."""
_GROUPS = "groups"
_LONGEST = 56
"""Bytes of a text in a name: PostgreSQL cuts off what is longer than 63, and two with the same beginning would be one."""
_ROWS = frozenset({"expressions", "from_", "joins", "where", "with_", "windows"})
"""The clauses of a SELECT whose rows are those of its FROM."""


def put_groups_in_place(select: exp.Select) -> None:
    """Change a SELECT DISTINCT of that form; any other stays."""
    distinct = select.args.get("distinct")
    others = any(select.args.get(key) for key in ("group", "having", "qualify"))
    if distinct is None or distinct.args.get("on") or others or not holds(select, exp.Window):
        return
    put_windows_in_place(select)
    outputs = [output.unalias() for output in select.expressions]
    keys = {render(output): output for output in outputs if not holds(output, exp.Window)}
    places = [*outputs, *([select.args["order"]] if select.args.get("order") else [])]
    windows = [window for place in places for window in every(place, exp.Window)]
    if not keys or select.args.get("windows") or not all(_is_of(window, frozenset(keys)) for window in windows):
        return
    select.set("group", exp.Group(expressions=[key.copy() for key in keys.values()]))
    select.set("distinct", None)
    for window in windows:
        window.replace(window.this)


def _is_of(window: exp.Window, keys: frozenset[str]) -> bool:
    """Return whether a window aggregates the rows with the same values in these keys, and no fewer."""
    partition = {render(key) for key in window.args.get("partition_by") or ()}
    return partition == keys and _is_plain(window)


def _is_plain(window: exp.Window) -> bool:
    return is_aggregate(window.this) and not any(value and key not in _PLAIN for key, value in window.args.items())


def put_groups_below(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Put what groups by a unit below the windows, or DISTINCT ON, of the same SELECT; any other stays."""
    distinct = select.args.get("distinct")
    first_only = distinct is not None and distinct.args.get("on") is not None
    if not select.args.get("group") or not (
        first_only or any(holds(output, exp.Window) for output in select.expressions)
    ):
        return
    calls = aggregates_of(select)
    grouping = grouping_in(select, calls)
    outside = [*select.expressions, *(part for key in ("distinct", "order") if (part := select.args.get(key)))]
    if not grouping.plain or any(holds(part, exp.Query) for part in outside):
        return
    put_windows_in_place(select)
    if select.args.get("windows") or not groups_by_unit(select, grouping.keys, ctes, policy):
        return
    names = names_for((*grouping.keys, *calls))
    below = exp.Select(**{key: select.args.get(key) for key in _BELOW})
    below.set(
        "expressions", [exp.alias_(part.copy(), names[render(part)], quoted=True) for part in (*grouping.keys, *calls)]
    )
    outputs = [output_name(output) for output in select.expressions]
    kinds = frozenset(type(part) for part in (*grouping.keys, *calls))
    for part in outside:
        columns_for(part, names, kinds, _GROUPS)
    for output, name in zip(select.expressions, outputs, strict=True):
        if not isinstance(output, exp.Alias):
            output.replace(exp.alias_(output.copy(), name, quoted=True))
    for key in _BELOW:
        select.set(key, None)
    alias = exp.TableAlias(this=exp.to_identifier(_GROUPS, quoted=True))
    select.set("from_", exp.From(this=exp.Subquery(this=below, alias=alias)))


def names_for(parts: Sequence[exp.Expr]) -> dict[str, str]:
    """Return names of columns for what groups have, by its text: that itself, as messages show it, or its beginning."""
    names: dict[str, str] = {}
    for part in parts:
        text = render(part)
        names.setdefault(text, fresh(first_bytes(text, _LONGEST), names.values()))
    return names


def columns_for(node: exp.Expr, names: Mapping[str, str], kinds: frozenset[type], table: str) -> None:
    """Write the columns of a table in the places of keys and aggregates, which are of these kinds of node."""
    name = names.get(render(node)) if type(node) in kinds else None
    if name is not None:
        node.replace(exp.column(name, table, quoted=True))
        return
    for child in list(node.iter_expressions()):
        columns_for(child, names, kinds, table)


def ask_for_groups(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Put a subquery instead of each window over everybody's rows, in a SELECT of private rows."""
    if any(value and key not in _ROWS for key, value in select.args.items()) or not holds(select, exp.Window):
        return
    where = select.args.get("where")
    if aggregates_of(select) or (where and holds(where, exp.Query)) or not reads_rows(select, ctes, policy):
        return
    put_windows_in_place(select)
    for window in [window for output in select.expressions for window in every(output, exp.Window)]:
        keys: Sequence[exp.Expr] = window.args.get("partition_by") or ()
        # PARTITION BY takes NULL for one group; the equation that ties the subquery to its row is never true of NULL.
        never_null = all(_is_never_null(key, select, ctes, policy) for key in keys)
        if never_null and _is_plain(window) and not groups_by_unit(select, keys, ctes, policy):
            window.replace(exp.Subquery(this=_of_partition(select, window, keys)))


def _is_never_null(key: exp.Expr, select: exp.Select, ctes: Ctes, policy: Policy) -> bool:
    """Return whether a key is a column that is declared so, of a table whose rows are all there."""
    if not isinstance(key, exp.Column) or any(join.args.get("side") for join in select.args.get("joins") or ()):
        return False
    item = next((each for each in from_items(select) if item_name(each) == fold(key.args.get("table"))), None)
    alias = item.args.get("alias") if item is not None else None
    of_cte = isinstance(item, exp.Table) and fold(item.this) in ctes and not item.args.get("db")
    if not isinstance(item, exp.Table) or of_cte or (alias and alias.args.get("columns")):
        return False
    table = policy.tables.get(fold(item.this))
    column = None if table is None else table.columns.get(fold(key.this))
    return column is not None and not column.nullable


def _of_partition(select: exp.Select, window: exp.Window, keys: Sequence[exp.Expr]) -> exp.Select:
    """Return the query for what a window says of a row: of the same rows by other names, those with the row's keys."""
    names = {name: fresh(name, tables_in_from(select)) for name in tables_in_from(select)}
    query = exp.Select(**{key: select.args.get(key) for key in ("from_", "joins", "where")}).copy()
    query.set("expressions", [window.this.copy(), *(key.copy() for key in keys)])
    for item in from_items(query):
        name = exp.to_identifier(names[item_name(item)], quoted=True)
        alias = item.args.get("alias")
        item.set("alias", exp.TableAlias(this=name, columns=alias.args.get("columns") if alias else None))
    for table, new in names.items():
        for column in list(columns_read_of(query, table)):
            column.set("table", exp.to_identifier(new, quoted=True))
    call, *own = query.expressions
    query.set("expressions", [call])
    ties = [exp.EQ(this=mine, expression=theirs.copy()) for mine, theirs in zip(own, keys, strict=True)]
    return query.where(*ties, copy=False) if ties else query


# Windows that are said by others, where private rows are read; and DISTINCT of rows with windows, which comes after them.
#
# percent_rank() OVER (PARTITION BY u ORDER BY x)
# →  CASE WHEN count(*) OVER (PARTITION BY u) > 1
#    THEN CAST(rank() OVER (PARTITION BY u ORDER BY x) - 1 AS double precision) / (count(*) OVER (PARTITION BY u) - 1)
#    ELSE 0 END
# cume_dist() OVER (PARTITION BY u ORDER BY x)
# →  CAST(count(*) OVER (PARTITION BY u ORDER BY x) AS double precision) / count(*) OVER (PARTITION BY u)
# lead(x, 2, d) OVER (PARTITION BY u ORDER BY t)
# →  CASE WHEN lead(1, 2) OVER (PARTITION BY u ORDER BY t) IS NULL THEN d ELSE lead(x, 2) OVER (PARTITION BY u ORDER BY t) END
# SELECT DISTINCT u, first_value(x) OVER (PARTITION BY u ORDER BY t) AS f FROM trips
# →  SELECT DISTINCT u, f FROM (SELECT u, first_value(x) OVER (PARTITION BY u ORDER BY t) AS f FROM trips) AS windows
#
# A row that is not there has no 1, and one that is there has, also where its x is NULL. Both windows look at the same row:
# where rows tie, all windows of a SELECT take them in one order.

_WITH_DEFAULT = 3
"""The arguments of `lead` and `lag` of which the last one stands for a row that is not there."""
_INSIDE = ("expressions", "from_", "joins", "where", "windows")
_OUTSIDE = frozenset({*_INSIDE, "distinct", "order", "limit", "offset", "with_"})
_WINDOWS = "windows"


def say_by_other_windows(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change the windows of a SELECT of private rows, and its DISTINCT; any other SELECT stays."""
    if not any(holds(output, exp.Window) for output in select.expressions) or not reads_rows(select, ctes, policy):
        return
    if _has_others(select):
        put_windows_in_place(select)
        for window in [window for output in select.expressions for window in every(output, exp.Window)]:
            other = _other(window)
            if other is not None:
                _put(window, other)
    put_groups_in_place(select)
    _put_below(select)


def _has_others(select: exp.Select) -> bool:
    return any(_other(window) is not None for output in select.expressions for window in every(output, exp.Window))


def _other(window: exp.Window) -> exp.Expr | None:
    """Return what says the same as a window; None if it is not said by others."""
    name, args = function_name(window.this), getattr(window.this, "expressions", [])
    if window.args.get("spec"):  # which these functions do not look at
        return None
    match name:
        case "percent_rank" if not args:
            # PostgreSQL's definition: (rank − 1) / (rows of the partition − 1), and 0 for the only row.
            rank, others = _minus_one(_call(window, "rank")), _minus_one(_rows(window))
            return (
                exp.Case()
                .when(exp.GT(this=_rows(window), expression=exp.Literal.number(1)), _quotient(rank, others), copy=False)
                .else_(exp.cast(exp.Literal.number(0), "double"), copy=False)
            )
        case "cume_dist" if not args:
            return _quotient(_call(window, "count", exp.Star()), _rows(window))
        case "lead" | "lag" if len(args) == _WITH_DEFAULT:
            value, far, default = args
            there = _call(window, name, exp.Literal.number(1), far)
            is_none = exp.Is(this=there, expression=exp.Null())
            return (
                exp.Case().when(is_none, default.copy(), copy=False).else_(_call(window, name, value, far), copy=False)
            )
        case _:
            return None


def _call(window: exp.Window, name: str, *args: exp.Expr) -> exp.Window:
    """Return another function over the same window."""
    other = window.copy()
    other.set("this", exp.Anonymous(this=name, expressions=[arg.copy() for arg in args]))
    return other


def _rows(window: exp.Window) -> exp.Window:
    """Return how many rows the whole partition has."""
    rows = _call(window, "count", exp.Star())
    rows.set("order", None)
    return rows


def _minus_one(number: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Sub(this=number, expression=exp.Literal.number(1)))


def _quotient(part: exp.Expr, whole: exp.Expr) -> exp.Expr:
    return exp.Div(this=exp.cast(part, "double"), expression=exp.cast(whole, "double"))


def _put(window: exp.Window, other: exp.Expr) -> None:
    """Put something else where a window stands; an output keeps its name."""
    if isinstance(window.parent, exp.Select):
        other = exp.alias_(other, output_name(window), quoted=True)
    elif not isinstance(window.parent, exp.Alias):
        other = exp.Paren(this=other)
    window.replace(other)


def _put_below(select: exp.Select) -> None:
    """Put the windows of a SELECT DISTINCT below it."""
    distinct = select.args.get("distinct")
    if distinct is None or distinct.args.get("on") or aggregates_of(select):
        return
    if any(value and key not in _OUTSIDE for key, value in select.args.items() if key != "kind"):
        return
    names = [output_name(output) for output in select.expressions]
    plain = not any(isinstance(output.unalias(), exp.Star) or holds(output, exp.Star) for output in select.expressions)
    windows = any(holds(output, exp.Window) for output in select.expressions)
    if not windows or not plain or len({name.lower() for name in names}) < len(names):
        return
    columns = {render(o.unalias()): n for o, n in zip(select.expressions, names, strict=True)}
    order = select.args.get("order")
    for term in order.expressions if order else ():
        key = term.this if isinstance(term, exp.Ordered) else term
        if render(key) in columns:
            key.replace(exp.column(columns[render(key)], _WINDOWS, quoted=True))
    outputs = [
        output.copy() if isinstance(output, exp.Alias) else exp.alias_(output.copy(), name, quoted=True)
        for output, name in zip(select.expressions, names, strict=True)
    ]
    below = exp.Select(**{key: select.args.get(key) for key in _INSIDE})
    below.set("expressions", outputs)
    for key in _INSIDE:
        select.set(key, None)
    select.set(
        "expressions",
        [exp.alias_(exp.column(name, _WINDOWS, quoted=True), name, quoted=True) for name in names],
    )
    alias = exp.TableAlias(this=exp.to_identifier(_WINDOWS, quoted=True))
    select.set("from_", exp.From(this=exp.Subquery(this=below, alias=alias)))


# ROLLUP, CUBE and GROUPING SETS of what does not add up: each level by itself, below each other.
#
# SELECT zone, count(DISTINCT rider) FROM trips GROUP BY ROLLUP (zone)
# →  SELECT zone, "count(DISTINCT rider)" AS count FROM (
#      SELECT zone, count(DISTINCT rider) FROM trips GROUP BY zone
#      UNION ALL SELECT NULL, count(DISTINCT rider) FROM trips WHERE TRUE OR zone IS NULL) AS levels
#
# Sums are read off for all levels from the finest groups. Of distinct values, medians and extremes each level is measured,
# and each pays. PostgreSQL takes NULL for the type of the column beside it in the first two parts of a UNION: so one of the
# first two levels has to have each key.

_MOST_LEVELS = 16
"""Levels that one statement divides its ε among."""
_DECIDING_ROWS = ("from_", "joins", "where")
_LEVELS = "levels"
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def put_levels_apart(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change a SELECT of private rows that has levels of what does not add up; any other stays."""
    group = select.args.get("group")
    if group is None or not any(holds(element, *_SETS) for element in group.expressions):
        return
    calls = aggregates_of(select)
    if all(map(_adds_up, calls)) or not reads_rows(select, ctes, policy):
        return
    grouping = grouping_in(select, calls)
    sets = sorted(grouping.sets, key=len, reverse=True)
    if not 1 < len(sets) <= _MOST_LEVELS or {*sets[0], *sets[1]} < set(range(len(grouping.keys))):
        return
    outside = [
        *select.expressions,
        *(part for key in ("having", "distinct", "order") if (part := select.args.get(key))),
    ]
    put_windows_in_place(select)
    if (
        select.args.get("windows")
        or any(holds(part, exp.Query) for part in outside)
        or groups_by_unit(select, grouping.keys, ctes, policy)
    ):
        return
    parts = (*grouping.keys, *calls)
    names = names_for(parts)
    levels = [_level(select, grouping.keys, calls, names, level) for level in sets]
    outputs = [output_name(output) for output in select.expressions]
    for part in outside:
        columns_for(part, names, frozenset(map(type, parts)), _LEVELS)
    for output, name in zip(select.expressions, outputs, strict=True):
        if not isinstance(output, exp.Alias):
            output.replace(exp.alias_(output.copy(), name, quoted=True))
    having = select.args.get("having")
    for key in (*_DECIDING_ROWS, "group", "having"):
        select.set(key, None)
    if having is not None:
        select.set("where", exp.Where(this=having.this))
    query: exp.Expr = levels[0]
    for level in levels[1:]:
        query = exp.Union(this=query, expression=level, distinct=False)
    alias = exp.TableAlias(this=exp.to_identifier(_LEVELS, quoted=True))
    select.set("from_", exp.From(this=exp.Subquery(this=query, alias=alias)))


def _adds_up(call: exp.Expr) -> bool:
    """Return whether what a call says of a group follows from what it says of parts of it."""
    bare = call.this if isinstance(call, exp.Filter) else call
    name = function_name(bare)
    plain = not any(holds(arg, exp.Distinct) for arg in getattr(bare, "expressions", ()))
    return name == "grouping" or (name in STATISTICS and plain)


def _level(
    select: exp.Select, keys: Sequence[exp.Expr], calls: Sequence[exp.Expr], names: Mapping[str, str], level: Set
) -> exp.Select:
    """Return the query of one level."""
    query = exp.Select(**{key: select.args.get(key) for key in _DECIDING_ROWS}).copy()
    shown = [key.copy() if place in level else exp.Null() for place, key in enumerate(keys)]
    told = [_told(call, keys, level) for call in calls]
    texts = [names[render(part)] for part in (*keys, *calls)]
    query.set("expressions", [exp.alias_(p, name, quoted=True) for p, name in zip([*shown, *told], texts, strict=True)])
    named = [column for place, key in enumerate(keys) if place not in level for column in every(key, exp.Column)]
    if named:  # so that each level leaves out the same rows: those that lack a value where none may be missing
        nulls = [exp.Is(this=column.copy(), expression=exp.Null()) for column in named]
        query.where(exp.or_(exp.true(), *nulls), copy=False)
    if level:
        query.set("group", exp.Group(expressions=[keys[place].copy() for place in level]))
    return query


def _told(call: exp.Expr, keys: Sequence[exp.Expr], level: Set) -> exp.Expr:
    """Return a call as it stands in a level: what GROUPING says is known."""
    if function_name(call) != "grouping":
        return call.copy()
    grouped = {render(keys[place]) for place in level}
    bits = "".join("0" if render(key) in grouped else "1" for key in call.expressions)
    return exp.Literal.number(int(bits, 2))
