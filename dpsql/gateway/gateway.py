"""The gateway: a question goes in, a statement over released rows comes out, and nothing exact leaves.

    examine   place
    answer    bind ► resolve ► track ► measure ► price ► ready ► charge ► run ► release ► splice
    recalled  what was told before, by none of these

`answer` goes from one value to the next, each of which only the one before it can become: a `Request` is bound, becomes an
`Asked` statement with its plan and price, and then one of the ways in which it is answered (`Way`). What has to be measured
goes on as a `ReadyPlan`, a `PaidPlan` and releases (`measuring`).

Promise: each measurement was charged before the engine was asked, and one that the engine does not take costs nothing;
only a `Release` is put into the text.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import assert_never

from sqlglot import exp

from dpsql.accounting.balance import Balance, afford
from dpsql.errors import AccountClosed, BudgetExhausted, TrialFailed
from dpsql.gateway.catalogue.made_up import MadeUp, told_of
from dpsql.gateway.catalogue.virtual_tables import AccountsStatement, Books, with_accounts
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.explaining.explain import Free, Knowledge, explain, explain_rows, rights
from dpsql.gateway.explaining.notices import notices
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.measuring import Exact, Measuring, Profiles, Releases, account, with_profile
from dpsql.gateway.planned_questions import KnownReply, PlannedQuestions
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
from dpsql.gateway.rehearsal import rehearsal
from dpsql.gateway.request import ProfileStatement, Reply, Request, Unpaid, Work
from dpsql.gateway.reuse.reading_off import NOTHING_READ, ReadingOff, ReadOff, ToldReleases
from dpsql.gateway.run_through import no_rows, run_through
from dpsql.gateway.session_settings import check_setting, is_clamped, session_digits
from dpsql.gateway.standing import StandingStatement, StandingStatements
from dpsql.gateway.standing_reading import StandingReading, StandingReadings
from dpsql.interrupt import PROCESSOR_SECONDS, ended_when_overdue
from dpsql.policy.model import Preview, Privacy, TableName
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.question import Asker
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

_RUN_THROUGH = 2 * PROCESSOR_SECONDS
"""Seconds of the processor for a run through a plan: its answer takes as long again, and is ended by nobody."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement that is planned and priced, with who asks: of what was released before nothing is known yet."""

    request: Request
    plan: PricedPlan
    reading: Reading
    trial: RunningTrial | None
    """On synthetic people, begun; None where nothing is tried."""
    analyzed: AnalyzedStatement | None = None
    """None of the profile, which is no statement's."""
    standing: StandingStatement | Ordinary | None = None
    """What it is if it reads tables that grow."""


@dataclass(frozen=True)
class Found:
    """What of a plan is released in an epoch: by measurements of its own, or by others that it is read off."""

    plan: PricedPlan
    epoch: int
    paid: PaidReleases
    read_off: ReadOff

    @cached_property
    def drawn(self) -> Drawn:
        """Return the releases of each measurement."""
        return {**read_draws(self.paid), **self.read_off.derived}

    @cached_property
    def is_whole(self) -> bool:
        """Return whether nothing is left to be measured."""
        return following(self.plan, self.drawn) is None


@dataclass(frozen=True, slots=True)
class Explained:
    """The plan is shown, with what of it is free."""

    prefix: str


@dataclass(frozen=True, slots=True)
class Declared:
    """All follows from the policy: nothing of the plan is measured."""


Way = Explained | Declared | StandingStatement | StandingReading | Found
"""How an asked statement is answered: a standing question, what is read off such, or what is found and measured beside it."""


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

    def tables(self, asker: Asker) -> Mapping[str, str]:
        """Return what the asker's role may read; see `Answers`."""
        policy = self._deps.policy
        role = policy.roles[asker.role]
        return {
            policy.asked_as(name): TableName.of(name).name
            for name in (*policy.tables, *policy.views)
            if not policy.protects(name) or (role.may_use(name) and self._is_of(name, role.protects))
        }

    def _is_of(self, name: str, kind: str) -> bool:
        """Return whether a table names the individuals of a kind; what a view names follows from its query."""
        table = self._deps.policy.tables.get(name)
        return table is None or kind in table.units

    def recalled(self, request: Request) -> Reply | None:
        """Return the reply that was told before, if it takes no time; see `Answers`.

        What it was made of is the same as long as this gateway lives, but for the epoch, the releases, and what answers are
        read off: one look at the ledger.
        """
        kept = self._known.reply(request)
        if kept is None or kept.names is None:
            return None
        payer = account(self._deps.policy, request.asker)
        if self._deps.ledger.at_hand(payer, kept.shown, kept.names, self._deps.refresh) != (kept.epoch, kept.shown):
            return None
        request.receipt.note(kept.shown)
        return kept.reply

    def answer(self, request: Request) -> Reply | Unpaid:
        """Return the statement over released rows, or the work that measures them; see `Answers`.

        Of the stages those up to `price` are in `priced`, those from `ready` on in `_released`.
        """
        if not isinstance(request.question.parsed, AskedStatement):
            return self._own(request, request.question.parsed)
        analyzed = self.analyzed(request)
        # The name was something else's, or stood in a text: the statement goes to the shadow as it is.
        if analyzed is None:
            return Reply(request.question.text, released=False)
        if (public := self._public(analyzed, request)) is not None:
            return public
        plan = self.priced(analyzed, request)
        standing = self._standing.of(plan, request)
        asked = Asked(request, plan, self._reading(request), self._trial(request), analyzed, standing)
        match self._way(asked):
            case Explained(prefix=prefix):
                # A form that was never tried takes its time, and is tried where measurements are made. All else is
                # explained at once.
                explained, first = partial(self._explained, asked, prefix), self._tried_first(asked)
                return explained() if first is None else Unpaid(explained, trial=first)
            case Declared():
                return self._reply(asked, asked.plan, {})
            case StandingStatement() as standing:
                return self._stood(asked, standing)
            case StandingReading() as reading:
                return self._read_standing(asked, reading)
            case Found(is_whole=True) as found:
                return self._read(asked, found)
            case Found() as found:
                self._standing.see_that_its_table_grows_still(request)
                asked = replace(asked, plan=found.plan)
                return self._unpaid(asked, partial(self._measured, asked, found))
            case never:
                assert_never(never)

    # What is answered without a plan.

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
                return Unpaid(partial(self._taken, request))

    def _public(self, analyzed: AnalyzedStatement, request: Request) -> Reply | None:
        """Return the reply to a statement of which no record tells anything; None where rows of units have to be measured.

        Rows that are made up, rows that the policy knows, columns without rows.

        Raises:
            DpsqlError: it is refused, or reads what the role may not use.
        """
        role, tables = self._deps.policy.roles[request.asker.role], self._deps.policy.tables
        statement, preview, refusal = analyzed.statement, analyzed.preview, analyzed.refusal
        if preview is not None and role.preview is Preview.MADE_UP and role.may_use(preview.table.name):
            require_columns(role, preview.table.name, sorted(preview.columns))
            rows = MadeUp(self._deps.policy, self._deps.rows).item(preview.table, preview.most)
            return Reply(preview.text(rows), (told_of(preview.table),))
        for name in analyzed.told_tables:
            # What the policy itself tells of a table is told only to a role that may use it.
            require_table(role, tables[name], exp.Table())
        if analyzed.kind is Kind.PUBLIC and statement is not None:
            return Reply(known_text(statement), tuple(analyzed.told_tables.values()))
        if request.settings.estimates and _is_plan_of_rows(analyzed):
            return Reply(explain_rows(), released=False)
        if refusal is not None:
            raise refusal.error()
        if analyzed.kind is not Kind.ROWS or statement is None:
            return None
        require_probed(role, (query.tree for query in statement.queries))
        return Reply(column_probe(statement), tuple(row_refusal_notices(analyzed)), released=False)

    # From a plan to the way in which it is answered.

    def _way(self, asked: Asked) -> Way:
        """Return how a statement is answered: free, if it can be."""
        statement = None if asked.analyzed is None else asked.analyzed.statement
        if statement is not None and statement.wrap is Wrap.EXPLAIN:
            return Explained(statement.prefix)
        if not asked.plan.measurements:
            return Declared()
        if isinstance(asked.standing, StandingStatement):
            # What the role has paid for before may tell it, free.
            return self._instead(asked) or asked.standing
        # Releases of its own come first: an answer that was given stays the same one, whatever may be read off others
        # by now.
        found = self._found(asked)
        if found.is_whole:
            return found
        reading = None if asked.standing is None else self._instead(asked)
        return reading or self._found_beside(found, asked.request)

    def _instead(self, asked: Asked) -> StandingReading | None:
        """Return how a statement over a growing table is read off what the role has paid for; None where it is not."""
        standing, request = asked.standing, asked.request
        if isinstance(standing, StandingStatement) and standing.is_paid(self._standing.claims(standing.keys, request)):
            return None
        return self._standing_read.of(asked.plan, request)

    def _found(self, asked: Asked) -> Found:
        """Return what is stored of a plan: of an aimed one by what its inner queries' releases say, which are found first.

        What an answer was read off when it was given it is read off again.
        """
        plan, request, epoch = asked.plan, asked.request, self._measuring.epoch(asked.request)
        if plan.aim is not None and plan.inner:
            drawn_of = partial(self._measuring.drawn, request, epoch)
            plan = affordable(plan, [drawn_of(inner) for inner in plan.inner], drawn_of)
        paid = as_awaited(plan, self._measuring.paid_releases(plan, request, epoch))
        read_off, paid = self._reading_off.given(plan, paid, request, epoch)
        return Found(plan, epoch, paid, read_off)

    def _found_beside(self, found: Found, request: Request) -> Found:
        """Return it with what is read off other releases of the role's."""
        plan, epoch = found.plan, found.epoch
        # Some parts may be stored by other statements. These are not read off anything.
        stored = self._measuring.stored(plan, request, epoch) if plan.aim is None else {}
        others = self._reading_off.read_off(plan, {*stored, *found.drawn}, request, epoch, given=True)
        return replace(found, read_off=found.read_off.beside(others))

    def _unpaid(self, asked: Asked, work: Work[Reply]) -> Unpaid:
        """Return work that pays, with all that may fail before it, free."""
        request, analyzed = asked.request, asked.analyzed
        assert analyzed is not None
        tried = rehearsal(request.question.text, analyzed, self._deps.policy, asked.plan, asked.reading)
        return Unpaid(work, tried, self._tried_first(asked), partial(self._run_through, asked))

    # Each way to its reply.

    def _read(self, asked: Asked, found: Found) -> Reply:
        """Return the reply of which all is there: by releases of its own, and by what is read off others."""
        request, read_off = asked.request, found.read_off
        self._reading_off.keep_draws(found.plan, found.drawn, request, found.epoch)
        shown = {**found.paid, **read_off.releases}
        request.receipt.note(shown)
        profile = asked.reading.profile
        written = {key: release.to_bytes() for key, (_, release) in shown.items()}
        kept = self._known.reply(request)
        if kept is not None and kept.is_of(written, profile):
            return kept.reply
        reply = self._reply(asked, found.plan, found.drawn, read_off.notices())
        names = self._names_at_hand(asked, found)
        known = KnownReply(reply, written, tuple(profile.releases), found.epoch, names)
        self._known.keep_reply(request, found.plan, known)
        return reply

    def _names_at_hand(self, asked: Asked, found: Found) -> tuple[str, ...] | None:
        """Return what `recalled` looks for beside releases of its own; None where an answer depends on more than these."""
        protects = self._deps.policy.roles[asked.request.asker.role].protects
        has_profile = self._deps.policy.budgets[protects].profile is not None
        if has_profile or self._standing.grows or found.plan.aim is not None or found.read_off is not NOTHING_READ:
            return None
        return tuple(self._reading_off.names(found.plan, asked.request, found.epoch))

    def _measured(self, asked: Asked, found: Found) -> Reply:
        """Return the reply with rows that are measured now: once, or until they err as little as is aimed at."""
        request, said = asked.request, list(found.read_off.notices(in_part=True))
        # The session has done so before (`Unpaid.through`), and a plan that is remembered is not run through again.
        # Here nobody gets by without it.
        self._run_through(asked)
        request.receipt.note(found.read_off.releases)

        def measured(step: PricedPlan, enough: bool) -> Releases | None:
            try:
                releases, nearing = self._released(step, found.epoch, asked)
            except (BudgetExhausted, AccountClosed, TrialFailed):
                if enough:
                    return None  # what was paid for answers as well as it can
                raise
            said.extend(nearing)
            return releases

        plan, draws = drawn_until(found.plan, found.drawn, measured)
        self._reading_off.keep_draws(plan, draws, request, found.epoch)
        return self._reply(asked, plan, draws, said)

    def _released(self, plan: PricedPlan, epoch: int, asked: Asked) -> tuple[Releases, tuple[str, ...]]:
        """Return the releases of measurements that are paid and made now, and what is said of budgets that near their end.

        These are the stages from `ready` on, in their order.
        """
        measuring, times = self._measuring, self._deps.times
        self._try(asked, plan)
        with ExitStack() as held:
            with times.timed("ready and charge"):
                ready = held.enter_context(measuring.ready(plan, asked.request, epoch))
                paid = held.enter_context(measuring.charge(ready))
            ladders: dict[str, Exact] = {}
            # In an order in which what a part waits for is released before it: an inner answer, keys, or how many rows
            # units have.
            for waiting in paid.left:
                part = asked.reading.completed(plan, waiting, paid.drawn)
                # What `completed` fails for are releases alone. From here on a row may be the cause, so that a failure
                # is stored.
                with paid.failing_alike(part):
                    # Where C is chosen now, the number of rows follows from those that were read for that: one look at
                    # the records for both.
                    ladder = ladders.get(part.bound_by.identity) if part.is_told and part.bound_by is not None else None
                    with times.timed("run"):
                        exact = measuring.run(paid, part) if ladder is None else measuring.told(ladder, part)
                    if isinstance(part.measurement, RowsPerUnit):
                        ladders[part.identity] = exact
                    with times.timed("release"):
                        release = measuring.release(exact)
                paid.keep(part, release)
        return paid.releases, paid.statement.nearing

    def _taken(self, request: Request) -> Reply:
        """Return the reply to who takes the profile, once it is paid for."""
        profile = self._profiles.plan(request)
        asked = Asked(request, profile.priced, self._reading(request), self._trial(request))
        epoch = self._measuring.epoch(request)
        self._check(asked)
        return Reply(profile.reply(), self._released(asked.plan, epoch, asked)[1])

    def _stood(self, asked: Asked, standing: StandingStatement) -> Reply | Unpaid:
        """Return the reply of what was measured of a standing question, or the work that pays and measures the rest."""
        request = asked.request
        claims = self._standing.claims(standing.keys, request)
        request.receipt.note(claims)
        if self._standing.is_done(standing, claims):
            return self._standing_reply(asked, standing, [])
        if not standing.is_paid(claims):
            self._standing.see_that_it_has_not_ended(standing, request)

        def work() -> Reply:
            self._check(asked)
            return self._standing_reply(asked, standing, self._standing.measure(standing, request))

        return self._unpaid(asked, work)

    def _standing_reply(self, asked: Asked, standing: StandingStatement, said: Sequence[str]) -> Reply:
        """Return the reply over what was measured of a standing question."""
        claims = self._standing.claims(standing.keys, asked.request)
        standing = self._standing.again(standing, asked.request)
        return self._written(asked, *standing.narrowed(claims), (*standing.notices(claims), *said))

    def _read_standing(self, asked: Asked, reading: StandingReading) -> Reply | Unpaid:
        """Return the reply of what is read off standing questions, or the work that measures what of them has closed."""
        request = asked.request

        def told() -> Reply:
            narrowed = reading.narrowed(self._standing.claims(reading.keys, request))
            return self._written(asked, *narrowed, reading.notices())

        def work() -> Reply:
            self._standing.measure_questions(reading.questions, reading.edition, request, lambda: reading.questions)
            return told()

        claims = self._standing.claims(reading.keys, request)
        request.receipt.note(claims)
        return Unpaid(work) if reading.left(claims) else told()

    def _explained(self, asked: Asked, prefix: str) -> Reply:
        """Return the reply that explains a plan, with its free parts."""
        plan, request, standing, deps = asked.plan, asked.request, asked.standing, self._deps
        epoch = self._measuring.epoch(request)
        stored = self._reading_off.stored(plan, request, epoch)
        read_off, _ = self._reading_off.given(plan, {}, request, epoch)
        # What an answer was read off before is looked for first, as for the statement itself; only then what else may
        # tell it.
        read_off = read_off.beside(self._reading_off.read_off(plan, {*stored, *read_off.told}, request, epoch))
        releases = self._measuring.stored(plan, request, epoch)
        own = stored.union(releases)
        if plan.aim is not None:  # what it pays is known step by step: what can be told is that there is none left
            found = self._found(asked)
            whole = replace(found, read_off=found.read_off.beside(read_off)).is_whole
            own = frozenset(part.identity for part in plan.measurements if whole)
        free = Free(
            {identity: told.statement for identity, told in read_off.told.items()},
            own,
            tuple(self._reading_off.neighbours(plan, {*stored, *read_off.told}, request, epoch)),
        )
        further = list(rights(deps.policy.roles[request.asker.role], plan))
        # EXPLAIN fails where the statement would fail before it is paid for.
        self._check(asked)
        reading = None if standing is None else self._instead(asked)
        if isinstance(standing, StandingStatement) and reading is None:
            further.append(standing.explained(self._standing.claims(standing.keys, request)))
        elif reading is not None:
            further.append(reading.explained())
            told = {key: part.statement for key, part in reading.parts.items()}
            free = replace(free, read_off={**told, **free.read_off})
        elif isinstance(standing, Ordinary):
            further.append(f"Standing: no, {standing.why}")
        further.extend(self._measuring.told_of_parts(plan))
        if asked.trial is not None:
            further.append(f"Trial: {asked.trial.told(plan.measurements)}")
        balance = deps.ledger.balance(account(deps.policy, request.asker), request.cancellation)
        # What a target costs is known once it is met; a standing statement pays for the periods that are missing.
        if plan.aim is None and not isinstance(standing, StandingStatement):
            further.extend(_refused_now(balance, free.unpaid(plan)))
        broken = balance.broken
        if broken and any(form_of(part.measurement, part.sql) in broken for part in plan.measurements):
            further.append(
                "Refused: this form of statement failed by a bug of dpsql; what was answered before stays free"
            )
        known, estimates = Knowledge(asked.reading.profile, releases), request.settings.estimates
        return Reply(explain(plan, prefix, deps.engine.edition, known, free, further, estimates=estimates))

    # Trials, which come before anything is paid.

    def _trial(self, request: Request) -> RunningTrial | None:
        """Return the trial of a statement on synthetic people, which begins; None where nothing is tried."""
        if self._deps.trial is None:
            return None
        return RunningTrial(
            self._deps.trial, self._deps.policy.roles[request.asker.role].protects, request.cancellation
        )

    def _tried_first(self, asked: Asked) -> Work[None] | None:
        """Return the work of a trial, None if there is nothing left to try."""
        due = asked.trial is not None and asked.trial.is_due(asked.plan.measurements)
        return partial(self._try, asked, asked.plan) if due else None

    def _check(self, asked: Asked) -> None:
        """Try a statement, and run through it."""
        self._try(asked, asked.plan)
        self._run_through(asked)

    def _try(self, asked: Asked, plan: PricedPlan) -> None:
        """Try what of a plan has a new form.

        Raises:
            TrialFailed: it does not hold on synthetic people what it claims.
        """
        if asked.trial is not None:
            with self._deps.times.timed("trial"):
                asked.trial.see(plan.measurements)
            asked.request.receipt.trial = asked.trial.verdict

    def _run_through(self, asked: Asked) -> str | None:
        """Run through a new plan on what its trial has made up, when that has passed; return the statement over it.

        None of a plan that was run through before, of one that reads no answer, and where synthetic people can't be answered.

        Raises:
            TrialFailed: its release fails.
        """
        request, trial = asked.request, asked.trial
        if self._known.was_run_through(request):
            return None
        with self._deps.times.timed("run through"):
            through = partial(run_through, asked.plan, no_rows if trial is None else trial.rows_of, asked.reading)
            text = ended_when_overdue(through, request.cancellation, _RUN_THROUGH)
        self._known.keep_run_through(request)
        return text

    # From releases to the statement over them.

    def _reply(self, asked: Asked, plan: PricedPlan, drawn: Drawn, said: Sequence[str] = ()) -> Reply:
        """Return the reply over the best releases of a plan."""
        standing = asked.standing
        ordinary = (f"this is no standing question: {standing.why}",) if isinstance(standing, Ordinary) else ()
        draws = with_profile(by_best(plan, drawn)[1], plan, asked.reading.profile)
        return self._written(asked, plan, draws, (*ordinary, *said))

    def _written(self, asked: Asked, plan: PricedPlan, drawn: Drawn, said: Sequence[str]) -> Reply:
        """Return the reply over releases, with what is `said` beside it."""
        return Reply(splice(plan, drawn, asked.reading), (*notices(plan, drawn, asked.reading), *said))

    def _reading(self, request: Request) -> Reading:
        """Return how releases become rows for a request: with one profile from its plan to its reply."""
        clamp = is_clamped(request.settings, self._deps.policy.roles[request.asker.role])
        evaluator = self._deps.evaluator(request.settings, request.asker.user)
        digits = session_digits(request.settings)
        return Reading(evaluator, self._emitter, request.cancellation, clamp, digits, self._profiles.of(request))


def _refused_now(balance: Balance, costs: Sequence[Privacy]) -> Iterator[str]:
    """Yield that the role can't pay for measurements, in the words of the refusal; of all roles' budget nothing is told."""
    try:
        afford(balance, costs, ())
    except (BudgetExhausted, AccountClosed) as refusal:
        yield f"Refused now: {refusal.message}"


def _is_plan_of_rows(analyzed: AnalyzedStatement) -> bool:
    """Return whether a statement explains rows of a protected table, which are refused."""
    statement, refusal = analyzed.statement, analyzed.refusal
    if statement is None or refusal is None or statement.wrap is not Wrap.EXPLAIN:
        return False
    if "format" in statement.prefix.lower():  # it asks in PostgreSQL's own
        return False
    return is_of_rows(refusal)


def splice(priced: PricedPlan, drawn: Drawn, reading: Reading) -> str:
    """Return the statement with its releases in the places of private rows."""
    return reading.over(priced, drawn)
