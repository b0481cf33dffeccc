"""One scope whose columns have their tables and ranges.

SELECT payment_type, avg(fare) FROM trips GROUP BY 1  →  the rows of trips, the key payment_type, the mean of fare
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpsql.errors import MissingBounds, Unsupported
from dpsql.gateway.plans.shares import Quotient, quotients
from dpsql.privacy.features.chosen_end import wide_rows
from dpsql.question import ColumnDescription
from dpsql.rewrite.ir.expr import Expr
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.syntax.whole.scopes import Scope
from dpsql.rewrite.syntax.whole.splice import Match
from dpsql.rewrite.translate.rows.aggregates import Aggregate, Computed, Margin, aggregate
from dpsql.rewrite.translate.rows.computed import Total, parts_of, refused_margin
from dpsql.rewrite.translate.rows.matching import matcher
from dpsql.rewrite.translate.rows.relations import Tracker


@dataclass(frozen=True, slots=True)
class TrackedScope:
    """One scope's relation and aggregates: the rows, the keys of their groups, and the aggregates of each group."""

    scope: Scope
    columns: Sequence[ColumnDescription]
    relation: Relation
    keys: tuple[Expr, ...]
    aggregates: tuple[Aggregate, ...]
    match: Match
    """The column of the answer that a node of the scope is."""

    wide: "TrackedScope | None" = None
    """The same with numbers of units in the bounds for the most rows that may be chosen, where there are some."""

    def quotients(self) -> Sequence[Quotient]:
        """Return the quotients of its aggregates."""
        return tuple(quotients(self.scope, self.aggregates, self.match))


def tracked_scope(scope: Scope, columns: Sequence[ColumnDescription], tracker: Tracker) -> TrackedScope:
    """Return one scope's relation and aggregates, also in wide bounds where they are of numbers of units that have some."""
    tracked = _tracked(scope, columns, tracker)
    if wide_rows(tracked.relation) is None:
        return tracked
    try:
        wide = _tracked(scope, columns, replace(tracker, wide=True))
    except (MissingBounds, Unsupported):
        return tracked
    return replace(tracked, wide=wide)


def _tracked(scope: Scope, columns: Sequence[ColumnDescription], tracker: Tracker) -> TrackedScope:
    relation, t = tracker.scope(scope.select, scope.ctes)
    keys = tuple(t.expression(key) for key in scope.keys)
    aggregates = tuple(aggregate(t, node) for node in scope.aggregates)
    if scope.select.args.get("having") and any(map(_reads_total, aggregates)):
        raise refused_margin(
            "dpsql.margin() of a window is not known where HAVING decides which groups are in it",
            "Put the statement with the window into a subquery, and the condition around it.",
        )
    return TrackedScope(scope, columns, relation, keys, aggregates, matcher(scope.keys, keys, scope.aggregates, t))


def _reads_total(asked: Aggregate) -> bool:
    """Return whether a margin is asked of what is computed of other groups, too."""
    return (
        isinstance(asked, Margin)
        and isinstance(asked.of, Computed)
        and any(isinstance(part, Total) for part in parts_of(asked.of.formula))
    )
