"""Derived tables and CTEs that only pass a table's columns on, as the table that they are.

FROM (SELECT trips.fare, trips.tip FROM public.trips) t(a) WHERE t.a > 5   →  FROM public.trips AS t WHERE t.fare > 5
WITH c AS (SELECT zones.zone_id FROM public.zones) … FROM c WHERE c.zone_id = 1
→  WITH c AS (…) … FROM public.zones AS c WHERE c.zone_id = 1
FROM (SELECT trips.fare FROM public.trips WHERE trips.zone = z.id) t  →  FROM public.trips AS t WHERE t.zone = z.id

Claim: the rows are the same, and so are the columns that are named of them. In PostgreSQL's words no name stands for two
things where one is seen within the other, so that every column with the name of a table is of that.
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.rewrite.syntax.named.columns import from_items
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.named.recursion import names_itself
from dpsql.rewrite.syntax.read.trees import every, holds

_NAMED = frozenset({"this", "db", "catalog", "alias"})
"""The parts that a table may have in FROM."""
_PASSING = frozenset({"expressions", "from_"})
"""The parts of a query that passes columns on; a condition beside them moves where its columns are also those of the
query around it."""


def with_tables_in_place(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place; each of its CTEs has a name of its own."""
    ctes = {fold(cte.args["alias"].this): cte for cte in every(tree, exp.CTE) if not names_itself(cte)}
    for select in reversed(every(tree, exp.Select)):  # what is within others first
        if not any(join.args.get("using") for join in select.args.get("joins") or ()):
            for item in list(from_items(select)):
                _put_in_place(select, item, ctes)


def _put_in_place(select: exp.Select, item: exp.Expr, ctes: Mapping[str, exp.CTE]) -> None:
    query, named = _passed(item, ctes)
    alias = item.args.get("alias")
    if query is None or not isinstance(alias, exp.TableAlias) or not _is_passing(query, moving=_is_inner(select)):
        return
    given = [fold(identifier) for identifier in alias.args.get("columns") or ()]
    names = [output_name(output) for output in query.expressions]
    for new in (named, given):  # the alias in FROM gives names after the CTE has
        names = [*new, *names[len(new) :]]
    name = fold(alias.this)
    columns = {as_: fold(output.unalias().this) for as_, output in zip(names, query.expressions, strict=False)}
    ours = [column for column in every(select, exp.Column) if fold(column.args.get("table")) == name]
    if len(columns) < len(query.expressions) or any(fold(column.this) not in columns for column in ours):
        return  # names that are two columns', or the row as a whole
    for column in ours:
        _rename(column, columns[fold(column.this)])
    table, where = query.args["from_"].this.copy(), query.args.get("where")
    if where is not None:
        inner, moved = _name(table), where.this.copy()
        for column in [reader for reader in every(moved, exp.Column) if fold(reader.args.get("table")) == inner]:
            column.set("table", alias.this.copy())
        select.where(moved, copy=False)
    table.set("alias", exp.TableAlias(this=alias.this))
    for key in ("joins", "laterals"):
        table.set(key, item.args.get(key))
    item.replace(table)


def _passed(item: exp.Expr, ctes: Mapping[str, exp.CTE]) -> tuple[exp.Expr | None, list[str]]:
    """Return the query whose rows an element of FROM has, and the names that its columns were given there."""
    if isinstance(item, exp.Subquery):
        return item.this, []
    if not isinstance(item, exp.Table) or item.args.get("db") or fold(item.this) not in ctes:
        return None, []
    if item.args.get("alias") is None:
        item.set("alias", exp.TableAlias(this=item.this.copy()))
    cte = ctes[fold(item.this)]
    return cte.this, [fold(identifier) for identifier in cte.args["alias"].args.get("columns") or ()]


def _is_inner(select: exp.Select) -> bool:
    """Return whether a condition on the rows of an element of FROM may as well stand in WHERE: no join makes them NULL."""
    return not any(join.side or join.args.get("method") for join in every(select, exp.Join))


def _name(table: exp.Expr) -> str:
    alias = table.args.get("alias")
    return fold(table.this if alias is None else alias.this)


def _is_passing(query: exp.Expr, *, moving: bool) -> bool:
    """Return whether a query is of one table, and has nothing but columns of that, or a condition that may move."""
    parts = {key for key, value in query.args.items() if value}
    if not isinstance(query, exp.Select) or parts - {"where"} != _PASSING:
        return False
    table, where = query.args["from_"].this, query.args.get("where")
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return False
    name, alias = _name(table), table.args.get("alias")
    around = where is not None and any(fold(column.args.get("table")) != name for column in every(where, exp.Column))
    if where is not None and not (moving and around and not every(where, exp.Query)):
        return False
    plain = {key for key, value in table.args.items() if value} <= _NAMED
    columns = [output.unalias() for output in query.expressions]
    return (
        plain
        and not (alias is not None and alias.args.get("columns"))
        and all(isinstance(column, exp.Column) and not holds(column, exp.Star) for column in columns)
        and all(fold(column.args.get("table")) == name for column in columns)
    )


def _rename(column: exp.Column, name: str) -> None:
    """Give a column the name that it has in its table; an output keeps its own."""
    before, holder = fold(column.this), column.parent
    if before == name:
        return
    if isinstance(holder, exp.Select) and column.arg_key == "expressions":
        column.replace(exp.Alias(this=column.copy(), alias=exp.to_identifier(before, quoted=True)))
        column = next(output for output in holder.expressions if output.alias == before).this
    column.set("this", exp.to_identifier(name, quoted=True))
