"""Whether the policy's views can be asked about at all, decided before anything serves: no record is read.

PostgreSQL's complaints about their queries came when the shadow made them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from dpsql.errors import ConfigError, DpsqlError, InternalError
from dpsql.gateway.plans.planning import Planner
from dpsql.policy.model import Policy, Role, TableName, View
from dpsql.privacy.measurement.planner import PlanningContext
from dpsql.question import ColumnDescription
from dpsql.rewrite.analysis.bounds import facts, facts_if_possible
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.owners import Unique, owners
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.bind.bound_reader import Binder, BoundReader, PlanningShadow, is_moving
from dpsql.rewrite.ir.expr import TRUE, Facts, conjuncts, refs
from dpsql.rewrite.ir.literal import quoted_name
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.syntax.whole.analyze import AnalyzedStatement, analyze, bound_views, columns_of, tokens_of
from dpsql.rewrite.syntax.whole.conditions import bound_conditions
from dpsql.rewrite.syntax.whole.scopes import Kind


class _ValueNeededError(Exception):
    """There are constants to evaluate, over rows of public tables perhaps: those are there when it is asked."""


@dataclass(frozen=True, slots=True)
class _OnlyBound:
    """A `PlanningShadow` that evaluates nothing."""

    binder: Binder
    volatile = False
    time_zone = "UTC"
    dates_in_iso = True

    def constant(self, *_: object) -> NoReturn:
        """Give up."""
        raise _ValueNeededError

    # Whatever would evaluate something gives up in the same way.
    column = rows = over = constant

    def canonical(self, query: str, types: Sequence[str], *, again: bool = False) -> str:
        """Return a query as PostgreSQL writes it."""
        return self.binder.canonical(query, types, again=again)

    def describe(self, queries: Sequence[str], types: Sequence[str]) -> tuple[tuple[ColumnDescription, ...], ...]:
        """Return the columns of queries."""
        return self.binder.describe(queries, types)


def with_checked_views(policy: Policy, binder: Binder) -> Policy:
    """Return the policy with its views bound, which the shadow has made.

    Raises:
        ConfigError: with a line for each that can't be read or asked about: file, line, view and reason.
    """
    policy, shadow = bound_views(policy, BoundReader(binder)), _OnlyBound(binder)
    views = policy.views.values()
    unanswerable = [(view, reason) for view in views if (reason := _unanswerable(view, policy, shadow)) is not None]
    if unanswerable:
        lines = (
            f'{view.file}:{view.line}: view: "{view.name}" can\'t be asked about: {why}' for view, why in unanswerable
        )
        raise ConfigError("\n".join(sorted(lines)), hint="docs/configuration.md says what a view may be.")
    return policy


def _unanswerable(view: View, policy: Policy, shadow: _OnlyBound) -> str | None:
    """Return why nobody can ask about a view; None if some role can, or it is public."""
    if view.public:
        return None
    reasons = []
    for kind in sorted({role.protects for role in policy.roles.values()}):
        role = next(role for role in policy.roles.values() if role.protects == kind)
        try:
            # Without rights and conditions: it is asked whether anybody could ask, and what a role may do comes later.
            _ask(view, replace(policy, roles={}), replace(role, tables=None, columns={}, where={}), shadow)
        except _ValueNeededError:
            return None
        except DpsqlError as failed:
            reasons.append(failed.message)
        else:
            return None
    return reasons[0] if reasons else None


def _ask(view: View, policy: Policy, role: Role, shadow: _OnlyBound) -> None:
    """Follow a question about all columns of a view as far as whose its rows are."""
    columns = columns_of(view, policy)
    outputs = ", ".join(f"count({quoted_name(name)})" for name in columns)
    for text in (
        f"SELECT {outputs or 'count(*)'} FROM {TableName.of(view.name).called}",  # noqa: S608  # names in quotes
        f"SELECT * FROM {TableName.of(view.name).called}",  # noqa: S608
    ):
        analyzed = analyze(text, policy, BoundReader(shadow))
        if analyzed is not None and analyzed.kind is Kind.ANSWER:
            for relation, _ in tracked_relations(analyzed, policy, role, shadow):
                owners(relation, role.protects, policy.tables, _unique(policy))
            return
        if analyzed is not None and analyzed.refusal is not None:
            raise analyzed.refusal.error()
    raise InternalError


def _unique(policy: Policy) -> Unique:
    return {table.name: table.keys for table in policy.tables.values()}.__getitem__


def tracked_relations(
    analyzed: AnalyzedStatement, policy: Policy, role: Role, shadow: PlanningShadow
) -> Iterator[tuple[Relation, DeclaredFacts]]:
    """Yield what a statement reads, with what is declared of it: of public tables nothing is known.

    Raises:
        DpsqlError: it can't be followed.
    """
    unknown = {
        (table.name, name): Facts(nullable=True, interval=None)
        for table in policy.tables.values()
        if table.public
        for name in table.columns
    }
    declared = DeclaredFacts(unknown)
    context = PlanningContext(role, declared, {}, _unique(policy), policy.tables)
    planner = Planner(policy, context, shadow)
    resolved = planner.resolve(analyzed, ())
    for _, scopes in planner.track(resolved, ()).queries:
        yield from ((scope.relation, declared) for scope in scopes)


# Whether the conditions of roles can be asked under, decided before anything serves: no record is read.


def with_checked_conditions(policy: Policy, shadow: PlanningShadow) -> Policy:
    """Return the policy with its roles' conditions bound, which the shadow has taken.

    Raises:
        ConfigError: with a line for each that can't be read, or under which nothing can be asked.
    """
    policy = bound_conditions(policy, BoundReader(shadow))
    wrong = sorted(line for role in policy.roles.values() for line in _wrong(role, policy, shadow))
    if wrong:
        raise ConfigError("\n".join(wrong), hint="docs/configuration.md says what a condition may be.")
    return policy


def _wrong(role: Role, policy: Policy, shadow: PlanningShadow) -> Iterator[str]:
    """Yield the mistakes in a role's conditions, each by itself."""
    for table, condition in role.where.items():
        if is_moving(tokens_of(condition.text) or ()):
            yield f"{condition.place}: names a time that moves; write a date, or let a column say it"
            continue
        alone = replace(role, tables=None, columns={}, where={table: condition})
        try:
            decided = _decided(table, alone, policy, shadow)
        except DpsqlError as failed:
            yield f"{condition.place}: {failed.message}"
        else:
            if decided is not None:
                yield f"{condition.place}: holds of {decided} row, by the bounds and values that {table} declares"


def _decided(table: str, role: Role, policy: Policy, shadow: PlanningShadow) -> str | None:
    """Return of which rows a condition holds, where that is known without any: every, or no."""
    analyzed = analyze(f"SELECT count(*) FROM {TableName.of(table).called}", policy, BoundReader(shadow))  # noqa: S608  # a name only
    assert analyzed is not None
    ((relation, declared),) = tracked_relations(analyzed, policy, role, shadow)
    condition = relation.condition
    env = declared.env(refs(condition))
    if refine_by_predicate(refs(condition), condition, declared) is None:
        return "no"
    fails = any(facts_if_possible(part, env, holds=False, chosen=False)[1] for part in conjuncts(condition))
    return None if (fails and condition != TRUE) or facts(condition, env).nullable else "every"
