"""The facts that `dpsql plot` needs of its picture, from the statement and its EXPLAIN, which is free."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
import sqlglot
from sqlglot import exp

from dpsql.gateway.explaining.explained import Explained, ExplainedRange, explained

_ABOVE_NOTHING = frozenset({"count", "variance", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop"})
_WITHIN = frozenset({"avg", "min", "max", "median", "percentile_cont", "percentile_disc"})


@dataclass(frozen=True, slots=True)
class _Item:
    """One column of the answer."""

    name: str
    text: str
    """The question."""
    aggregate: str
    """The aggregate of `argument`; empty for anything else."""
    argument: str

    @classmethod
    def of(cls, item: exp.Expr) -> "_Item":
        """Read one of what a SELECT returns."""
        aggregate, argument = _call(item)
        return cls(item.alias_or_name or aggregate, item.unalias().sql("postgres"), aggregate, argument)


@dataclass(frozen=True, slots=True)
class Plotted:
    """The facts that a picture shows; unknown ones are empty."""

    dataset: str
    role: str
    statement: str
    tables: tuple[str, ...]
    epsilon: str
    """The price of the answer when it was first given; empty for a statement over public tables."""
    items: tuple[_Item, ...]
    """The columns of the answer."""
    ranges: tuple[ExplainedRange, ...]
    """The bounds that values are clamped to."""
    bucketed: tuple[str, float, float, int, str] | None
    """The column that holds numbers of `width_bucket`, its constants, and what is put into buckets."""

    @classmethod
    def of(cls, connection: psycopg.Connection[tuple[object, ...]], role: str | None, statement: str) -> "Plotted":
        """Build from what EXPLAIN says; a statement that is not private is drawn without it."""
        plan = None if re.match(r"(?i)\s*explain\b", statement) else explained(connection, statement)
        selects = _selects(statement)
        return cls(
            dataset=connection.info.dbname,
            role=role or f"of user {connection.info.user}",
            statement=" ".join(statement.split()),
            tables=() if plan is None else tuple(dict.fromkeys(map(", ".join, plan.tables))),
            epsilon="" if plan is None else _cost(plan),
            items=tuple(map(_Item.of, selects)),
            ranges=() if plan is None else (*plan.clamped, *(choice.of for choice in plan.choices)),
            bucketed=next(filter(None, map(_bucketed, selects)), None),
        )

    def asked(self, column: str) -> str:
        """Return what a column of the answer was asked for as."""
        return next((item.text for item in self.items if item.name == column), column)

    def possible(self, column: str) -> tuple[float | None, float | None]:
        """Return the least and the greatest value that a column's statistic can have, where that is known."""
        item = next((item for item in self.items if item.name == column), None)
        if item is None:
            return None, None
        if item.aggregate in _ABOVE_NOTHING:
            return 0.0, None
        ends = next(((r.low, r.high) for r in self.ranges if r.expression.lower() == item.argument.lower()), None)
        if ends is None or item.aggregate not in _WITHIN | {"sum"}:
            return None, None
        if item.aggregate == "sum":
            return (0.0 if ends[0] >= 0 else None), (0.0 if ends[1] <= 0 else None)
        return ends

    def title(self, y: str) -> str:
        """Return the title of a picture that was given none."""
        return f"{self.asked(y)} of {', '.join(self.tables)}" if self.tables else self.asked(y)


def _selects(statement: str) -> Sequence[exp.Expr]:
    try:
        tree = sqlglot.parse_one(statement, read="postgres")
    except sqlglot.errors.SqlglotError:
        return ()
    return tree.selects if isinstance(tree, exp.Select) else ()


def _call(item: exp.Expr) -> tuple[str, str]:
    """Return the aggregate that an item is, as SQL spells it, and its argument; two empty texts for anything else."""
    node = item.unalias()
    node = node.this if isinstance(node, exp.Filter) else node
    if isinstance(node, exp.WithinGroup):
        ordered = node.expression.find(exp.Ordered)
        return (node.this.sql_name().lower(), ordered.this.sql("postgres")) if ordered else ("", "")
    if not isinstance(node, exp.AggFunc):
        return "", ""
    return node.sql("postgres").partition("(")[0].lower(), node.this.sql("postgres") if node.this else ""


def _cost(plan: Explained) -> str:
    return f"ε = {plan.epsilon}, δ = {plan.delta}" if plan.delta else f"ε = {plan.epsilon}"


def _bucketed(item: exp.Expr) -> tuple[str, float, float, int, str] | None:
    call = item.unalias()
    if not isinstance(call, exp.WidthBucket):
        return None
    try:
        low, high, number = (float(call.args[name].sql()) for name in ("min_value", "max_value", "num_buckets"))
    except (KeyError, ValueError):
        return None
    return item.alias_or_name or "width_bucket", low, high, int(number), call.this.sql("postgres")
