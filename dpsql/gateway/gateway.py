"""The gateway: a question goes in, a statement over released rows comes out, and nothing exact leaves.

    examine   place
    answer    bind ► resolve ► track ► measure ► price ► ready ► charge ► run ► release ► splice

Promise: whatever is measured was charged before the engine was asked, and what the engine does not take costs nothing; only
a `Release` is put into the text.
"""

import re
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial

from dpsql.engines.kinds import unique_as_declared
from dpsql.errors import AccountClosed, BudgetExhausted
from dpsql.gateway.aiming import Drawn, following
from dpsql.gateway.catalogue.made_up import MadeUp, told_of
from dpsql.gateway.catalogue.virtual_tables import (
    ACCOUNTS,
    AccountsStatement,
    Books,
    accounts_statement,
    with_accounts,
)
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.explaining.explain import explain
from dpsql.gateway.explaining.notices import notices
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.known_plans import KnownPlans
from dpsql.gateway.measuring import Measuring, Releases, account, read_draws
from dpsql.gateway.plans.nesting import nesting_refused
from dpsql.gateway.plans.planning import Planner
from dpsql.gateway.plans.statement_plan import StatementPlan
from dpsql.gateway.pricing import PricedPlan, price
from dpsql.gateway.profiling import Profiles, profile_statement, with_profile
from dpsql.gateway.rehearsal import is_tried, rehearsal
from dpsql.gateway.request import ProfileStatement, Question, Reply, Request, Unpaid
from dpsql.gateway.session_settings import asked_of_empty_groups, check_setting, is_clamped
from dpsql.gateway.stand_ins import stand_ins
from dpsql.policy.model import Preview, Role, UniqueKey
from dpsql.privacy.measurement.planner import PlanningContext
from dpsql.privacy.release.draws import Draws
from dpsql.question import Asker, Cancellation, Settings
from dpsql.rewrite.bind.reading import BoundReader, is_moving
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.syntax.read.mentions import mentions
from dpsql.rewrite.syntax.read.parse import Wrap
from dpsql.rewrite.syntax.read.trees import take_apart
from dpsql.rewrite.syntax.whole.analyze import (
    AnalyzedStatement,
    AskedStatement,
    analyze,
    asked_statement,
    column_probe,
    tokens_of,
    untold,
)
from dpsql.rewrite.syntax.whole.found import Kind
from dpsql.watchdog import ended_when_overdue, undivided


class Gateway:
    """Answers questions about protected tables; see `dpsql.gateway.request.Answers`."""

    def __init__(self, deps: GatewayDependencies) -> None:
        self._deps = deps
        self._measuring = Measuring(deps.policy, deps.engine, deps.ledger, deps.entropy, deps.refresh, deps.timeout)
        self._emitter = Emitter(deps.engine.dialect, deps.declared, deps.engine.named, deps.engine.kept)
        self._names = deps.policy.protected
        written = sorted(name.replace('"', '""') for name in self._names)
        # Most statements name no protected table, which this tells faster than their tokens do.
        self._named = re.compile("|".join((*map(re.escape, written), ACCOUNTS)), re.IGNORECASE)
        self._known = KnownPlans()
        self._unique = cache(self._unique_now)
        self._profiles = Profiles(deps.policy, self._measuring, self._planned_for, self._emitter)

    def _unique_now(self, table: str) -> frozenset[UniqueKey]:
        engine, declared = self._deps.engine, self._deps.policy.tables.get(table)
        if declared is None:  # rows that a statement makes, of which the engine knows nothing
            return frozenset()
        with undivided():
            return unique_as_declared(declared, engine.unique_keys(table), engine.columns)

    def recall(self, text: str) -> tuple[Question | None] | None:
        """Return the question in a statement that names no table of ours, or was examined before; None for another."""
        if self._named.search(text) is None:
            return (None,)
        return self._known.questions.get(text)

    def examine(self, text: str, asker: Asker, cancellation: Cancellation | None = None) -> Question | None:
        """Return the question in a statement, None if it names no protected table."""
        _ = asker
        known = self.recall(text)
        if known is None:
            known = (ended_when_overdue(partial(self._question, text), cancellation),)
            self._known.questions.keep(text, known)
        return known[0]

    def _question(self, text: str) -> Question | None:
        if (own := profile_statement(text) or accounts_statement(text)) is not None:
            return Question(text, own)
        found = asked_statement(text) if mentions(text, self._names, tokens_of(text)) else None
        return None if found is None else Question(text, found)

    def check_setting(self, name: str, value: str, asker: Asker) -> None:
        """See that a session may have a setting of dpsql's own; see `Answers`."""
        check_setting(name, value, self._deps.policy.roles[asker.role])

    def answer(self, request: Request) -> Reply | Unpaid:
        """Return the statement over released rows, or the work that measures them; see `Answers`.

        Of the stages those up to `price` are in `priced`, those from `ready` on in `_released`.
        """
        if not isinstance(request.question.parsed, AskedStatement):
            return self._own(request, request.question.parsed)
        analyzed = self.analyzed(request)
        if analyzed is None:
            return Reply(request.question.text)
        if (preview := self._made_up(analyzed, request)) is not None:
            return preview
        columns = _refused_or_empty(analyzed)
        if columns is not None:
            return Reply(columns, tuple(untold(analyzed)))
        priced = self.priced(analyzed, request)
        if analyzed.statement is not None and analyzed.statement.wrap is Wrap.EXPLAIN:
            return Reply(
                explain(priced, analyzed.statement.prefix, self._deps.engine.edition, self._profiles.known(request))
            )
        if not priced.measurements:
            return self._reply(priced, {}, request)
        epoch = self._measuring.epoch(request)
        found = self._measuring.found(priced, request, epoch)
        profile = self._profiles.known(request)
        known = self._known.reply(request, found, profile)
        if known is not None:
            return known
        releases = read_draws(found)
        if following(priced, releases) is None:
            reply = self._reply(priced, releases, request)
            self._known.keep_reply(request, priced, found, profile, reply)
            return reply
        made_up = partial(stand_ins, priced, analyzed.statement, request.question.text, self._reading(request))
        tried = rehearsal(request.question.text, analyzed, self._deps.policy)
        return Unpaid(partial(self._measured, priced, releases, request, epoch), made_up, tried, is_tried(analyzed))

    def _own(self, request: Request, asked: AccountsStatement | ProfileStatement) -> Reply | Unpaid:
        """Return the reply to a statement that reads dpsql's own tables, or takes the profile."""
        match asked:
            case AccountsStatement():
                deps, known = self._deps, partial(self._profiles.known, request)
                payer = account(deps.policy, request.asker)
                books = Books(deps.ledger, deps.trail, request.cancellation, known)
                return Reply(with_accounts(asked, self._reader(request), payer, books))
            case ProfileStatement():
                return Unpaid(partial(self._taken, request), partial(iter, ()))

    def _made_up(self, analyzed: AnalyzedStatement, request: Request) -> Reply | None:
        """Return the reply to a preview with rows that are made up, where the role sees such."""
        preview, role = analyzed.preview, self._deps.policy.roles[request.asker.role]
        if preview is None or role.preview is not Preview.MADE_UP or not role.may_use(preview.table.name):
            return None
        rows = MadeUp(self._deps.policy, self._deps.rows).item(preview.table, preview.most)
        return Reply(preview.text(rows), (told_of(preview.table),))

    def analyzed(self, request: Request) -> AnalyzedStatement | None:
        """Return what a statement asks of protected tables, bound by PostgreSQL; None where it asks nothing of them."""
        known = self._known.analyzed(request)
        if known is None:
            with self._deps.times.timed("bind"):
                found, volatile = ended_when_overdue(partial(self._bound, request), request.cancellation)
            known = (found,)
            if not volatile:
                self._known.keep_analyzed(request, known)
        return known[0]

    @nesting_refused()
    def _bound(self, request: Request) -> tuple[AnalyzedStatement | None, bool]:
        text = request.question.text
        return analyze(text, self._deps.policy, self._reader(request)), is_moving(tokens_of(text) or ())

    def _reader(self, request: Request) -> BoundReader:
        shadow = self._deps.evaluator(request.settings, request.asker.user)
        return BoundReader(shadow, [one.type for one in request.arguments])

    @nesting_refused()
    def priced(self, analyzed: AnalyzedStatement, request: Request) -> PricedPlan:
        """Return what a statement measures and what it pays: the stages up to `price`, unless it is remembered."""
        known = self._known.get(request)
        if known is not None and (found := known.priced(request)) is not None:
            return found
        plan = None if known is None else known.plan
        with self._deps.times.timed("plan"):
            priced, volatile = ended_when_overdue(partial(self._planned, analyzed, request, plan), request.cancellation)
        if not volatile:
            self._known.keep(request, known, priced)
        return priced

    def _planned_for(self, text: str, request: Request) -> PricedPlan:
        """Return what a statement of ours measures, for who asks something else."""
        question = self._question(text)
        assert question is not None
        asked = Request(question, (), Settings(), request.asker, request.cancellation)
        analyzed = self.analyzed(asked)
        assert analyzed is not None
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
                for one in resolved.queries:
                    take_apart(one.nodes)
            volatile = planner.evaluator.volatile or is_moving(tokens_of(request.question.text) or ())
        return price(plan, role, settings, self._emitter), volatile

    def _measured(self, priced: PricedPlan, drawn: Drawn, request: Request, epoch: int) -> Reply:
        """Return the reply with rows that are measured now: once, or until they err as little as is aimed at."""
        known, said = dict(drawn), list[str]()
        while (step := following(priced, known)) is not None:
            try:
                releases, nearing = self._released(step, request, epoch)
            except (BudgetExhausted, AccountClosed):
                if any(part.identity not in known for part in priced.measurements):
                    raise
                break  # what was paid for answers as well as it can
            said += nearing
            for part in step.measurements:
                draws = known.get(part.identity, Draws(()))
                known[part.identity] = draws.with_draw(part.measurement, releases[part.identity])
        reply = self._reply(priced, known, request)
        return replace(reply, notices=(*reply.notices, *said))

    def _released(self, priced: PricedPlan, request: Request, epoch: int) -> tuple[Releases, tuple[str, ...]]:
        """Return the releases of measurements that are paid and made now, and what is said of budgets that near their end.

        These are the stages from `ready` on, in their order.
        """
        measuring, reading, times = self._measuring, self._reading(request), self._deps.times
        with ExitStack() as held:
            with times.timed("ready and charge"):
                ready = held.enter_context(measuring.ready(priced, request, epoch))
                paid = held.enter_context(measuring.charge(ready))
            for waiting in paid.left:
                part = reading.completed(priced, waiting, paid.drawn)
                with paid.failing_alike(part):
                    with times.timed("run"):
                        exact = measuring.run(paid, part)
                    with times.timed("release"):
                        release = measuring.release(exact).to_bytes()
                paid.keep(part, release)
        return paid.releases, paid.statement.nearing

    def _planner(self, role: Role, request: Request) -> Planner:
        deps, settings = self._deps, request.settings
        empty = asked_of_empty_groups(settings, role)
        context = PlanningContext(role, deps.declared, deps.rows, self._unique, deps.policy.tables, empty)
        return Planner(deps.policy, context, deps.evaluator(settings, request.asker.user))

    def _taken(self, request: Request) -> Reply:
        """Return the reply to who takes the profile, once it is paid for."""
        plan = self._profiles.plan(request)
        return Reply(plan.reply(), self._released(plan.priced, request, self._measuring.epoch(request))[1])

    def _reply(self, priced: PricedPlan, drawn: Drawn, request: Request) -> Reply:
        reading = self._reading(request)
        known = with_profile(drawn, priced, reading.profile)
        return Reply(splice(priced, known, reading), notices(priced, known, reading))

    def _reading(self, request: Request) -> Reading:
        clamp = is_clamped(request.settings, self._deps.policy.roles[request.asker.role])
        evaluator = self._deps.evaluator(request.settings, request.asker.user)
        return Reading(evaluator, self._emitter, request.cancellation, clamp, self._profiles.known(request))


def _refused_or_empty(analyzed: AnalyzedStatement) -> str | None:
    """Return the statement that answers without any record: for a tool that only wants to know the columns.

    Raises:
        DpsqlError: the statement was refused when it was parsed.
    """
    if analyzed.refusal is not None:
        raise analyzed.refusal.error()
    return column_probe(analyzed.statement) if analyzed.kind is Kind.ROWS and analyzed.statement is not None else None


def splice(priced: PricedPlan, drawn: Drawn, reading: Reading) -> str:
    """Return the statement with its releases in the places of private rows."""
    return priced.plan.text(reading.tables(priced, drawn))
