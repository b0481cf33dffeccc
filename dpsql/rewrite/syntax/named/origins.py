"""Which column of a table each column of a query is, where it is one as it stands: what is declared of that holds here, too.

SELECT r.fare, fare + tip AS total FROM rides AS r  →  fare: rides.fare
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.columns import from_items
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.output_names import output_name

Origins = Mapping[str, tuple[str, str]]
"""Tables and their columns by the names of a query's."""


def origins(query: exp.Expr, policy: Policy, ctes: Mapping[str, exp.CTE] = {}) -> Origins:
    """Return where the columns of a query come from: those that are computed, or stand in a union, from nowhere."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return {}
    own = query.args.get("with_")
    visible = {**ctes, **{fold(c.args["alias"].this): c for c in (own.expressions if own else ())}}
    items = {_alias(item): _of_item(item, policy, visible) for item in from_items(query)}
    found: dict[str, tuple[str, str]] = {}
    for output in query.expressions:
        column = output.unalias()
        if isinstance(output, exp.Star) or (isinstance(output, exp.Column) and isinstance(output.this, exp.Star)):
            table = fold(output.args.get("table"))
            for alias, columns in items.items():
                found |= columns if table in {"", alias} else {}
        elif isinstance(column, exp.Column):
            table, name = fold(column.args.get("table")), fold(column.this)
            places = [columns[name] for alias, columns in items.items() if table in {"", alias} and name in columns]
            if len(places) == 1:
                found[output_name(output)] = places[0]
    return found


def _of_item(item: exp.Expr, policy: Policy, ctes: Mapping[str, exp.CTE]) -> Origins:
    alias = item.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        return {}
    if isinstance(item, exp.Subquery):
        return origins(item, policy, ctes)
    if not isinstance(item, exp.Table):
        return {}
    name = fold(item.this)
    if name in ctes and not item.args.get("db"):
        cte = ctes[name]
        if cte.args["alias"].args.get("columns"):
            return {}
        return origins(cte.this, policy, {k: v for k, v in ctes.items() if k != name})
    table = policy.tables.get(name)
    return {} if table is None else {column: (name, column) for column in table.columns}


def _alias(item: exp.Expr) -> str:
    alias = item.args.get("alias")
    named = fold(alias.this) if isinstance(alias, exp.TableAlias) else ""
    return named or (fold(item.this) if isinstance(item, exp.Table) else "")
