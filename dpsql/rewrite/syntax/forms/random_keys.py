"""A random number of each row by which rows are told apart: the key of their table does the same.

SELECT rider, gen_random_uuid() AS row FROM trips  →  SELECT rider, trip_id AS row FROM trips

Semantic layers write it for conversions, and partition by it. Claim: no two rows have the same of either, and a statement
that has the call once can do nothing with it but tell its rows apart, since nothing else has such a value: it is grouped and
partitioned by, and never compared or shown.
"""

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.named.columns import Ctes, fold, from_items, item_name, output_name
from dpsql.rewrite.syntax.read.trees import every

_CALL = "gen_random_uuid"
_CLAUSES = frozenset({"expressions", "from_", "where", "kind"})
_TELLING_APART = (exp.Select, exp.Window, exp.Group, exp.Tuple, exp.Alias)
"""Where a column may stand that tells rows apart: among outputs, what is grouped by, and what is partitioned by."""


def number_by_key(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Write the key for the one random number of each row of a protected table."""
    calls = [output for output in select.expressions if _is_call(output.unalias())]
    if len(calls) != 1 or any(value and key not in _CLAUSES for key, value in select.args.items()):
        return
    items = list(from_items(select))
    table = policy.tables.get(fold(items[0].this)) if len(items) == 1 and isinstance(items[0], exp.Table) else None
    if (
        table is None
        or table.public
        or table.key is None
        or (fold(items[0].this) in ctes and not items[0].args.get("db"))
    ):
        return
    whole = select.root()
    name = output_name(calls[0])
    once = sum(1 for node in every(whole, exp.Anonymous) if _is_call(node)) == 1
    if aggregates_of(select) or not once or not all(map(_tells_apart, _named(whole, name))):
        return
    key = exp.column(table.key, item_name(items[0]), quoted=True)
    calls[0].replace(exp.alias_(key, name, quoted=True))


def _is_call(node: exp.Expr) -> bool:
    return function_name(node) == _CALL


def _named(whole: exp.Expr, name: str) -> list[exp.Column]:
    return [column for column in every(whole, exp.Column) if fold(column.this) == name]


def _tells_apart(column: exp.Column) -> bool:
    """Return whether a column is passed on, grouped or partitioned by, under its name and below the outermost query."""
    parent = column.parent
    if isinstance(parent, exp.Alias) and fold(parent.args["alias"]) != fold(column.this):
        return False
    if isinstance(parent, exp.Window):
        return column.arg_key == "partition_by"
    select = column.find_ancestor(exp.Select)
    listed = column.arg_key == "expressions" or isinstance(parent, exp.Alias)
    return isinstance(parent, _TELLING_APART) and listed and select is not None and select is not select.root()
