"""Margins beside aggregates without being asked for, where they cost nothing: counts, sums, averages, variances."""

from collections.abc import Sequence
from dataclasses import dataclass
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
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div)
NOT_THAT_WAY = ("0A", "42")
"""Errors of statements that were refused before anything was paid."""

Asking = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class WiderStatement:
    """A statement with margins as its last columns."""

    text: str
    of: tuple[str, ...]
    """The columns whose margins they are."""


def with_margins(statement: str, *, computed: bool = True) -> WiderStatement | None:
    """Return a statement with the margin of each of its aggregates as a further column, `count_margin` for `count`.

    So has what is computed of them, unless `computed` is false.

    SELECT pay, avg(fare) FROM rides GROUP BY pay → SELECT pay, avg(fare), dpsql.margin(avg(fare)) AS avg_margin FROM
    rides GROUP BY pay. None where there is none, or where the statement has margins already.
    """
    try:
        trees = sqlglot.parse(statement, read="postgres")
    except sqlglot.errors.SqlglotError:
        return None
    # DISTINCT would compare the margins, too, and keep rows apart that are the same.
    match trees:
        case [exp.Select() as tree] if not tree.args.get("distinct") and "dpsql.margin" not in statement.lower():
            items = [(name, item.unalias()) for item in tree.selects if (name := _named(item, computed=computed))]
        case _:
            return None
    names = [name for name, _ in items]
    # Of two columns of one name nobody could say whose a margin is.
    if not items or len(set(names)) < len(names):
        return None
    margins = (exp.alias_(exp.func("dpsql.margin", item.copy()), f"{name}_margin", quoted=True) for name, item in items)
    return WiderStatement(tree.select(*margins).sql("postgres"), tuple(names))


def wider_statements(statement: str) -> Sequence[WiderStatement]:
    """Return the statements with margins that may be asked in the place of one, most margins first.

    Each costs what the statement itself costs, and has the same values; where one is refused the next may not be.
    """
    try:
        tried = (with_margins(statement), with_margins(statement, computed=False))
    except RecursionError:  # of what is nested so deeply
        return ()
    return tuple(dict.fromkeys(wider for wider in tried if wider is not None))


def ask_with_margins(
    connection: Asking, statement: str, parameters: Sequence[object] | None = None
) -> psycopg.Cursor[tuple[Any, ...]]:
    """Ask with margins, or without them where there are none; either way the answer costs the same."""
    for wider in () if parameters else wider_statements(statement):
        try:
            # A refusal would leave the caller's transaction failed. This one, or the savepoint that it is within another, is
            # taken back alone.
            with connection.transaction():
                return connection.execute(wider.text.encode())
        except psycopg.Error as refused:
            # What is refused for its form has cost nothing, and the next form is tried; anything else is told as it is.
            if (refused.sqlstate or "")[:2] not in NOT_THAT_WAY:
                raise
    return connection.execute(statement.encode(), parameters)


def _named(item: exp.Expr, *, computed: bool) -> str | None:
    """Return the name of a column that holds an aggregate with a free margin, or is computed of such; None for all others."""
    node = item.unalias()
    call = node.this if isinstance(node, exp.Filter) else node
    if isinstance(call, _FREE):
        # PostgreSQL calls avg(fare) avg where it has no alias.
        return item.alias or call.sql("postgres").partition("(")[0].lower()
    return (item.alias or None) if computed and _is_computed(node) and any(node.find_all(*_FREE)) else None


def _is_computed(node: exp.Expr) -> bool:
    """Return whether an expression is of aggregates and constants alone, put together as `dpsql.margin` knows it."""
    match node:
        case exp.Filter(this=call):
            return isinstance(call, _FREE)
        case exp.Window():
            plain = not any(node.args.get(key) for key in ("order", "spec", "alias"))
            return plain and isinstance(node.this, exp.Sum) and _is_computed(node.this.this)
        case exp.Paren() | exp.Cast() | exp.Neg():
            return _is_computed(node.this)
        case exp.Binary():
            return isinstance(node, _ARITHMETIC) and _is_computed(node.left) and _is_computed(node.right)
        case exp.Round() | exp.Nullif() | exp.Coalesce():
            return _is_computed(node.this)
        case _:
            return isinstance(node, (*_FREE, exp.Literal))
