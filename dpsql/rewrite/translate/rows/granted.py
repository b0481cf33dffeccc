"""The rights of a role to tables and views, by name; a view that is granted may read tables that are not.

FROM by_card, with tables: [by_card]          →  allowed, though the view reads trips
FROM by_card, trips                           →  permission denied for table "trips"
avg(tip), with columns: {trips: [fare]}       →  permission denied for column "tip" of table "trips"
FROM trips, with where: {trips: seats > 1}    →  as if (SELECT * FROM trips WHERE seats > 1) AS trips stood there

Claim: a role is told of rows for which its condition holds, and of no others. Proof: each place that names a table
becomes a relation with the condition in it, in views, too, before any other rule sees it. So the condition is in the
measurement and in the identity under which its release is stored. A stored release is read only if the same identity
follows from the question. Columns are checked where names become columns, and every name passes there.
"""

from collections.abc import Iterable

from sqlglot import exp

from dpsql.errors import AccessDenied, InternalError
from dpsql.policy.model import Role, RowCondition, Table
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.syntax.named.columns import fold, item_name
from dpsql.rewrite.syntax.read.dialect import ViewedTable, ViewRead


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


def require_column(role: Role, ref: Ref) -> None:
    """Check that a role may name a column.

    Raises:
        AccessDenied: it may not.
    """
    require_columns(role, ref.table, (ref.column.stored_name,))


def require_columns(role: Role, table: str, names: Iterable[str]) -> None:
    """Check that a role may name columns of a table.

    Raises:
        AccessDenied: it may not.
    """
    for name in names:
        if not role.may_name(table, name):
            raise AccessDenied(
                f'permission denied for column "{name}" of table "{table}"',
                because="column-not-granted",
                hint=f'Of it the role "{role.name}" may name: {", ".join(sorted(role.columns[table]))}.',
            )


def require_probed(role: Role, trees: Iterable[exp.Expr]) -> None:
    """Check that a role may name the columns of queries that are asked for their columns alone; PostgreSQL does so, too.

    Raises:
        AccessDenied: it may not name one, of which PostgreSQL would not say what may be named instead.
    """
    for tree in trees:
        named = {item_name(item): fold(item.this) for item in tree.find_all(exp.Table)}
        for column in tree.find_all(exp.Column):
            table = fold(column.args.get("table"))
            for of in {named[table]} if table in named else set(named.values()) if not table else ():
                require_columns(role, of, (fold(column.this),))


def bound_tree(condition: RowCondition) -> exp.Expr:
    """Return the condition that rows have to satisfy, as PostgreSQL reads it."""
    if not isinstance(condition.tree, exp.Expr):
        raise InternalError  # the policy's conditions were not read
    return condition.tree


def _require(role: Role, what: str, name: str) -> None:
    if not role.may_use(name):
        raise AccessDenied(
            f'permission denied for {what} "{name}"',
            because="table-not-granted",
            hint=f'The role "{role.name}" may use: {", ".join(sorted(role.tables or ())) or "no table"}.',
        )
