"""From a question to a priced plan: the stages that read no record, and what is remembered of them."""

import re
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import cache, partial

from dpsql.engines.tables import unique_as_declared
from dpsql.errors import Unsupported
from dpsql.gateway.catalogue.virtual_tables import ACCOUNTS, accounts_statement
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.known_plans import KnownPlans
from dpsql.gateway.plans.planning import Planner
from dpsql.gateway.plans.statement_plan import StatementPlan
from dpsql.gateway.pricing import PricedPlan, price
from dpsql.gateway.profiling import profile_statement
from dpsql.gateway.request import Question, Request
from dpsql.gateway.session_settings import asked_of_empty_groups
from dpsql.interrupt import ended_when_overdue, undivided
from dpsql.policy.model import Role, UniqueKey, bare_names
from dpsql.privacy.measurement.planner import PlanningContext
from dpsql.question import Argument, Asker, Cancellation, Settings
from dpsql.rewrite.bind.plain import counts_of
from dpsql.rewrite.bind.reading import BoundReader, is_moving
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.syntax.read.parse import mentions
from dpsql.rewrite.syntax.read.trees import take_apart
from dpsql.rewrite.syntax.whole.analyze import AnalyzedStatement, AskedStatement, analyze, asked_statement, tokens_of

# Refuses statements that are nested more deeply than Python's stack allows.


@contextmanager
def nesting_refused() -> Iterator[None]:
    """Turn the end of the stack into a refusal.

    Raises:
        Unsupported: instead of RecursionError.
    """
    try:
        yield
    except RecursionError:
        raise Unsupported(
            "an expression over private rows is nested too deeply",
            because="nested-too-deeply",
            hint="Nest fewer operations in each other.",
        ) from None


class PlannedQuestions:
    """Questions, each examined, bound, planned and priced once, while it is remembered."""

    def __init__(self, deps: GatewayDependencies) -> None:
        self._deps = deps
        self._emitter = Emitter(deps.engine.dialect, deps.declared, deps.engine.named, deps.engine.kept)
        self._names = bare_names(deps.policy.protected)
        written = sorted(name.replace('"', '""') for name in self._names)
        # Most statements name no protected table, which this tells faster than their tokens do.
        self._named = re.compile("|".join((*map(re.escape, written), ACCOUNTS)), re.IGNORECASE)
        self._known = KnownPlans()
        self._unique = cache(self._unique_now)
        self._enforced = cache(self._enforced_now)

    def _unique_now(self, table: str) -> frozenset[UniqueKey]:
        engine, declared = self._deps.engine, self._deps.policy.tables.get(table)
        if declared is None:  # rows that a statement makes, of which the engine knows nothing
            return frozenset()
        with undivided():
            return unique_as_declared(declared, engine.unique_keys(table), engine.columns)

    def _enforced_now(self, table: str) -> frozenset[str]:
        declared = self._deps.policy.tables.get(table)
        if declared is None:
            return frozenset()
        with undivided():
            return self._deps.engine.enforced(declared)

    def recall(self, text: str) -> tuple[Question | None] | None:
        """Return the question in a statement that names no table of ours, or was examined before; None for another."""
        if self._named.search(text) is None:
            return (None,)
        return self._known.questions.get(text)

    def examine(self, text: str, asker: Asker, cancellation: Cancellation | None = None) -> Question | None:
        """Return the question in a statement, None if it names no protected table."""
        _ = asker
        kept = self.recall(text)
        if kept is None:
            kept = (ended_when_overdue(partial(self._question, text), cancellation),)
            self._known.questions.keep(text, kept)
        return kept[0]

    def _question(self, text: str) -> Question | None:
        if (own := profile_statement(text) or accounts_statement(text)) is not None:
            return Question(text, own)
        asked = asked_statement(text) if mentions(text, self._names, tokens_of(text)) else None
        return None if asked is None else Question(text, asked)

    def analyzed(self, request: Request) -> AnalyzedStatement | None:
        """Return what a statement asks of protected tables, bound by PostgreSQL; None where it asks nothing of them."""
        kept = self._known.analyzed(request)
        if kept is None:
            with self._deps.times.timed("bind"):
                statement, volatile = ended_when_overdue(partial(self._bound, request), request.cancellation)
            kept = (statement,)
            if not volatile:
                self._known.keep_analyzed(request, kept)
        return kept[0]

    @nesting_refused()
    def _bound(self, request: Request) -> tuple[AnalyzedStatement | None, bool]:
        text = request.question.text
        lists = request.settings.temporary
        return analyze(text, self._deps.policy, self._reader(request), lists), is_moving(tokens_of(text) or ())

    def _reader(self, request: Request) -> BoundReader:
        shadow = self._deps.evaluator(request.settings, request.asker.user)
        counts = counts_of(request.question.text, request.arguments)
        types = [argument.type for argument in request.arguments]
        return BoundReader(shadow, types, counts, self._known.forms, _own_tables(request.settings))

    @nesting_refused()
    def priced(self, analyzed: AnalyzedStatement, request: Request) -> PricedPlan:
        """Return what a statement measures and what it pays: the stages up to `price`, unless it is remembered."""
        known_plan = self._known.get(request)
        if known_plan is not None and (kept := known_plan.priced(request)) is not None:
            return kept
        plan = None if known_plan is None else known_plan.plan
        with self._deps.times.timed("plan"):
            priced, volatile = ended_when_overdue(partial(self._planned, analyzed, request, plan), request.cancellation)
        if not volatile:
            self._known.keep(request, known_plan, priced)
        return priced

    def _planned_for(self, text: str, request: Request) -> PricedPlan:
        """Return what a statement of ours measures, for a client that asks something else."""
        question = self._question(text)
        assert question is not None
        asked = Request(question, (), Settings(), request.asker, request.cancellation)
        analyzed = self.analyzed(asked)
        assert analyzed is not None
        return self.priced(analyzed, asked)

    def _planned_again(
        self, text: str, arguments: tuple[Argument, ...], settings: Settings, request: Request
    ) -> PricedPlan | None:
        """Return what a statement measures that the asker's role has asked before; None of what asks nothing any more."""
        question = self.examine(text, request.asker, request.cancellation)
        if question is None or not isinstance(question.parsed, AskedStatement):
            return None
        asked = Request(question, arguments, settings, request.asker, request.cancellation)
        analyzed = self.analyzed(asked)
        if analyzed is None or analyzed.refusal is not None or analyzed.statement is None:
            return None
        return self.priced(analyzed, asked)

    def _planned(
        self, analyzed: AnalyzedStatement, request: Request, plan: StatementPlan | None
    ) -> tuple[PricedPlan, bool]:
        """Return a priced plan, from `plan` if there is one, and whether a constant in it changes by itself."""
        role, settings, volatile = self._deps.policy.roles[request.asker.role], request.settings, False
        if plan is None:
            planner = self._planner(role, request)
            resolved = planner.resolve(analyzed, request.arguments)
            try:
                tracked = planner.track(resolved, request.arguments)
                plan = planner.measure(tracked)
            finally:
                for query in resolved.queries:
                    take_apart(query.nodes)
            volatile = planner.evaluator.volatile or is_moving(tokens_of(request.question.text) or ())
        counts_rho = self._deps.policy.counts_rho(role)
        return price(plan, role, settings, self._emitter, counts_rho=counts_rho), volatile

    def _planner(self, role: Role, request: Request) -> Planner:
        deps, settings = self._deps, request.settings
        empty = asked_of_empty_groups(settings, role)
        context = PlanningContext(role, deps.declared, deps.rows, self._unique, deps.policy.tables, empty)
        shadow = deps.evaluator(settings, request.asker.user)
        return Planner(deps.policy, context, shadow, self._known.forms, _own_tables(settings))


def _own_tables(settings: Settings) -> Hashable:
    """Return all of a session's own tables that names and types depend on."""
    return tuple((table.name, table.columns, table.key) for table in settings.temporary)
