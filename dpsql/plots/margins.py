"""Margins beside aggregates without being asked for, where they cost nothing: counts, sums, averages, variances."""

from collections.abc import Sequence
from typing import Any

import psycopg
import sqlglot
from sqlglot import exp

_FREE = (
    exp.Count,
    exp.Sum,
    exp.Avg,
    exp.Variance,
    exp.VariancePop,
    exp.Stddev,
    exp.StddevPop,
    exp.StddevSamp,
    exp.Corr,
    exp.CovarPop,
    exp.CovarSamp,
)
"""Aggregates whose margin follows from measurements that are made anyhow; a median is less exact if its own is chosen
with it."""
_NOT_THAT_WAY = ("0A", "42")
"""Errors of statements that were refused before anything was paid."""

Asking = psycopg.Connection[tuple[Any, ...]]


def with_margins(statement: str) -> str | None:
    """Return a statement with the margin of each of its aggregates as a further column, `count_margin` for `count`.

    SELECT pay, avg(fare) FROM rides GROUP BY pay → SELECT pay, avg(fare), dpsql.margin(avg(fare)) AS avg_margin FROM
    rides GROUP BY pay. None where there is none, or where the statement has margins already.
    """
    try:
        trees = sqlglot.parse(statement, read="postgres")
    except sqlglot.errors.SqlglotError:
        return None
    match trees:
        case [exp.Select() as tree] if not tree.args.get("distinct") and "dpsql.margin" not in statement.lower():
            items = [(name, item.unalias()) for item in tree.selects if (name := _named(item))]
        case _:
            return None
    names = [name for name, _ in items]
    if not items or len(set(names)) < len(names):
        return None
    margins = (exp.alias_(exp.func("dpsql.margin", item.copy()), f"{name}_margin", quoted=True) for name, item in items)
    return tree.select(*margins).sql("postgres")


def ask_with_margins(
    connection: Asking, statement: str, parameters: Sequence[object] | None = None
) -> psycopg.Cursor[tuple[Any, ...]]:
    """Ask with margins, or without them where there are none; either way the answer costs the same."""
    wider = None if parameters else with_margins(statement)
    if wider is not None:
        try:
            with connection.transaction():
                return connection.execute(wider.encode())
        except psycopg.Error as refused:
            if (refused.sqlstate or "")[:2] not in _NOT_THAT_WAY:
                raise
    return connection.execute(statement.encode(), parameters)


def _named(item: exp.Expr) -> str | None:
    """Return the name of a column that holds an aggregate with a free margin; None for all others."""
    node = item.unalias()
    call = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(call, _FREE):
        return None
    return item.alias or call.sql("postgres").partition("(")[0].lower()
