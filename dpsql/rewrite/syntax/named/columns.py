"""The elements of FROM, by the names that they have there, and the columns that come from around a query.

PostgreSQL has written the name of its table before every column, and no name stands for two things where one of them is seen
within the other: so a column's table is what has that name.
"""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.trees import every

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
        elif node is query or not isinstance(node, exp.Select) or table not in tables_in_from(node):
            pending += node.iter_expressions()


def outer_columns(query: exp.Expr) -> list[exp.Column]:
    """Return the columns in a query that belong to queries around it."""
    inside = {item_name(item) for item in every(query, exp.Expr) if isinstance(item, _ITEMS)}
    columns = every(query, exp.Column)
    return [column for column in columns if column.args.get("table") and fold(column.args["table"]) not in inside]
