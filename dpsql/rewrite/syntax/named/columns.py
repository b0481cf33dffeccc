"""The elements of FROM, by the names that they have there, and the columns that come from around a query.

PostgreSQL has written the name of its table before every column, and no name stands for two things where one of them is seen
within the other: so a column's table is what has that name.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping

from sqlglot import exp

from dpsql.lexer.reader import fold_name
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every

# Names as PostgreSQL reads them.


def fold(identifier: exp.Expr | None) -> str:
    """Return a name as PostgreSQL folds it: lower case unless quoted."""
    if not isinstance(identifier, exp.Identifier):
        return ""
    return str(identifier.this) if identifier.args.get("quoted") else fold_name(str(identifier.this))


Ctes = Mapping[str, exp.CTE]
_ITEMS = (exp.Table, exp.Subquery, exp.Values, exp.Lateral)


def from_items(node: exp.Select) -> Iterator[exp.Expr]:
    """Yield what stands in FROM and in its joins."""
    from_ = node.args.get("from_")
    if from_ is not None:
        yield from_.this
        for join in from_.this.args.get("joins") or ():
            yield join.this
    for join in node.args.get("joins") or ():
        yield join.this


def item_name(item: exp.Expr) -> str:
    """Return what an element of FROM is called there; empty if it has no name."""
    alias = item.args.get("alias")
    named = fold(alias.this) if isinstance(alias, exp.TableAlias) else ""
    return named or (fold(item.this) or str(item.this.name).lower() if isinstance(item, exp.Table) else "")


def tables_in_from(select: exp.Select) -> frozenset[str]:
    """Return the names of what a SELECT reads, that of joins in brackets included."""
    inside = (table for item in from_items(select) for table in _in_brackets(item))
    return frozenset(map(item_name, inside))


def _in_brackets(item: exp.Expr) -> Iterator[exp.Expr]:
    """Yield an element of FROM, and what it joins in brackets."""
    yield item
    if isinstance(item, exp.Subquery) and isinstance(item.this, (exp.Table, exp.Subquery)):
        joins = item.this.args.get("joins") or ()
        for inner in (item.this, *(join.this for join in joins)):
            yield from _in_brackets(inner)


def columns_read_of(query: exp.Expr, table: str) -> Iterator[exp.Column]:
    """Yield the columns of what has a name in a query, but for queries in it, a view's for one, where another has it."""
    pending = [query]
    while pending:
        node = pending.pop()
        if isinstance(node, exp.Column) and fold(node.args.get("table")) == table:
            yield node
        # FROM trips AS t WHERE EXISTS (SELECT 1 FROM zones AS t WHERE t.id = 3): the inner t hides the outer one.
        elif node is query or not isinstance(node, exp.Select) or table not in tables_in_from(node):
            pending += node.iter_expressions()


def outer_columns(query: exp.Expr) -> list[exp.Column]:
    """Return the columns in a query that belong to queries around it."""
    nodes = every(query, exp.Expr)
    inside = {item_name(item) for item in nodes if isinstance(item, _ITEMS)}
    columns = (node for node in nodes if isinstance(node, exp.Column))
    return [column for column in columns if column.args.get("table") and fold(column.args["table"]) not in inside]


# The names of output columns: PostgreSQL has written one for each that is no column of that name.

UNNAMED = "?column?"


def output_name(node: exp.Expr) -> str:
    """Return the name of an output column."""
    if isinstance(node, exp.Alias):
        return fold(node.args["alias"])
    return fold(node.this) if isinstance(node, exp.Column) else UNNAMED


# Names for what a statement did not name itself: messages show them, so they tell what they are, and no table has them.

_LONGEST = 36
"""Bytes of an expression in a name, of which PostgreSQL keeps 63."""


def fresh(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken, in capitals or not: DuckDB takes these for the same."""
    lower = {name_taken.lower() for name_taken in taken}
    names = itertools.chain([name], (f"{name} {n}" for n in itertools.count(2)))
    return next(free for free in names if free.lower() not in lower)


def columns_of_subquery(nodes: Iterable[exp.Expr]) -> list[str]:
    """Return a name for each of the outputs of a subquery, such as `avg(fare) of the subquery`."""
    names: list[str] = []
    for node in nodes:
        names.append(column_of_subquery(render(node), names))
    return names


def column_of_subquery(text: str, taken: Collection[str]) -> str:
    """Return a name for an output that is written so, and that is not taken."""
    return fresh(f"{first_bytes(text)} of the subquery", taken)


def first_bytes(text: str, longest: int = _LONGEST) -> str:
    """Return the first bytes of a text that is longer, with an ellipsis; any other is returned unchanged."""
    return text if len(text.encode()) <= longest else f"{text.encode()[:longest].decode(errors='ignore')}…"
