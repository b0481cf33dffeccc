"""Views of the policy: read once, and put into statements where they name them.

SELECT avg(fare) FROM by_card AS c  →  SELECT avg(fare) FROM (SELECT fare FROM trips WHERE payment_type = 'card') AS c

Claim: a statement that reads a view is measured as the statement in which the view's query stands, since each later
stage sees that statement only. So nothing about sensitivity, owners or bounds has to be said anew. The tables of a
view are written with their schema: no CTE of a client's is read in their place.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from dpsql.errors import ConfigError, DpsqlError, InternalError, Unsupported
from dpsql.policy.model import Column, Policy, Table, View
from dpsql.rewrite.ir.evaluator import quoted_name
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.named.units import output_columns
from dpsql.rewrite.syntax.read.dialect import ViewedTable, ViewRead
from dpsql.rewrite.syntax.read.parse import ReadQuery, not_understood
from dpsql.rewrite.syntax.read.trees import every

_PLAIN = frozenset({"this", "db", "catalog", "alias"})
"""The parts that a view may have in FROM."""


def expand_views(tree: exp.Expr, policy: Policy) -> list[exp.Expr]:
    """Put the queries of views into a tree, in the places of their names; return the nodes that it has then.

    Raises:
        Unsupported: a view is read with more than a name.
    """
    nodes = every(tree, exp.Expr)
    if not policy.views or not any(isinstance(node, exp.Table) and named(node, policy) for node in nodes):
        return nodes
    for table in list(tables_in(tree)):
        view = named(table, policy)
        if view is not None:
            table.replace(_read(view, table))
    return every(tree, exp.Expr)


def named(table: exp.Table, policy: Policy) -> View | None:
    """Return the view that a name in FROM means, which is no CTE's."""
    if fold(table.args.get("db")) not in {"", "public"} or fold(table.args.get("catalog")) not in {"", policy.dataset}:
        return None
    return policy.views.get(fold(table.this))


def tables_in(tree: exp.Expr, ctes: frozenset[str] = frozenset()) -> Iterator[exp.Table]:
    """Yield what is read by name, and is neither a CTE nor a function."""
    with_ = tree.args.get("with_")
    if with_ is not None:
        names = [fold(cte.args["alias"].this) for cte in with_.expressions]
        visible = ctes | frozenset(names if with_.args.get("recursive") else ())
        for cte, name in zip(with_.expressions, names, strict=True):
            yield from tables_in(cte.this, visible)
            visible |= {name}
        ctes = visible
    if isinstance(tree, exp.Table) and _is_named(tree, ctes):
        yield tree
    for key, value in tree.args.items():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr) and key != "with_":
                yield from tables_in(child, ctes)


def _is_named(table: exp.Table, ctes: frozenset[str]) -> bool:
    return isinstance(table.this, exp.Identifier) and bool(table.args.get("db") or fold(table.this) not in ctes)


def _read(view: View, table: exp.Table) -> ViewRead:
    """Return what stands for a view."""
    more = [key for key, value in table.args.items() if value and key not in _PLAIN]
    if more:
        raise Unsupported(
            f"{more[0].upper()} of a view is not supported",
            because="clause-on-view",
            hint=f'Write FROM "{view.name}" AS v alone, and the rest of the query around it.',
        )
    body = _tree(view).copy()
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(view.name, quoted=True))
    return ViewRead(this=body, alias=alias.copy(), view=view.name, public=view.public)


def in_words(nodes: Iterable[exp.Expr]) -> None:
    """Let the answers in views that are no rows stand as subqueries: what is in them is released and no view any more.

    `nodes` are those of a query.
    """
    for node in nodes:
        if isinstance(node, ViewRead) and not node.args["public"]:
            node.replace(exp.Subquery(this=node.this, alias=node.args["alias"]))


def _tree(view: View) -> exp.Query:
    if not isinstance(view.tree, exp.Query):
        raise InternalError  # the policy's views were not read
    return view.tree


def bound_views(policy: Policy, read: ReadQuery) -> Policy:
    """Return the policy with the trees of its views, which the shadow has made: each stands behind those that it reads.

    Raises:
        ConfigError: with a line for each that can't be read: file, line, view and reason.
    """
    bound: dict[str, View] = {}
    wrong: list[str] = []
    for view in policy.views.values():
        try:
            bound[view.name] = _bound(view, replace(policy, views=bound), read)
        except DpsqlError as failed:
            wrong.append(f"{view.file}:{view.line}: view: {failed.message}")
    if wrong:
        raise ConfigError("\n".join(sorted(wrong)), hint="docs/configuration.md says what a view may be.")
    return replace(policy, views=bound)


def _bound(view: View, policy: Policy, read: ReadQuery) -> View:
    tree = read(view.query)
    if tree is None:
        raise ConfigError(f'"{view.name}" can\'t be read: {not_understood(view.query).message}')
    for table in list(tables_in(tree)):
        name = fold(table.this)
        declared = (
            (policy.tables.get(name) or policy.views.get(name)) if fold(table.args.get("db")) == "public" else None
        )
        if declared is None:
            allowed = ", ".join(sorted((*policy.tables, *policy.views)))
            raise ConfigError(
                f'"{view.name}" reads "{_written(table)}", which is no declared table; allowed: {allowed}'
            )
        table.replace(_viewed(table, declared))
    return replace(view, tree=tree)


def _written(table: exp.Table) -> str:
    return ".".join(part.name for part in (table.args.get("db"), table.this) if part is not None)


def _viewed(table: exp.Table, declared: Table | View) -> exp.Expr:
    """Return a table or a view as it stands in the query of a view."""
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(declared.name, quoted=True))
    if isinstance(declared, View):
        return exp.Subquery(this=_tree(declared).copy(), alias=alias.copy())
    table.set("db", exp.to_identifier("public", quoted=True))
    table.set("alias", alias.copy())
    if declared.public:
        return table.copy()
    columns = (f"CAST(NULL AS {_type(c)}) AS {quoted_name(c.name)}" for c in declared.columns.values())
    return ViewedTable(**dict(table.copy().args), typed=f"(SELECT {', '.join(columns)})")


def _type(column: Column) -> str:
    """Return a column's type by a name that no search path changes."""
    return column.spelled_type


def columns_of(view: View, policy: Policy) -> tuple[str, ...]:
    """Return the names of a view's columns, in order."""
    return tuple(name for name, _ in output_columns(_tree(view), {}, policy))
