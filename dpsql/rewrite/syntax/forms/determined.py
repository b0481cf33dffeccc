"""Columns that a group key determines, which PostgreSQL lets stand beside it: further keys that make no more groups.

    SELECT zones.zone, count(*) FROM trips JOIN zones ON … GROUP BY zones.zone_id
    →  … GROUP BY zones.zone_id, zones.zone

They are those of a table whose declared key is grouped by, all of its columns. A key is unique, so each group has one
value of each; where the engine's table has several nevertheless, the measured groups are those that are then written:
groups by all of them.
"""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.aggregate_names import top_aggregates
from dpsql.rewrite.syntax.named.columns import from_items, item_name
from dpsql.rewrite.syntax.named.grouping import Grouping
from dpsql.rewrite.syntax.named.identifiers import fold

Named = tuple[str, str]
"""The table in FROM and the name of a column."""


def determined(
    select: exp.Select, grouping: Grouping, ctes: Mapping[str, exp.CTE], policy: Policy
) -> Sequence[exp.Column]:
    """Return the columns beside the aggregates of a SELECT that its keys determine, each once."""
    if not grouping.keys or not grouping.plain or select.args.get("group") is None:
        return ()
    keys = {_named(key) for key in grouping.keys if isinstance(key, exp.Column)}
    unique = {item_name(item): _key(item, ctes, policy) for item in from_items(select) if isinstance(item, exp.Table)}
    whole = {alias for alias, key in unique.items() if key and keys >= {(alias, name) for name in key}}
    if not whole:
        return ()
    beside = [column for place in _places(select) for column in _outside_aggregates(place)]
    by_name = {_named(column): column for column in reversed(beside)}
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


def _named(column: exp.Column) -> Named:
    return fold(column.args.get("table")), fold(column.this)


def _key(item: exp.Table, ctes: Mapping[str, exp.CTE], policy: Policy) -> frozenset[str]:
    """Return the columns of the key of the policy's table that an element of FROM is, none if it has none."""
    alias, name = item.args.get("alias"), fold(item.this)
    renamed = isinstance(alias, exp.TableAlias) and alias.args.get("columns")
    table = None if renamed or (name in ctes and not item.args.get("db")) else policy.tables.get(name)
    return frozenset[str]().union(*table.keys) if table is not None else frozenset()
