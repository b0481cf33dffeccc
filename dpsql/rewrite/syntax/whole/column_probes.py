"""Queries that never return a row, and two by which Django and Superset learn the columns.

LIMIT 0, WHERE 1 = 0           →  no row
SELECT * FROM trips LIMIT 1    →  rows, unless it is written as those two write it: no row would look like an empty table
"""

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpsql.rewrite.syntax.named.aggregate_names import top_aggregates
from dpsql.rewrite.syntax.read.parse import Query

_OF_DJANGO = re.compile('SELECT \\* FROM "[^"]+" LIMIT 1')


def is_empty(tree: exp.Expr) -> bool:
    """Return whether a query has LIMIT 0, or nothing but a false condition between its rows and its outputs."""
    if limit_of(tree) == 0:
        return True
    if isinstance(tree, exp.Subquery):
        return is_empty(tree.this)
    if not isinstance(tree, exp.Select) or _aggregates(tree):
        return False
    where, from_ = tree.args.get("where"), tree.args.get("from_")
    if where is not None and _is_false(where.this):
        return True
    inner = from_.this if from_ is not None and not tree.args.get("joins") else None
    return isinstance(inner, exp.Subquery) and is_empty(inner)


def is_column_probe(query: Query) -> bool:
    """Return whether a query for one row, whichever, is one that Django or Superset sends for the columns.

    Superset writes the query of a data set anew, a word a line, with LIMIT 1 behind it; Django selects everything of one
    table, whose name it quotes: nobody asks so.
    """
    tree = query.tree
    if limit_of(tree) != 1 or tree.args.get("order") is not None:
        return False
    return _OF_DJANGO.fullmatch(query.text) is not None or _is_of_superset(query.text)


def _is_of_superset(text: str) -> bool:
    try:
        return sqlglot.parse_one(text, read="postgres").sql("postgres", pretty=True) == text.strip().rstrip("; \n")
    except SqlglotError:
        return False


def limit_of(tree: exp.Expr) -> int | None:
    """Return the constant number of rows of LIMIT or FETCH FIRST, None where there is none."""
    limit = tree.args.get("limit")
    if isinstance(limit, exp.Fetch) and limit.args.get("count") is None:
        return 1
    count = (
        limit.args.get("expression") or limit.args.get("count") if isinstance(limit, (exp.Limit, exp.Fetch)) else None
    )
    return int(count.name) if isinstance(count, exp.Literal) and str(count.name).isdigit() else None


def _aggregates(select: exp.Select) -> bool:
    """Return whether a SELECT may have a row even if FROM has none."""
    if select.args.get("group") or select.args.get("having"):
        return True
    return any(True for node in select.expressions for _ in top_aggregates(node))


def _is_false(node: exp.Expr) -> bool:
    match node:
        case exp.Boolean():
            return not node.this
        case exp.Paren():
            return _is_false(node.this)
        case exp.And():
            return _is_false(node.this) or _is_false(node.expression)
        case exp.Not():
            return isinstance(node.this, exp.Boolean) and bool(node.this.this)
        case exp.EQ(this=exp.Literal() as a, expression=exp.Literal() as b):
            return _comparable(a, b) and a.name != b.name
        case exp.NEQ(this=exp.Literal() as a, expression=exp.Literal() as b):
            return _comparable(a, b) and a.name == b.name
        case _:
            return False


def _comparable(a: exp.Literal, b: exp.Literal) -> bool:
    """Return whether two numbers are equal only if they are written in the same way: 1 and 1.0 are not."""
    return a.name.isdigit() and b.name.isdigit()
