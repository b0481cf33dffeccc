"""The plan of one statement: what is measured for each of its scopes, and the text that waits for the answers."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpsql.errors import DpsqlError, InternalError
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.planner import PlanningContext, measure
from dpsql.question import Argument, Field
from dpsql.rewrite.ir.evaluator import ConstantEvaluator
from dpsql.rewrite.ir.expr import Expr
from dpsql.rewrite.syntax.aggregate_names import is_aggregate
from dpsql.rewrite.syntax.analyze import AnalyzedStatement
from dpsql.rewrite.syntax.dialect import render
from dpsql.rewrite.syntax.output_names import output_name
from dpsql.rewrite.syntax.parse import Query
from dpsql.rewrite.syntax.scopes import Scope, find
from dpsql.rewrite.syntax.splice import ANSWER, Match, drop_private_ctes, replace_scope
from dpsql.rewrite.syntax.undefined import without_failing
from dpsql.rewrite.translate.aggregates import aggregate
from dpsql.rewrite.translate.constants import Constants
from dpsql.rewrite.translate.context import Translator
from dpsql.rewrite.translate.relations import Tracker

_NAME_LENGTH = 63


@dataclass(frozen=True, slots=True)
class Answered:
    """One scope: its plan, and the names and types of the columns that its answer has."""

    plan: MeasurementPlan
    columns: tuple[str, ...]
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """A whole statement: its scopes, and its text in pieces between which their answers stand."""

    scopes: tuple[Answered, ...]
    pieces: tuple[str, ...]

    def text(self, tables: Sequence[str]) -> str:
        """Return the statement with a table in the place of each scope's rows."""
        return "".join(part for pair in zip(self.pieces, (*tables, ""), strict=True) for part in pair)


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans statements of one role."""

    policy: Policy
    world: PlanningContext
    oracle: ConstantEvaluator

    def plan(
        self, asked: AnalyzedStatement, described: Sequence[Sequence[Field]], arguments: Sequence[Argument]
    ) -> StatementPlan:
        """Return the plan of a statement whose query and probes the shadow has described.

        Raises:
            DpsqlError: the statement can't be answered.
        """
        if asked.statement is None:
            raise InternalError
        constants, rest = Constants(arguments, self.oracle), list(described)
        queries = [self._query(query, constants, rest) for query in asked.statement.queries]
        text = asked.statement.text([text for _, text in queries])
        scopes = [scope for found, _ in queries for scope in found]
        return StatementPlan(*_ordered(scopes, text))

    def _query(
        self, query: Query, constants: Constants, described: list[Sequence[Field]]
    ) -> tuple[list[tuple[str, Answered]], str]:
        """Return a query's scopes by the names that stand for their rows, and its text with these names.

        The descriptions of the query and of its scopes are taken from `described`.
        """
        tree, whole = query.tree.copy(), described.pop(0)
        scopes = find(tree, self.policy).scopes
        fields = [described.pop(0) for _ in scopes]
        tracker = Tracker(self.policy, self.world.role, constants, self.world.declared)
        try:
            tracked = [self._measured(scope, tracker) for scope in scopes]
            answered = [_answered(s, p, f) for s, (p, _), f in zip(scopes, tracked, fields, strict=True)]
            places = [_placeholder(query, index) for index, _ in enumerate(scopes)]
            for scope, (_, match), place in zip(scopes, tracked, places, strict=True):
                replace_scope(scope, match, _names(scope, tree, whole), place)
        except DpsqlError as error:
            raise query.placed(error).error() from None
        drop_private_ctes(tree, self.policy)
        without_failing(tree)
        return list(zip(places, answered, strict=True)), render(tree)

    def _measured(self, scope: Scope, tracker: Tracker) -> tuple[MeasurementPlan, Match]:
        relation, t = tracker.scope(scope.select, scope.ctes)
        keys = tuple(t.expression(key) for key in scope.keys)
        asked = tuple(aggregate(t, node) for node in scope.aggregates)
        sets = None if scope.grouping.plain else scope.grouping.sets
        return measure(relation, keys, sets, asked, self.world), _matcher(scope, keys, t)


def _matcher(scope: Scope, keys: Sequence[Expr], t: Translator) -> Match:
    """Return which column of the answer a node is: by its text, or because it means the same as a key."""
    texts: Mapping[str, str] = {
        **{render(node): f"g{i}" for i, node in enumerate(scope.keys)},
        **{render(node): f"a{i}" for i, node in enumerate(scope.aggregates)},
    }

    kinds = {type(node) for node in (*scope.keys, *scope.aggregates)}

    def match(node: exp.Expr) -> str | None:
        found = texts.get(render(node)) if type(node) in kinds else None
        if found is not None or not keys or isinstance(node, exp.Query) or node.find(exp.Column) is None:
            return found
        if any(is_aggregate(part) or isinstance(part, (exp.Window, exp.Query)) for part in node.walk()):
            return None
        try:
            expr = t.expression(node)
        except DpsqlError:
            return None
        return next((f"g{i}" for i, key in enumerate(keys) if key == expr), None)

    return match


def _answered(scope: Scope, plan: MeasurementPlan, fields: Sequence[Field]) -> Answered:
    columns = [f"g{i}" for i in range(len(scope.keys))] + [f"a{i}" for i in range(len(scope.aggregates))]
    if columns and len(fields) != len(columns):
        raise InternalError
    types = [field.type for field in fields] if columns else []  # GROUP BY () has neither keys nor aggregates
    return Answered(plan, tuple(columns), tuple(types))


def _names(scope: Scope, tree: exp.Query, whole: Sequence[Field]) -> list[str]:
    """Return the output names of a scope: the shadow's own where the scope is the whole query."""
    if scope.select is tree and len(whole) == len(scope.select.expressions):
        return [field.name for field in whole]
    return [output_name(node) for node in scope.select.expressions]


def _placeholder(query: Query, index: int) -> str:
    """Return a name that no literal of the statement can contain: it depends on the whole of it."""
    return f"_dpsql {index} {hashlib.sha256(f'{query.offset} {query.text}'.encode()).hexdigest()}"[:_NAME_LENGTH]


def _ordered(scopes: Sequence[tuple[str, Answered]], text: str) -> tuple[tuple[Answered, ...], tuple[str, ...]]:
    """Cut the text where the answers go; scopes in the order in which they stand there."""
    places = sorted((text.index(f'"{name}" AS {ANSWER}'), i) for i, (name, _) in enumerate(scopes))
    pieces, end = [], 0
    for at, index in places:
        pieces.append(text[end:at])
        end = at + len(scopes[index][0]) + 2
    return tuple(scopes[index][1] for _, index in places), (*pieces, text[end:])
