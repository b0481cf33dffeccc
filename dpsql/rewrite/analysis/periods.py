"""Whether rows of a growing table are told apart by its periods: what all standing questions have in common.

FROM visits GROUP BY admitted_at::date, ward     →  the first key, where the table grows by the day of admitted_at
"""

from collections.abc import Sequence

from dpsql.rewrite.functions.spans import truncated
from dpsql.rewrite.ir.expr import Expr, Ref
from dpsql.rewrite.ir.relation import Relation


def is_by_period(relation: Relation, keys: Sequence[Expr]) -> bool:
    """Return whether a key is the period by which the only table of a relation grows."""
    (source, *others), table = relation.sources, relation.sources[0].table
    grows = table.grows
    if others or source.made is not None or grows is None:
        return False
    by = Ref(0, table.name, grows.by, table.columns[grows.by])
    return any(truncated(key, by) == grows.every.value for key in keys)
