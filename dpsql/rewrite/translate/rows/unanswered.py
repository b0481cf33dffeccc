"""Aggregates that are not answered over private rows: what each is, and what is near to it.

string_agg(x, ',')  →  it shows values of single rows: SELECT string_agg(x, ',') FROM (SELECT DISTINCT x FROM …) AS v
"""

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.rewrite.syntax.named.aggregate_names import OF_SINGLE_ROWS, function_name
from dpsql.rewrite.syntax.read.dialect import render

PLACES = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
"""Where a value would stand among the rows."""


def of_single_rows(name: str) -> Unsupported:
    """Return the refusal of an aggregate that has single rows' values in it."""
    return Unsupported(
        f"{name}() shows values of single rows, which no noise can hide",
        because="aggregate-of-single-rows",
        hint=OF_SINGLE_ROWS[name],
    )


def of_a_place(name: str) -> Unsupported:
    """Return the refusal of `rank(5) WITHIN GROUP (ORDER BY x)` and its like."""
    return Unsupported(
        f"{name}() would place a value among single rows",
        because="place-among-rows",
        hint="Count the rows before it, and all of them: count(*) FILTER (WHERE x < 5), count(*)",
    )


def of_distinct(name: str) -> Unsupported:
    """Return the refusal of what has no DISTINCT."""
    return Unsupported(
        f"{name}(DISTINCT …) would count what many rows have once, which is done for one value by count, sum, avg and "
        "variances alone",
        because="distinct-aggregate",
        hint="Leave DISTINCT out, or aggregate an answer: SELECT … FROM (SELECT DISTINCT x, y FROM …) AS v",
    )


def not_known(node: exp.Expr) -> Unsupported:
    """Return the refusal of anything else."""
    name = function_name(node.this if isinstance(node, exp.WithinGroup) else node)
    return Unsupported(
        f"{f'{name}(…)' if name else render(node)[:80]} is not supported over private rows",
        because="aggregate-not-known",
        hint="docs/sql.md lists the supported aggregates.",
    )
