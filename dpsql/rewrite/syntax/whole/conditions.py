"""The conditions of the policy's roles: read once, as a query over the one table that each is about.

SELECT 1 FROM public.trips AS trips WHERE (seats > 1)  →  trips.seats > 1

Promise: nothing but the row decides whether one holds: no time, no setting of a session, no other row. The shadow has seen to
that, which takes it as the predicate of an index.
"""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from dpsql.errors import ConfigError, DpsqlError
from dpsql.policy.model import Policy, Role, RowCondition, TableName
from dpsql.rewrite.ir.literal import quoted_name
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.parse import ReadQuery

_CLAUSES = frozenset({"expressions", "from_", "where"})


def bound_conditions(policy: Policy, read: ReadQuery) -> Policy:
    """Return the policy with the trees of its roles' conditions.

    Raises:
        ConfigError: with a line for each that can't be read: file, line, key and reason.
    """
    wrong: list[str] = []

    def bound(role: Role) -> Mapping[str, RowCondition]:
        conditions = {}
        for table, condition in role.where.items():
            try:
                conditions[table] = replace(condition, tree=_read(table, condition.text, read))
            except DpsqlError as failed:
                wrong.append(f"{condition.place}: {failed.message}")
        return conditions

    roles = {name: replace(role, where=bound(role)) for name, role in policy.roles.items()}
    if wrong:
        raise ConfigError("\n".join(sorted(wrong)), hint="docs/configuration.md says what a condition may be.")
    return replace(policy, roles=roles)


def _read(table: str, text: str, read: ReadQuery) -> exp.Expr:
    where = TableName.of(table)
    # The line feed ends a comment in the text, which would hide the bracket. A text that closes the bracket itself, as
    # `true) GROUP BY (seats` does, gives the query another clause than these three, or makes another kind of query of it.
    tree = read(f"SELECT 1 FROM {where.quoted} AS {quoted_name(where.name)} WHERE (\n{text}\n)")
    if tree is None:
        raise ConfigError("can't be read; write it with fewer kinds of operations")
    if not _is_plain(tree, table):
        raise ConfigError("is more than a condition over the table's own columns")
    condition: exp.Expr = tree.args["where"].this
    return condition


def _is_plain(tree: exp.Query, table: str) -> bool:
    """Return whether a query is one of all rows of a table for which a condition holds."""
    if not isinstance(tree, exp.Select) or {key for key, value in tree.args.items() if value} != _CLAUSES:
        return False
    item = tree.args["from_"].this
    named = isinstance(item, exp.Table) and fold(item.this) == table and not item.args.get("joins")
    return named and tree.args["where"].find(exp.Query, exp.Placeholder, exp.Parameter) is None
