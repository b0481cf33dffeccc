"""Between which values the columns of an inner answer lie, by the policy's bounds of what was aggregated.

    SELECT avg(fare) AS m, stddev(fare) AS s FROM trips, fare in [0, 150]   →  m in [0, 150], s in [0, 106.1]
    SELECT 2 * (SELECT max(tip) FROM trips) AS answer, tip in [0, 40]       →  answer in [0, 80]

A released value may lie outside, by its noise: it is clamped before anything is computed of it among private rows
(`AwaitedTable.answered`). So what is computed has bounds, for any answer. Sums and counts have none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpsql.errors import DpsqlError
from dpsql.gateway.plans.tracked_scopes import TrackedScope
from dpsql.policy.model import Column
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.narrowing import narrowed
from dpsql.rewrite.ir.expr import Expr, Facts, Ref, refs
from dpsql.rewrite.syntax.named.columns import fold, from_items, item_name, output_name
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.splice import substituted
from dpsql.rewrite.translate.public.constants import Constants
from dpsql.rewrite.translate.rows.per_unit import Aggregated, unit_value
from dpsql.rewrite.translate.values.context import Names, Translator
from dpsql.rewrite.translate.values.translator import translator

_PASSING = frozenset({"expressions", "from_", "where", "order", "limit", "offset", "with_", "distinct", "kind"})
"""The clauses of a query whose rows are some of those in its FROM."""


@dataclass(frozen=True, slots=True)
class AnswerBounds:
    """Finds bounds of the outputs of queries over released rows; whatever it does not know has none."""

    scopes: Mapping[int, TrackedScope]
    """The scopes of a statement by their SELECTs."""
    constants: Constants
    declared: Declared

    @classmethod
    def of(cls, scopes: Sequence[TrackedScope], constants: Constants, declared: Declared) -> "AnswerBounds":
        """Build for a statement with these scopes."""
        return cls({id(tracked.scope.select): tracked for tracked in scopes}, constants, declared)

    def outputs(self, query: exp.Expr, ctes: Mapping[str, exp.CTE] | None = None) -> Mapping[str, Column]:
        """Return the outputs that are within bounds, in order."""
        while isinstance(query, exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Select):
            return {}
        own = query.args.get("with_")
        ctes = {**(ctes or {}), **{fold(c.args["alias"].this): c for c in (own.expressions if own else ())}}
        tracked = self.scopes.get(id(query))
        if tracked is not None:
            names, match = self._of_scope(tracked), tracked.match
            return self._computed(query, Names({"": names}), ctes, lambda node: substituted(node, match, None))
        if any(value and key not in _PASSING for key, value in query.args.items()):
            return {}
        tables = {item_name(item): self._item(item, ctes) for item in from_items(query)}
        return self._computed(query, Names(tables), ctes, lambda node: node)

    def _item(self, item: exp.Expr, ctes: Mapping[str, exp.CTE]) -> Mapping[str, Expr]:
        """Return the columns within bounds of an element of FROM."""
        alias = item.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            return {}
        if isinstance(item, exp.Subquery):
            columns = self.outputs(item, ctes)
        else:
            name = fold(item.this) if isinstance(item, exp.Table) and not item.args.get("db") else ""
            cte = ctes.get(name)
            if cte is None or cte.args["alias"].args.get("columns"):
                return {}
            columns = self.outputs(cte.this, {key: other for key, other in ctes.items() if key != name})
        return {name: Ref(0, "", name, column) for name, column in columns.items()}

    def _of_scope(self, tracked: TrackedScope) -> Mapping[str, Expr]:
        """Return the aggregates of a scope that are within bounds, by the names that stand for them."""
        names: dict[str, Expr] = {}
        for place, (asked, node) in enumerate(zip(tracked.aggregates, tracked.scope.aggregates, strict=True)):
            try:
                value = unit_value(asked, node, lambda expr: self._argument(tracked, expr))
            except DpsqlError:
                continue
            if not value.grows and value.column.bounds is not None:
                names[f"a{place}"] = Ref(0, "", f"a{place}", value.column)
        return names

    def _argument(self, tracked: TrackedScope, expr: Expr) -> Aggregated:
        env = narrowed(refs(expr), tracked.relation.condition, self.declared)
        return Aggregated(expr, facts(expr, {**self.declared.env(refs(expr)), **(env or {})}), 1)

    def _computed(
        self,
        query: exp.Select,
        names: Names,
        ctes: Mapping[str, exp.CTE],
        placed: Callable[[exp.Expr], exp.Expr],
    ) -> Mapping[str, Column]:
        columns: dict[str, Column] = {}
        for output in query.expressions:
            if isinstance(output, exp.Star):
                columns |= {name: expr.column for name, expr in names.all().items() if isinstance(expr, Ref)}
                continue
            name, node = output_name(output), output.unalias().copy()
            below = every(output.unalias(), exp.Subquery, below=False), every(node, exp.Subquery, below=False)
            values = {id(copy): self._value(original, ctes) for original, copy in zip(*below, strict=True)}
            try:
                inner = {place: value for place, value in values.items() if value is not None}
                t = translator(names, self.constants, self._facts_of, lambda _: None)
                t = Translator(t.names, t.constants, t.facts_of, t.handlers, t.public, inner)
                expr = t.expression(placed(node))
                interval = self._facts_of(expr).interval
            except DpsqlError:
                continue
            if interval is not None:
                columns[name] = Column(name, expr.type, expr.type.value, bounds=interval, nullable=True)
        return columns

    def _value(self, query: exp.Expr, ctes: Mapping[str, exp.CTE]) -> Expr | None:
        """Return the one value of a query that stands for it, if that is within bounds."""
        columns = [*self.outputs(query, ctes).values()]
        return Ref(0, "", columns[0].name, columns[0]) if len(columns) == 1 else None

    def _facts_of(self, expr: Expr) -> Facts:
        return facts(expr, self.declared.env(refs(expr)))
