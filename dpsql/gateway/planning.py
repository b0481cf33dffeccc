"""From a statement to what is measured for it: the stages resolve, track and measure.

Nothing here reads a record: it all depends on the statement, the policy and public rows only.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp

from dpsql.errors import DpsqlError, InternalError
from dpsql.gateway.placeholders import placeholder
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.planner import PlanningContext, measure
from dpsql.question import Argument, ColumnDescription
from dpsql.rewrite.ir.evaluator import ConstantEvaluator
from dpsql.rewrite.ir.expr import Expr
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.syntax.analyze import AnalyzedStatement
from dpsql.rewrite.syntax.dialect import render
from dpsql.rewrite.syntax.output_names import output_name
from dpsql.rewrite.syntax.parse import Query, Statement
from dpsql.rewrite.syntax.scopes import Scope, find
from dpsql.rewrite.syntax.splice import ANSWER, Match, drop_private_ctes, replace_scope
from dpsql.rewrite.syntax.trees import copied
from dpsql.rewrite.syntax.undefined import without_failing
from dpsql.rewrite.translate.aggregates import Aggregate, aggregate
from dpsql.rewrite.translate.constants import Constants
from dpsql.rewrite.translate.matching import matcher
from dpsql.rewrite.translate.relations import Tracker


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """One query with its scopes, and the columns that the shadow has described for each."""

    query: Query
    tree: exp.Query
    """A copy of the query's, which `measure` changes."""
    columns: Sequence[ColumnDescription]
    scopes: tuple[tuple[Scope, Sequence[ColumnDescription]], ...]


@dataclass(frozen=True, slots=True)
class ResolvedStatement:
    """A statement whose names and types are PostgreSQL's own."""

    statement: Statement
    queries: tuple[ResolvedQuery, ...]


@dataclass(frozen=True, slots=True)
class TrackedScope:
    """What one scope reads and asks: the rows, the keys of their groups, and the aggregates of each group."""

    scope: Scope
    columns: Sequence[ColumnDescription]
    relation: Relation
    keys: tuple[Expr, ...]
    aggregates: tuple[Aggregate, ...]
    match: Match
    """Which column of the answer a node of the scope is."""


@dataclass(frozen=True, slots=True)
class TrackedStatement:
    """A statement of whose every column is known whose it is and how far it reaches: the scopes query by query."""

    statement: Statement
    queries: tuple[tuple[ResolvedQuery, tuple[TrackedScope, ...]], ...]


@dataclass(frozen=True, slots=True)
class ScopePlan:
    """One scope: what is measured for it, and the names and types of the columns that its answer has."""

    plan: MeasurementPlan
    columns: tuple[str, ...]
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """A whole statement: its scopes, and its text in pieces between which their answers stand."""

    scopes: tuple[ScopePlan, ...]
    pieces: tuple[str, ...]

    def text(self, tables: Sequence[str]) -> str:
        """Return the statement with a table in the place of each scope's rows."""
        return "".join(part for pair in zip(self.pieces, (*tables, ""), strict=True) for part in pair)


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans statements of one role; each stage takes what the one before it returns.

    Raises:
        DpsqlError: at any stage, where the statement can't be answered.
    """

    policy: Policy
    context: PlanningContext
    evaluator: ConstantEvaluator

    def resolve(
        self, analyzed: AnalyzedStatement, described: Sequence[Sequence[ColumnDescription]]
    ) -> ResolvedStatement:
        """Return the statement with what the shadow has described: each query, followed by each of its scopes."""
        if analyzed.statement is None:
            raise InternalError
        rest = iter(described)
        return ResolvedStatement(
            analyzed.statement, tuple(self._resolved(query, rest) for query in analyzed.statement.queries)
        )

    def _resolved(self, query: Query, described: Iterator[Sequence[ColumnDescription]]) -> ResolvedQuery:
        tree, columns = copied(query.tree), next(described)
        return ResolvedQuery(query, tree, columns, tuple((s, next(described)) for s in find(tree, self.policy).scopes))

    def track(self, resolved: ResolvedStatement, arguments: Sequence[Argument]) -> TrackedStatement:
        """Return the statement with the facts about its rows, scope by scope."""
        constants = Constants(arguments, self.evaluator)
        tracker = Tracker(self.policy, self.context.role, constants, self.context.declared, self.context.unique)
        queries = []
        for one in resolved.queries:
            with _positions_in_statement(one.query):
                queries.append((one, tuple(_tracked(scope, fields, tracker) for scope, fields in one.scopes)))
        return TrackedStatement(resolved.statement, tuple(queries))

    def measure(self, tracked: TrackedStatement) -> StatementPlan:
        """Return what has to be measured for the statement, and its text without the private rows."""
        found: list[tuple[str, ScopePlan]] = []
        texts = []
        for resolved, scopes in tracked.queries:
            places = [placeholder(resolved.query, index) for index, _ in enumerate(scopes)]
            with _positions_in_statement(resolved.query):
                plans = [_scope_plan(scope, self.context) for scope in scopes]
                for scope, place in zip(scopes, places, strict=True):
                    replace_scope(scope.scope, scope.match, _output_names(scope.scope, resolved), place, self.policy)
            drop_private_ctes(resolved.tree, self.policy)
            without_failing(resolved.tree)
            found += zip(places, plans, strict=True)
            texts.append(render(resolved.tree))
        return _in_order_of_text(found, tracked.statement.text(texts))


@contextmanager
def _positions_in_statement(query: Query) -> Iterator[None]:
    """Let errors about a query have their position in the statement."""
    try:
        yield
    except DpsqlError as error:
        raise query.placed(error).error() from None


def _tracked(scope: Scope, columns: Sequence[ColumnDescription], tracker: Tracker) -> TrackedScope:
    relation, t = tracker.scope(scope.select, scope.ctes)
    keys = tuple(t.expression(key) for key in scope.keys)
    aggregates = tuple(aggregate(t, node) for node in scope.aggregates)
    return TrackedScope(scope, columns, relation, keys, aggregates, matcher(scope.keys, keys, scope.aggregates, t))


def _scope_plan(tracked: TrackedScope, context: PlanningContext) -> ScopePlan:
    scope, fields = tracked.scope, tracked.columns
    sets = None if scope.grouping.plain else scope.grouping.sets
    plan = measure(tracked.relation, tracked.keys, sets, tracked.aggregates, context)
    columns = [f"g{i}" for i in range(len(scope.keys))] + [f"a{i}" for i in range(len(scope.aggregates))]
    if columns and len(fields) != len(columns):
        raise InternalError
    types = [field.type for field in fields] if columns else []  # GROUP BY () has neither keys nor aggregates
    return ScopePlan(plan, tuple(columns), tuple(types))


def _output_names(scope: Scope, resolved: ResolvedQuery) -> list[str]:
    """Return the output names of a scope: the shadow's own where the scope is the whole query."""
    if scope.select is resolved.tree and len(resolved.columns) == len(scope.select.expressions):
        return [field.name for field in resolved.columns]
    return [output_name(node) for node in scope.select.expressions]


def _in_order_of_text(scopes: Sequence[tuple[str, ScopePlan]], text: str) -> StatementPlan:
    """Cut the text where the answers go, and put the scopes in the order in which they stand there."""
    places = sorted((text.index(f'"{name}" AS {ANSWER}'), i) for i, (name, _) in enumerate(scopes))
    pieces, end = [], 0
    for at, index in places:
        pieces.append(text[end:at])
        end = at + len(scopes[index][0]) + 2
    return StatementPlan(tuple(scopes[index][1] for _, index in places), (*pieces, text[end:]))
