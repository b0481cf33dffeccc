"""What a role may read: tables and views by name; whoever may use a view need not be granted what the view reads.

FROM by_card, with tables: [by_card]  →  allowed, though the view reads trips
FROM by_card, trips                   →  permission denied for table "trips"
"""

from collections.abc import Iterable

from sqlglot import exp

from dpsql.errors import AccessDenied
from dpsql.policy.model import Role, Table
from dpsql.rewrite.syntax.read.view_nodes import ViewedTable, ViewRead


def require_table(role: Role, table: Table, item: exp.Table) -> None:
    """Check that a role may use a table, or reads it in a view.

    Raises:
        AccessDenied: it may not.
    """
    if not (table.public or isinstance(item, ViewedTable)):
        _require(role, "table", table.name)


def require_views(role: Role, nodes: Iterable[exp.Expr]) -> None:
    """Check that a role may use every view that is among the nodes of a query.

    Raises:
        AccessDenied: it may not.
    """
    for read in nodes:
        if isinstance(read, ViewRead) and not read.args["public"]:
            _require(role, "view", read.view)


def _require(role: Role, what: str, name: str) -> None:
    if not role.may_use(name):
        raise AccessDenied(
            f'permission denied for {what} "{name}"',
            because="table-not-granted",
            hint=f'The role "{role.name}" may use: {", ".join(sorted(role.tables or ())) or "no table"}.',
        )
