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
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.aggregate_names import is_aggregate
from dpsql.rewrite.syntax.named.columns import Ctes, columns_read_of, from_items, item_name, tables_in_from
from dpsql.rewrite.syntax.named.grouping import grouping_in
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.made_names import first_bytes, fresh
from dpsql.rewrite.syntax.named.named_windows import put_windows_in_place
from dpsql.rewrite.syntax.named.output_names import output_name
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
        never_null = all(_is_never_null(key, select, ctes, policy) for key in keys)
        if never_null and _is_plain(window) and not groups_by_unit(select, keys, ctes, policy):
            window.replace(exp.Subquery(this=_of_partition(select, window, keys)))


def _is_never_null(key: exp.Expr, select: exp.Select, ctes: Ctes, policy: Policy) -> bool:
    """Return whether a key is a column that is declared so, of a table whose rows are all there."""
    if not isinstance(key, exp.Column) or any(join.args.get("side") for join in select.args.get("joins") or ()):
        return False
    item = next((each for each in from_items(select) if item_name(each) == fold(key.args.get("table"))), None)
    alias = item.args.get("alias") if item is not None else None
    if not isinstance(item, exp.Table) or fold(item.this) in ctes or (alias and alias.args.get("columns")):
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
