"""The gateway: a question goes in, a statement over released rows comes out, and nothing exact leaves.

Promise: whatever is measured was charged before the engine was asked, and what the engine does not take costs nothing; only
a `Release` is put into the text.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting.ledger import Ledger
from dpsql.accounting.privacy_loss import show_down, show_up
from dpsql.engines.base import Engine
from dpsql.errors import InternalError, Unsupported
from dpsql.gateway.explain import as_query, explain
from dpsql.gateway.measuring import Measuring, account
from dpsql.gateway.planner import Planner, StatementPlan
from dpsql.gateway.rehearsal import rehearsal
from dpsql.gateway.remembered import Remembered
from dpsql.gateway.virtual_tables import NAMED, of_accounts, with_accounts
from dpsql.gateway.weight import weight
from dpsql.interrupt import checked
from dpsql.policy.model import EmptyGroups, Period, Policy, Role
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.planner import PlanningContext
from dpsql.privacy.measurement.pricing import PricedMeasurement, shares, statement_epsilon
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.release import postprocess
from dpsql.privacy.release.draws import Draws
from dpsql.privacy.release.release import Release
from dpsql.question import Argument, Asker, Cancellation, Field, Question, Settings, Work
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.joined import PublicRows
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.evaluator import ConstantEvaluator
from dpsql.rewrite.syntax import parse
from dpsql.rewrite.syntax.analyze import AnalyzedStatement, analyze, column_probe
from dpsql.rewrite.syntax.mentions import mentions
from dpsql.rewrite.syntax.scopes import Kind
from dpsql.shadow import splice

_AMOUNT = re.compile(r"\s*(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,2})?\s*", re.ASCII)
"""How ε may be written: not so large or small that calculating with it takes long."""
_PER_CHARACTER = 200
"""Bytes that a statement takes, taken apart, for each character of it."""
_REMEMBERED = 128 * 2**20
"""Bytes of the plans that are remembered, those of the priced ones, and four times those of statements taken apart."""


@dataclass(frozen=True, slots=True)
class GatewayDependencies:
    """What the gateway works with; handed in by the server."""

    policy: Policy
    engine: Engine
    ledger: Ledger
    oracle: Callable[[Settings], ConstantEvaluator]
    declared: Declared
    rows: PublicRows
    entropy: Entropy
    refresh: Period
    timeout: float
    """Seconds a measurement may take: the same for every statement, so that it says nothing about data."""


@dataclass(frozen=True, slots=True)
class PricedPlan:
    """A planned statement: for each scope its priced plan and its parts."""

    plan: StatementPlan
    scopes: tuple[tuple[MeasurementPlan, tuple[PricedMeasurement, ...]], ...]


class Gateway:
    """Answers questions about protected tables; see `dpsql.question.Answers`."""

    def __init__(self, deps: GatewayDependencies) -> None:
        self._deps = deps
        self._measuring = Measuring(deps.policy, deps.engine, deps.ledger, deps.entropy, deps.refresh, deps.timeout)
        self._names = frozenset(t.name for t in deps.policy.tables.values() if not t.public)
        written = sorted(name.replace('"', '""') for name in self._names)
        # Most statements name no protected table, which this tells faster than their tokens do.
        self._named = re.compile("|".join(map(re.escape, written)) or r"(?!)", re.IGNORECASE)
        self._asked: Remembered[tuple[Question | None]] = Remembered(_REMEMBERED // 4, _of_texts)
        self._plans: Remembered[StatementPlan] = Remembered(_REMEMBERED, weight)
        self._ready: Remembered[PricedPlan] = Remembered(_REMEMBERED, weight)

    def examine(self, text: str, asker: Asker) -> Question | None:
        """Return the question in a statement, None if it names no protected table."""
        _ = asker
        if NAMED.search(text) and (statement := of_accounts(text)):
            return Question(text, tuple(query.text for query in statement.queries), statement)
        if self._named.search(text) is None or not mentions(text, self._names):
            return None
        known = self._asked.get(text)
        if known is None:
            asked = analyze(text, self._deps.policy)
            known = (None if asked is None else Question(text, asked.probes, asked, rehearsal(text, asked)),)
            self._asked.keep(text, known)
        return known[0]

    def answer(
        self,
        question: Question,
        described: tuple[tuple[Field, ...], ...],
        arguments: tuple[Argument, ...],
        settings: Settings,
        asker: Asker,
        cancellation: Cancellation,
    ) -> str:
        """Return the statement over released rows that answers the question, whatever it takes."""
        begun = self.begin(question, described, arguments, settings, asker, cancellation)
        return begun if isinstance(begun, str) else begun()

    def begin(
        self,
        question: Question,
        described: tuple[tuple[Field, ...], ...],
        arguments: tuple[Argument, ...],
        settings: Settings,
        asker: Asker,
        cancellation: Cancellation,
    ) -> str | Work[str]:
        """Return the statement over released rows that answers the question, or what measures them; see `Answers`."""
        asked = question.plan
        if isinstance(asked, parse.Statement):
            return with_accounts(asked, account(self._deps.policy, asker), self._deps.ledger, cancellation)
        if not isinstance(asked, AnalyzedStatement):
            raise InternalError
        if asked.refusal is not None:
            raise asked.refusal.error()
        if asked.kind is Kind.ROWS and asked.statement is not None:
            return column_probe(asked.statement)
        ready = self._planned(asked, question.text, described, arguments, settings, asker)
        if asked.statement is not None and asked.statement.wrap is parse.Wrap.EXPLAIN:
            options = asked.statement.prefix.lower()
            return as_query(explain(ready.scopes, statements="verbose" in options), options)
        parts = [part for _, scope in ready.scopes for part in scope]
        clamp = self._deps.policy.roles[asker.role].clamp
        stored = self._measuring.stored(parts, asker, cancellation)
        if stored is not None:
            return _spliced(ready, stored, cancellation, clamp=clamp)

        def measured() -> str:
            releases = self._measuring.releases(parts, question.text, asker, cancellation)
            return _spliced(ready, releases, cancellation, clamp=clamp)

        return measured

    def _planned(
        self,
        asked: AnalyzedStatement,
        text: str,
        described: tuple[tuple[Field, ...], ...],
        arguments: tuple[Argument, ...],
        settings: Settings,
        asker: Asker,
    ) -> PricedPlan:
        key = (text, described, arguments, replace(settings, epsilon=None), asker.role)
        try:
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plan(asked, described, arguments, settings, asker, key)
            return self._priced(plan, key, settings, asker)
        except RecursionError:
            raise Unsupported(
                "an expression over private rows is nested too deeply",
                because="nested-too-deeply",
                hint="Nest fewer operations in each other.",
            ) from None

    def _plan(
        self,
        asked: AnalyzedStatement,
        described: tuple[tuple[Field, ...], ...],
        arguments: tuple[Argument, ...],
        settings: Settings,
        asker: Asker,
        key: Hashable,
    ) -> StatementPlan:
        deps, role = self._deps, self._deps.policy.roles[asker.role]
        hides = _empty_groups(settings, role) is EmptyGroups.HIDE
        world = PlanningContext(role, deps.declared, deps.rows, deps.engine.unique_columns, hides)
        oracle = deps.oracle(settings)
        plan = Planner(deps.policy, world, oracle).plan(asked, described, arguments)
        if not oracle.volatile:
            self._plans.keep(key, plan)
        return plan

    def _priced(self, plan: StatementPlan, key: Hashable, settings: Settings, asker: Asker) -> PricedPlan:
        """Return the plan with its parts at the ε that the session asks for."""
        known = self._ready.get((key, settings.epsilon))
        if known is not None and known.plan is plan:
            return known
        role, plans = self._deps.policy.roles[asker.role], [scope.plan for scope in plan.scopes]
        epsilon = _epsilon(settings, role, statement_epsilon(role, plans))
        emitter = Emitter(self._deps.engine.dialect, self._deps.declared, self._deps.engine.named)
        ready = PricedPlan(plan, shares(plans, epsilon, role, emitter))
        self._ready.keep((key, settings.epsilon), ready)
        return ready


def _spliced(ready: PricedPlan, releases: Mapping[str, Release], cancellation: Cancellation, *, clamp: bool) -> str:
    """Return the statement with its releases in the places of private rows."""
    tables = []
    for scope, (plan, parts) in zip(ready.plan.scopes, ready.scopes, strict=True):
        draws = [Draws(((part.measurement, releases[part.identity]),)) for part in parts]
        rows = postprocess.rows(plan, draws, scope.types, clamp=clamp)
        tables.append(splice.table(scope.columns, scope.types, list(checked(rows, cancellation))))
    return ready.plan.text(tables)


def _of_texts(value: object) -> int:
    """Return what a text weighs, or a statement that was taken apart: in proportion to its text, which is quickly told."""
    match value:
        case str():
            return len(value)
        case (Question(plan=AnalyzedStatement(statement=parse.Statement() as statement)),):
            return _PER_CHARACTER * sum(len(query.text) for query in statement.queries)
        case _:
            return 0


def _epsilon(settings: Settings, role: Role, usual: Fraction) -> Fraction:
    """Return the statement's ε: what the session has set, within what a measurement and a statement may cost the role."""
    if not settings.epsilon:
        return usual
    asked = Fraction(settings.epsilon) if _AMOUNT.fullmatch(settings.epsilon) else Fraction(0)
    least, most = role.least_epsilon, role.per_query.epsilon
    if not least <= asked <= most:
        raise Unsupported(
            f'dpsql.epsilon is "{settings.epsilon}", it must be a number from {show_up(least)} to {show_down(most)}',
            because="epsilon-out-of-range",
            hint=f"SET dpsql.epsilon = '{show_down(most)}'",
        )
    return asked


def _empty_groups(settings: Settings, role: Role) -> EmptyGroups:
    """Return whether public groups that may be empty are shown: as the session has set it, else as the role does."""
    asked = settings.empty_groups
    if not asked:
        return role.empty_groups
    try:
        return EmptyGroups(asked.strip().lower())
    except ValueError:
        raise Unsupported(
            f'dpsql.empty_groups is "{asked}", it must be show or hide',
            because="empty-groups-setting",
            hint="SET dpsql.empty_groups = 'hide' leaves out groups whose count is within the noise of nothing.",
        ) from None
