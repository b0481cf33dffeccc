"""The plan of one statement: what is measured for each of its scopes, and the text that waits for the answers."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpsql.errors import DpsqlError, InternalError
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.plan import Plan
from dpsql.privacy.measurement.planner import World, measure
from dpsql.question import Argument, Field
from dpsql.rewrite.ir.evaluator import Oracle
from dpsql.rewrite.ir.expr import Expr
from dpsql.rewrite.syntax.aggregate_names import is_aggregate
from dpsql.rewrite.syntax.analyze import Asked
from dpsql.rewrite.syntax.columns import output_name
from dpsql.rewrite.syntax.dialect import render
from dpsql.rewrite.syntax.parse import Statement
from dpsql.rewrite.syntax.scopes import Scope, find
from dpsql.rewrite.syntax.splice import ANSWER, Match, drop_private_ctes, replace_scope
from dpsql.rewrite.translate.aggregates import aggregate
from dpsql.rewrite.translate.constants import Constants
from dpsql.rewrite.translate.context import Translator
from dpsql.rewrite.translate.relations import Tracker

_NAME_LENGTH = 63


@dataclass(frozen=True, slots=True)
class Answered:
    """One scope: its plan, and the names and types of the columns that its answer has."""

    plan: Plan
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
    world: World
    oracle: Oracle

    def plan(self, asked: Asked, described: Sequence[Sequence[Field]], arguments: Sequence[Argument]) -> StatementPlan:
        """Return the plan of a statement whose query and probes the shadow has described.

        Raises:
            DpsqlError: the statement can't be answered.
        """
        if asked.statement is None:
            raise InternalError
        tree = asked.statement.tree.copy()
        scopes = find(tree, self.policy).scopes
        tracker = Tracker(self.policy, self.world.role, Constants(arguments, self.oracle), self.world.declared)
        tracked = [self._measured(scope, tracker) for scope in scopes]
        answered = tuple(_answered(s, p, f) for s, (p, _), f in zip(scopes, tracked, described[1:], strict=True))
        for index, (scope, (_, match)) in enumerate(zip(scopes, tracked, strict=True)):
            names = _names(scope, tree, described[0])
            replace_scope(scope, match, names, _placeholder(asked.statement, index))
        drop_private_ctes(tree, self.policy)
        text = asked.statement.prefix + render(tree) + asked.statement.suffix
        places = [f'"{_placeholder(asked.statement, i)}"' for i in range(len(answered))]
        return StatementPlan(*_ordered(answered, places, text))

    def _measured(self, scope: Scope, tracker: Tracker) -> tuple[Plan, Match]:
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


def _answered(scope: Scope, plan: Plan, fields: Sequence[Field]) -> Answered:
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


def _placeholder(statement: Statement, index: int) -> str:
    """Return a name that no literal of the statement can contain: it depends on the whole of it."""
    return f"_dpsql {index} {hashlib.sha256(statement.query.encode()).hexdigest()}"[:_NAME_LENGTH]


def _ordered(
    answered: tuple[Answered, ...], names: Sequence[str], text: str
) -> tuple[tuple[Answered, ...], tuple[str, ...]]:
    """Cut the text where the answers go; scopes in the order in which they stand there."""
    places = [(text.index(f"{name} AS {ANSWER}"), i) for i, name in enumerate(names)]
    pieces, end = [], 0
    for at, index in sorted(places):
        pieces.append(text[end:at])
        end = at + len(names[index])
    return tuple(answered[i] for _, i in sorted(places)), (*pieces, text[end:])
