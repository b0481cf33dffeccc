"""One scope whose columns have their tables and ranges.

SELECT payment_type, avg(fare) FROM trips GROUP BY 1  →  the rows of trips, the key payment_type, the mean of fare
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from sqlglot import exp

from dpsql.errors import DpsqlError, MissingBounds, Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType
from dpsql.privacy.features.chosen_end import wide_rows
from dpsql.privacy.features.design import range_of_quotient
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.question import ColumnDescription
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.ir.expr import Expr, Facts, Ref, refs
from dpsql.rewrite.ir.literal import format_value, simplest
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.named.columns import fold, from_items, item_name, output_name
from dpsql.rewrite.syntax.read.parse import Query
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.scopes import Scope
from dpsql.rewrite.syntax.whole.single_row import ReleasedRows
from dpsql.rewrite.syntax.whole.splice import Match, substitute_columns
from dpsql.rewrite.translate.public.constants import Constants
from dpsql.rewrite.translate.rows.aggregates import Aggregate, ComputedStatistic, Margin, Moment, aggregate, matcher
from dpsql.rewrite.translate.rows.computed_statistics import Total, parts_of, refused_margin
from dpsql.rewrite.translate.rows.per_unit import AggregatedArgument, unit_value
from dpsql.rewrite.translate.rows.relations import Tracker
from dpsql.rewrite.translate.values.context import Names, Translator
from dpsql.rewrite.translate.values.translator import translator
from dpsql.shadow.splice import released_table

# Quotients of which it is known where they lie are shown there, as averages are: a share of the whole is from 0 to 1.
#
#     n / w  →  CASE WHEN w <= 0 THEN NULL WHEN n < 0 THEN 0 WHEN n > w THEN w ELSE n END / w
#
# for n = count(*) FILTER (WHERE …) and w = count(*). Of sum(fare) / count(*) the ends are those of the fares, times w.
# The shown value is no further from the truth than the measured one, follows from it alone, and is NULL where there
# seems to be no row.


@dataclass(frozen=True, slots=True)
class Quotient:
    """A statistic, or a constant times one, divided by another."""

    part: exp.Expr
    whole: exp.Expr
    numerator: Moment
    divisor: Moment

    @property
    def of_sum_by_count(self) -> bool:
        """Return whether it is a mean, or would be if both were of the same rows."""
        return self.numerator.name == "sum" and self.divisor.name == "count"

    def keep_possible(self, declared: DeclaredFacts) -> None:
        """Change what is divided, in its tree, so that the quotient lies where it is known to lie."""
        numerator, other = self.numerator, self.divisor
        env = declared.env(refs(*numerator.args, numerator.where, *other.args, other.where))
        ends = range_of_quotient(numerator, other, partial(facts, env=env))
        if ends is not None:
            self.part.replace(_kept(self.part, self.whole, ends))


def quotients(scope: Scope, aggregates: Sequence[Aggregate], match: Match) -> Iterator[Quotient]:
    """Yield those of a scope's aggregates, of which `match` says what a node is."""
    kinds, select = {type(node) for node in scope.aggregates}, scope.select

    def moment(node: exp.Expr | None) -> Moment | None:
        name = match(node) if node is not None and type(node) in kinds else None
        asked = aggregates[int(name[1:])] if name is not None and name.startswith("a") else None
        return asked if isinstance(asked, Moment) else None

    for clause in (*select.expressions, select.args.get("having"), select.args.get("order")):
        for node in every(clause, exp.Div) if clause is not None else ():
            part, whole = _multiplied(node.this, kinds), _divided_by(node.expression)
            numerator, divisor = moment(part), moment(whole)
            if part is not None and numerator is not None and divisor is not None:
                yield Quotient(part, whole, numerator, divisor)


def _multiplied(node: exp.Expr, kinds: set[type[exp.Expr]]) -> exp.Expr | None:
    """Return the aggregate that a node is, or a constant times one."""
    while type(node) not in kinds:
        match node:
            case exp.Mul() if _is_constant(node.this):
                node = node.expression
            case exp.Mul() if _is_constant(node.expression):
                node = node.this
            case exp.Paren() | exp.Cast():
                node = node.this
            case _:
                return None
    return node


def _divided_by(node: exp.Expr) -> exp.Expr:
    """Return the divisor, also if it is cast, or NULL for 0."""
    while True:
        match node:
            case exp.Paren() | exp.Cast():
                node = node.this
            case exp.Anonymous(expressions=[dividend, exp.Literal()]) if function_name(node) == "nullif":
                node = dividend
            case _:
                return node


def _is_constant(node: exp.Expr) -> bool:
    while isinstance(node, (exp.Paren, exp.Cast, exp.Neg)):
        node = node.this
    return isinstance(node, exp.Literal)


def _kept(part: exp.Expr, whole: exp.Expr, ends: Interval) -> exp.Expr:
    low, high = (_times(end, whole) for end in (ends.low, ends.high))
    return exp.Case(
        ifs=[
            exp.If(this=exp.LTE(this=whole.copy(), expression=exp.Literal.number(0)), true=exp.Null()),
            exp.If(this=exp.LT(this=part.copy(), expression=low), true=low.copy()),
            exp.If(this=exp.GT(this=part.copy(), expression=high), true=high.copy()),
        ],
        default=part.copy(),
    )


def _times(end: Fraction, whole: exp.Expr) -> exp.Expr:
    if end in {0, 1}:
        return whole.copy() if end else exp.Literal.number(0)
    number = exp.Literal.number(format_value(simplest(abs(end)), SqlType.NUMERIC))
    return exp.Mul(this=exp.Paren(this=exp.Neg(this=number)) if end < 0 else number, expression=whole.copy())


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
        and isinstance(asked.of, ComputedStatistic)
        and any(isinstance(part, Total) for part in parts_of(asked.of.formula))
    )


# Between which values the columns of an inner answer lie, by the policy's bounds of what was aggregated.
#
#     SELECT avg(fare) AS m, stddev(fare) AS s FROM trips, fare in [0, 150]   →  m in [0, 150], s in [0, 106.1]
#     SELECT 2 * (SELECT max(tip) FROM trips) AS answer, tip in [0, 40]       →  answer in [0, 80]
#
# A released value may lie outside, by its noise: it is clamped before anything is computed of it among private rows
# (`DeferredTable.answered`). So what is computed has bounds, for any answer. Sums and counts have none.

_PASSING = frozenset({"expressions", "from_", "where", "order", "limit", "offset", "with_", "distinct", "kind"})
"""The clauses of a query whose rows are some of those in its FROM."""


@dataclass(frozen=True, slots=True)
class AnswerBounds:
    """Finds bounds of the outputs of queries over released rows; whatever it does not know has none."""

    scopes: Mapping[int, TrackedScope]
    """The scopes of a statement by their SELECTs."""
    constants: Constants
    declared: DeclaredFacts

    @classmethod
    def of(cls, scopes: Sequence[TrackedScope], constants: Constants, declared: DeclaredFacts) -> "AnswerBounds":
        """Build for a statement with these scopes."""
        return cls({id(tracked.scope.select): tracked for tracked in scopes}, constants, declared)

    def outputs(self, query: exp.Expr, ctes: Mapping[str, exp.CTE] | None = None) -> Mapping[str, Column]:
        """Return the outputs that are within bounds, in order."""
        while isinstance(query, exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Select):
            return {}
        own = query.args.get("with_")
        # Names of the query itself hide those around it.
        ctes = {**(ctes or {}), **{fold(c.args["alias"].this): c for c in (own.expressions if own else ())}}
        tracked = self.scopes.get(id(query))
        if tracked is not None:
            names, match = self._of_scope(tracked), tracked.match
            return self._computed(query, Names({"": names}), ctes, lambda node: substitute_columns(node, match, None))
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

    def _argument(self, tracked: TrackedScope, expr: Expr) -> AggregatedArgument:
        env = refine_by_predicate(refs(expr), tracked.relation.condition, self.declared)
        return AggregatedArgument(expr, facts(expr, {**self.declared.env(refs(expr)), **(env or {})}), 1)

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


# The plan of a statement as values: its measurements, and its text in pieces between which the answers stand.


@dataclass(frozen=True, slots=True)
class ScopePlan:
    """One scope: its measurements, and the names and types of the columns that its answer has."""

    plan: MeasurementPlan
    columns: tuple[str, ...]
    types: tuple[str, ...]
    waiting: Relation | None = None
    """Its rows, where they wait for inner answers: groups that these leave no row are none, even if nothing is measured."""

    @property
    def rows(self) -> ReleasedRows:
        """Return the facts about its answer's rows."""
        groups = self.plan.groups
        if self.plan.sets is not None:
            return ReleasedRows(None, None, self.columns)
        declared = all(key.shown is not None for key in groups.keys)
        keys = frozenset(self.columns[: len(groups.keys)])
        return ReleasedRows(len(groups.shown) if declared else None, keys, self.columns)


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """A whole statement: its scopes, and its text in pieces between which their answers stand."""

    scopes: tuple[ScopePlan, ...]
    pieces: tuple[str, ...]
    inner: tuple["StatementPlan", ...] = ()
    """The inner queries whose answers its measurements wait for; their texts are for the shadow that planning asks."""

    def over(self, rows: Iterable[Sequence[Sequence[str | None]]]) -> str:
        """Return the statement over rows of each scope: what is released, what is made up, or none."""
        tables = [
            released_table(scope.columns, scope.types, each) for scope, each in zip(self.scopes, rows, strict=True)
        ]
        return "".join(part for pair in zip(self.pieces, (*tables, ""), strict=True) for part in pair)

    def stages(self) -> Iterator["StatementPlan"]:
        """Yield the plans of inner queries, each before what waits for it, and then this one."""
        for inner in self.inner:
            yield from inner.stages()
        yield self


def in_pieces(scopes: Sequence[tuple[str, ScopePlan]], text: str, inner: Sequence[StatementPlan] = ()) -> StatementPlan:
    """Cut a text wherever one of the names stands, and put the scopes in that order.

    A scope that stands nowhere is part of an inner query, and one in a CTE may stand in several places.
    """
    plans = dict(scopes)
    places = sorted((start, name) for name in plans for start in _places(name, text))
    ends = [0, *(start + len(name) for start, name in places)]
    starts = [*(start for start, _ in places), len(text)]
    pieces = tuple(text[end:start] for end, start in zip(ends, starts, strict=True))
    return StatementPlan(tuple(plans[name] for _, name in places), pieces, tuple(inner))


def _places(name: str, text: str) -> Iterator[int]:
    start = text.find(name)
    while start >= 0:
        yield start
        start = text.find(name, start + len(name))


# Names that stand in a query's text for what is put there later.

_NAME_LENGTH = 63


def placeholder(query: Query, label: object) -> str:
    """Return a name that no literal of the query's statement can contain: it depends on the whole of the query."""
    # PostgreSQL would cut a longer name. More than 180 bits of the hash are left.
    return f"_dpsql {label} {hashlib.sha256(f'{query.offset} {query.text}'.encode()).hexdigest()}"[:_NAME_LENGTH]
