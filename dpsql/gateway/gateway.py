"""The gateway: a question goes in, a statement over released rows comes out, and nothing exact leaves.

    examine   place
    answer    bind ► resolve ► track ► measure ► price ► ready ► charge ► run ► release ► splice

Promise: each measurement was charged before the engine was asked, and one that the engine does not take costs nothing;
only a `Release` is put into the text.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from sqlglot import exp

from dpsql.errors import AccountClosed, BudgetExhausted, TrialFailed
from dpsql.gateway.catalogue.made_up import MadeUp, told_of
from dpsql.gateway.catalogue.virtual_tables import AccountsStatement, Books, with_accounts
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.explaining.explain import Free, Knowledge, explain, explain_rows
from dpsql.gateway.explaining.notices import notices
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.measuring import Exact, Measuring, Profiles, Releases, account, with_profile
from dpsql.gateway.planned_questions import PlannedQuestions
from dpsql.gateway.pricing import (
    Drawn,
    PaidReleases,
    PricedPlan,
    affordable,
    as_awaited,
    by_best,
    drawn_until,
    following,
    read_draws,
)
from dpsql.gateway.rehearsal import is_tried, rehearsal
from dpsql.gateway.request import ProfileStatement, Reply, Request, Unpaid, Work
from dpsql.gateway.reuse.reading_off import ReadingOff, ReadOff, ToldReleases
from dpsql.gateway.run_through import no_rows, run_through
from dpsql.gateway.session_settings import check_setting, is_clamped, session_digits
from dpsql.gateway.stand_ins import stand_ins
from dpsql.gateway.standing import StandingStatement, StandingStatements
from dpsql.gateway.standing_reading import StandingReading, StandingReadings
from dpsql.interrupt import PROCESSOR_SECONDS, ended_when_overdue
from dpsql.policy.model import Preview, Role
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.question import Asker
from dpsql.rewrite.ir.relation import tables_below
from dpsql.rewrite.syntax.read.parse import Wrap
from dpsql.rewrite.syntax.whole.analyze import (
    AnalyzedStatement,
    AskedStatement,
    column_probe,
    known_text,
    row_refusal_notices,
)
from dpsql.rewrite.syntax.whole.scopes import Kind
from dpsql.rewrite.syntax.whole.writing_statements import is_of_rows
from dpsql.rewrite.translate.rows.relations import require_columns, require_probed, require_table
from dpsql.standing.questions import Ordinary
from dpsql.trial.running_trial import RunningTrial
from dpsql.trial.tried_forms import form_of

# The lines of EXPLAIN about rows that a role does not see.


def rights(role: Role, priced: PricedPlan) -> Iterator[str]:
    """Yield for each table that a plan reads in part, the rows of it that the role sees."""
    if not role.where:
        return
    relations = (part.measurement.relation for part in priced.measurements)
    for name in sorted({table.name for relation in relations for table in tables_below(relation)}):
        if name in role.where:
            text = " ".join(role.where[name].text.split())
            yield f'Rows: of {name} those for which {text}, the only ones granted to role "{role.name}"'


_RUN_THROUGH = 2 * PROCESSOR_SECONDS
"""Seconds of the processor for a run through a plan: its answer takes as long again, and is ended by nobody."""


class Gateway(PlannedQuestions):
    """Answers questions about protected tables; see `dpsql.gateway.request.Answers`."""

    def __init__(self, deps: GatewayDependencies) -> None:
        super().__init__(deps)
        self._measuring = Measuring(deps.policy, deps.engine, deps.ledger, deps.entropy, deps.refresh, deps.timeout)
        self._profiles = Profiles(deps.policy, self._measuring, self._planned_for, self._emitter)
        self._standing = StandingStatements(deps, self._emitter)
        self._told = ToldReleases(deps.policy, self._measuring, self._planned_again)
        self._standing_read = StandingReadings(deps, self._standing, self._planned_again, deps.declared)
        self._reading_off = ReadingOff(deps.policy, self._measuring, self._told, deps.declared, self._enforced)

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
            return Reply(request.question.text, released=False)
        if (preview := self._made_up(analyzed, request)) is not None:
            return preview
        if (reply := self._known_rows(analyzed, request)) is not None:
            return reply
        if request.settings.estimates and _is_plan_of_rows(analyzed):
            return Reply(explain_rows(), released=False)
        columns = _refused_or_empty(analyzed)
        if columns is not None and analyzed.statement is not None:
            role = self._deps.policy.roles[request.asker.role]
            require_probed(role, (query.tree for query in analyzed.statement.queries))
            return Reply(columns, tuple(row_refusal_notices(analyzed)), released=False)
        priced = self.priced(analyzed, request)
        trial = self._trial(request)
        standing = self._standing.of(priced, request)
        if analyzed.statement is not None and analyzed.statement.wrap is Wrap.EXPLAIN:
            explained = partial(self._explained, priced, analyzed.statement.prefix, request, trial)
            first = self._tried_first(trial, priced, request)
            return explained() if first is None else Unpaid(explained, partial(iter, ()), trial=first)
        if not priced.measurements:
            return self._reply(priced, {}, request)
        if isinstance(standing, StandingStatement):
            reading = self._instead(standing, priced, request)
            if reading is not None:
                return self._read_standing(reading, request)
            return self._stood(standing, analyzed, request, trial)
        epoch = self._measuring.epoch(request)
        priced, paid_releases = self._found(priced, request, epoch)
        read_off, paid_releases = self._reading_off.given(priced, paid_releases, request, epoch)
        releases: Drawn = {**read_draws(paid_releases), **read_off.derived}
        if following(priced, releases) is not None and standing is not None:
            reading = self._instead(standing, priced, request)
            if reading is not None:
                return self._read_standing(reading, request)
        if following(priced, releases) is not None:
            read_off = read_off.beside(self._read_off(priced, releases, request, epoch))
            releases = {**read_off.derived, **releases}
        if following(priced, releases) is None:
            return self._read(priced, releases, read_off, paid_releases, request, epoch)
        self._standing.see_that_its_table_grows_still(request)
        made_up = partial(stand_ins, priced, analyzed.statement, request.question.text, self._reading(request))
        tried = rehearsal(request.question.text, analyzed, self._deps.policy)
        measured = partial(self._measured, priced, releases, read_off, request, epoch, trial)
        first, through = self._tried_first(trial, priced, request), partial(self._run_through, trial, priced, request)
        return Unpaid(measured, made_up, tried, is_tried(analyzed), first, through)

    def _found(self, priced: PricedPlan, request: Request, epoch: int) -> tuple[PricedPlan, PaidReleases]:
        """Return what is stored of a plan: of an aimed one by what its inner queries' releases say, which are found first."""
        if priced.aim is not None and priced.inner:
            drawn_of = partial(self._measuring.drawn, request, epoch)
            priced = affordable(priced, [drawn_of(plan) for plan in priced.inner], drawn_of)
        return priced, as_awaited(priced, self._measuring.paid_releases(priced, request, epoch))

    def _read(
        self,
        priced: PricedPlan,
        drawn: Drawn,
        read_off: ReadOff,
        paid_releases: PaidReleases,
        request: Request,
        epoch: int,
    ) -> Reply:
        """Return the reply of which all is there: by releases of its own, and by what is read off others."""
        self._reading_off.keep_draws(priced, drawn, request, epoch)
        paid_releases = {**paid_releases, **read_off.releases}
        request.receipt.note(paid_releases)
        profile = self._profiles.of(request)
        reply = self._known.reply(request, paid_releases, profile)
        if reply is None:
            reply = self._reply(priced, by_best(priced, drawn)[1], request)
            reply = replace(reply, notices=(*reply.notices, *read_off.notices))
            self._known.keep_reply(request, priced, paid_releases, profile, reply)
        return reply

    def _explained(self, priced: PricedPlan, prefix: str, request: Request, trial: RunningTrial | None) -> Reply:
        """Return the reply that explains a plan, with its free parts."""
        epoch = self._measuring.epoch(request)
        stored = self._reading_off.stored(priced, request, epoch)
        read_off, _ = self._reading_off.given(priced, {}, request, epoch)
        read_off = read_off.beside(self._reading_off.read_off(priced, {*stored, *read_off.told}, request, epoch))
        releases = self._measuring.stored(priced, request, epoch)
        free = Free(
            {identity: told.statement for identity, told in read_off.told.items()},
            stored.union(releases) if priced.aim is None else frozenset(),
            tuple(self._reading_off.neighbours(priced, {*stored, *read_off.told}, request, epoch)),
        )
        further = list(rights(self._deps.policy.roles[request.asker.role], priced))
        if trial is not None:
            self._try(trial, priced, request)
        self._run_through(trial, priced, request)
        standing = self._standing.of(priced, request)
        reading = None if standing is None else self._instead(standing, priced, request)
        if isinstance(standing, StandingStatement) and reading is None:
            further.append(standing.explained(self._standing.claims(standing, request)))
        elif reading is not None:
            further.append(reading.explained())
            told = {key: part.statement for key, part in reading.parts.items()}
            free = replace(free, read_off={**told, **free.read_off})
        elif isinstance(standing, Ordinary):
            further.append(f"Standing: no, {standing.why}")
        further.extend(self._measuring.told_of_parts(priced))
        if trial is not None:
            further.append(f"Trial: {trial.told(priced.measurements)}")
        broken = self._deps.ledger.balance(account(self._deps.policy, request.asker), request.cancellation).broken
        if broken and any(form_of(part.measurement, part.sql) in broken for part in priced.measurements):
            further.append(
                "Refused: this form of statement failed by a bug of dpsql; what was answered before stays free"
            )
        known = Knowledge(self._profiles.of(request), releases)
        edition, estimates = self._deps.engine.edition, request.settings.estimates
        return Reply(explain(priced, prefix, edition, known, free, further, estimates=estimates))

    def _own(self, request: Request, asked: AccountsStatement | ProfileStatement) -> Reply | Unpaid:
        """Return the reply to a statement that reads dpsql's own tables, or takes the profile."""
        match asked:
            case AccountsStatement():
                deps, profile_of = self._deps, partial(self._profiles.of, request)
                payer = account(deps.policy, request.asker)
                told = partial(self._told.listed, request)
                stands = partial(self._standing.listed, request)
                books = Books(deps.ledger, deps.trail, request.cancellation, profile_of, told, stands)
                return Reply(with_accounts(asked, self._reader(request), payer, books))
            case ProfileStatement(explained=prefix) if prefix:
                deps, priced = self._deps, self._profiles.plan(request).priced
                stored = frozenset(self._measuring.stored(priced, request, self._measuring.epoch(request)))
                free = Free({}, stored, ())
                known = Knowledge(self._profiles.of(request), {})
                return Reply(explain(priced, prefix, deps.engine.edition, known, free))
            case ProfileStatement():
                return Unpaid(partial(self._taken, request), partial(iter, ()))

    def _made_up(self, analyzed: AnalyzedStatement, request: Request) -> Reply | None:
        """Return the reply to a preview with rows that are made up, where the role sees such."""
        preview, role = analyzed.preview, self._deps.policy.roles[request.asker.role]
        if preview is None or role.preview is not Preview.MADE_UP or not role.may_use(preview.table.name):
            return None
        require_columns(role, preview.table.name, sorted(preview.columns))
        rows = MadeUp(self._deps.policy, self._deps.rows).item(preview.table, preview.most)
        return Reply(preview.text(rows), (told_of(preview.table),))

    def _known_rows(self, analyzed: AnalyzedStatement, request: Request) -> Reply | None:
        """Return the reply to a statement of which the policy knows all; None where that is not so.

        Raises:
            AccessDenied: the role may not use a table of which it knows something.
        """
        role, tables = self._deps.policy.roles[request.asker.role], self._deps.policy.tables
        for name in analyzed.told_tables:
            require_table(role, tables[name], exp.Table())
        if analyzed.kind is not Kind.PUBLIC or analyzed.statement is None:
            return None
        return Reply(known_text(analyzed.statement), tuple(analyzed.told_tables.values()))

    def _read_off(self, priced: PricedPlan, drawn: Drawn, request: Request, epoch: int) -> ReadOff:
        """Return the parts of a plan that are read off other releases of the role's, beside its stored ones and `drawn`."""
        stored = self._measuring.stored(priced, request, epoch) if priced.aim is None else {}
        return self._reading_off.read_off(priced, {*stored, *drawn}, request, epoch, given=True)

    def _measured(
        self,
        priced: PricedPlan,
        drawn: Drawn,
        read_off: ReadOff,
        request: Request,
        epoch: int,
        trial: RunningTrial | None,
    ) -> Reply:
        """Return the reply with rows that are measured now: once, or until they err as little as is aimed at."""
        self._run_through(trial, priced, request)
        said = list(read_off.notices)
        request.receipt.note(read_off.releases)

        def measured(step: PricedPlan, enough: bool) -> Releases | None:
            try:
                releases, nearing = self._released(step, request, epoch, trial)
            except (BudgetExhausted, AccountClosed, TrialFailed):
                if enough:
                    return None  # what was paid for answers as well as it can
                raise
            said.extend(nearing)
            return releases

        priced, draws = drawn_until(priced, drawn, measured)
        self._reading_off.keep_draws(priced, draws, request, epoch)
        reply = self._reply(priced, by_best(priced, draws)[1], request)
        return replace(reply, notices=(*reply.notices, *said))

    def _released(
        self, priced: PricedPlan, request: Request, epoch: int, trial: RunningTrial | None
    ) -> tuple[Releases, tuple[str, ...]]:
        """Return the releases of measurements that are paid and made now, and what is said of budgets that near their end.

        These are the stages from `ready` on, in their order.
        """
        measuring, reading, times = self._measuring, self._reading(request), self._deps.times
        if trial is not None:
            self._try(trial, priced, request)
        with ExitStack() as held:
            with times.timed("ready and charge"):
                ready = held.enter_context(measuring.ready(priced, request, epoch))
                paid = held.enter_context(measuring.charge(ready))
            ladders: dict[str, Exact] = {}
            for waiting in paid.left:
                part = reading.completed(priced, waiting, paid.drawn)
                with paid.failing_alike(part):
                    ladder = ladders.get(part.bound_by.identity) if part.is_told and part.bound_by is not None else None
                    with times.timed("run"):
                        exact = measuring.run(paid, part) if ladder is None else measuring.told(ladder, part)
                    if isinstance(part.measurement, RowsPerUnit):
                        ladders[part.identity] = exact
                    with times.timed("release"):
                        release = measuring.release(exact)
                paid.keep(part, release)
        return paid.releases, paid.statement.nearing

    def _trial(self, request: Request) -> RunningTrial | None:
        """Return the trial of a statement on synthetic people, which begins; None where nothing is tried."""
        if self._deps.trial is None:
            return None
        return RunningTrial(
            self._deps.trial, self._deps.policy.roles[request.asker.role].protects, request.cancellation
        )

    def _tried_first(self, trial: RunningTrial | None, priced: PricedPlan, request: Request) -> Work[None] | None:
        """Return the work of a trial, None if there is nothing left to try."""
        return (
            partial(self._try, trial, priced, request)
            if trial is not None and trial.is_due(priced.measurements)
            else None
        )

    def _try(self, trial: RunningTrial, priced: PricedPlan, request: Request) -> None:
        """Try what of a statement has a new form.

        Raises:
            TrialFailed: it does not hold on synthetic people what it claims.
        """
        with self._deps.times.timed("trial"):
            trial.see(priced.measurements)
        request.receipt.trial = trial.verdict

    def _run_through(self, trial: RunningTrial | None, priced: PricedPlan, request: Request) -> str | None:
        """Run through a new plan on what its trial has made up, when that has passed; return the statement over it.

        None of a plan that was run through before, of one that reads no answer, and where synthetic people can't be answered.

        Raises:
            TrialFailed: its release fails.
        """
        if self._known.was_run_through(request):
            return None
        reading, rows_of = self._reading(request), no_rows if trial is None else trial.rows_of
        with self._deps.times.timed("run through"):
            through = partial(run_through, priced, rows_of, reading)
            text = ended_when_overdue(through, request.cancellation, _RUN_THROUGH)
        self._known.keep_run_through(request)
        return text

    def _taken(self, request: Request) -> Reply:
        """Return the reply to who takes the profile, once it is paid for."""
        plan, epoch, trial = self._profiles.plan(request), self._measuring.epoch(request), self._trial(request)
        if trial is not None:
            self._try(trial, plan.priced, request)
        self._run_through(trial, plan.priced, request)
        return Reply(plan.reply(), self._released(plan.priced, request, epoch, trial)[1])

    def _reply(self, priced: PricedPlan, drawn: Drawn, request: Request) -> Reply:
        reading = self._reading(request)
        draws = with_profile(drawn, priced, reading.profile)
        ordinary = self._standing.of(priced, request)
        said = (f"this is no standing question: {ordinary.why}",) if isinstance(ordinary, Ordinary) else ()
        return Reply(splice(priced, draws, reading), (*notices(priced, draws, reading), *said))

    def _stood(
        self, standing: StandingStatement, analyzed: AnalyzedStatement, request: Request, trial: RunningTrial | None
    ) -> Reply | Unpaid:
        """Return the reply of what was measured of a standing question, or the work that pays and measures the rest."""
        claims = self._standing.claims(standing, request)
        request.receipt.note(claims)
        if self._standing.is_done(standing, claims):
            return self._standing_reply(standing, request, [])
        if not standing.is_paid(claims):
            self._standing.see_that_it_has_not_ended(standing, request)
        priced = standing.priced

        def work() -> Reply:
            if trial is not None:
                self._try(trial, priced, request)
            self._run_through(trial, priced, request)
            said = self._standing.measure(standing, request)
            return self._standing_reply(standing, request, said)

        made_up = partial(stand_ins, priced, analyzed.statement, request.question.text, self._reading(request))
        tried = rehearsal(request.question.text, analyzed, self._deps.policy)
        first, through = self._tried_first(trial, priced, request), partial(self._run_through, trial, priced, request)
        return Unpaid(work, made_up, tried, is_tried(analyzed), first, through)

    def _instead(
        self, standing: StandingStatement | Ordinary, priced: PricedPlan, request: Request
    ) -> StandingReading | None:
        """Return how a statement over a growing table is read off what the role has paid for; None where it is not."""
        if isinstance(standing, StandingStatement) and standing.is_paid(self._standing.claims(standing, request)):
            return None
        return self._standing_read.of(priced, request)

    def _read_standing(self, reading: StandingReading, request: Request) -> Reply | Unpaid:
        """Return the reply of what is read off standing questions, or the work that measures what of them has closed."""

        def told() -> Reply:
            priced, drawn = reading.narrowed(self._standing_read.claims(reading, request))
            statement_reading = self._reading(request)
            said = (*notices(priced, drawn, statement_reading), *reading.notices())
            return Reply(splice(priced, drawn, statement_reading), said)

        def work() -> Reply:
            self._standing.measure_questions(reading.questions, reading.edition, request, lambda: reading.questions)
            return told()

        claims = self._standing_read.claims(reading, request)
        request.receipt.note(claims)
        return Unpaid(work, partial(iter, ())) if reading.left(claims) else told()

    def _standing_reply(self, standing: StandingStatement, request: Request, said: Sequence[str]) -> Reply:
        """Return the reply over what was measured of a standing question."""
        claims, reading = self._standing.claims(standing, request), self._reading(request)
        standing = self._standing.again(standing, request)
        priced, drawn = standing.narrowed(claims)
        told = (*notices(priced, drawn, reading), *standing.notices(claims), *said)
        return Reply(splice(priced, drawn, reading), told)

    def _reading(self, request: Request) -> Reading:
        clamp = is_clamped(request.settings, self._deps.policy.roles[request.asker.role])
        evaluator = self._deps.evaluator(request.settings, request.asker.user)
        digits = session_digits(request.settings)
        return Reading(evaluator, self._emitter, request.cancellation, clamp, digits, self._profiles.of(request))


def _is_plan_of_rows(analyzed: AnalyzedStatement) -> bool:
    """Return whether a statement explains rows of a protected table, which are refused."""
    statement, refusal = analyzed.statement, analyzed.refusal
    if statement is None or refusal is None or statement.wrap is not Wrap.EXPLAIN:
        return False
    if "format" in statement.prefix.lower():  # it asks in PostgreSQL's own
        return False
    return is_of_rows(refusal)


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
