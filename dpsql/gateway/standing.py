"""Statements over a table that grows, where they are standing questions: paid once a term, and told as far as it is closed.

Each of the statement's measurements has to be one, over one table; else the statement is an ordinary question, and a
notice says why.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem, PaidStatement, StandingClaim, StandingQuestion, standing_key
from dpsql.accounting.privacy_loss import compose, show_up
from dpsql.accounting.sliding import ReadDays
from dpsql.engines.apart import ready_apart
from dpsql.engines.base import PreparedMeasurements, SnapshotVersion
from dpsql.errors import AccountClosed, BudgetExhausted, EngineNotReady, InternalError, Unsupported
from dpsql.gateway.catalogue.virtual_tables import ListedQuestion, StandingState
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.measuring import account, failing_alike, failure_of, written_question
from dpsql.gateway.pricing import Drawn, PricedPlan, with_scopes
from dpsql.gateway.request import Request
from dpsql.gateway.session_settings import is_renewed
from dpsql.interrupt import interruptible
from dpsql.policy.growth import Grows, Term
from dpsql.policy.model import Privacy, Role, Table, fingerprint
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.release import Draws, Release, release_of
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.standing.measuring import AskedQuestion, StandingMeasuring, due_periods, lost_periods, measured_cells
from dpsql.standing.questions import Ordinary, StandingPart, recognize_question
from dpsql.trial.tried_forms import form_of

_MARK = b"standing"
"""What is stored as the release of a standing question: that it was paid for."""
Claims = Mapping[str, Sequence[StandingClaim]]


@dataclass(frozen=True, slots=True)
class StandingStatement:
    """A statement all of whose measurements are standing questions about one term of one table."""

    priced: PricedPlan
    """As an ordinary question."""
    questions: Mapping[str, AskedQuestion]
    """By the measurements' identities."""
    edition: SnapshotVersion

    @property
    def keys(self) -> list[str]:
        """Return what its questions are charged by."""
        return [asked.key for asked in self.questions.values()]

    @property
    def table(self) -> Table:
        """Return the table that grows."""
        return self._any.table

    @property
    def grows(self) -> Grows:
        """Return how it does."""
        return self._any.grows

    @property
    def term(self) -> Term:
        """Return the term that is asked about."""
        return self._any.term

    @property
    def _any(self) -> StandingPart:
        return next(iter(self.questions.values())).part

    def is_paid(self, claims: Claims) -> bool:
        """Return whether all of its questions are paid for by the role."""
        return all(_is_paid(asked, claims) for asked in self.questions.values())

    def left(self, claims: Claims) -> bool:
        """Return whether something of it has closed, and is not measured yet."""
        return any(
            due_periods(asked, claims.get(asked.key, ()), self.edition.taken) for asked in self.questions.values()
        )

    def narrowed(self, claims: Claims) -> tuple[PricedPlan, Drawn]:
        """Return the plan with the groups of what was measured, and its releases."""
        drawn: dict[str, Draws] = {}
        return with_scopes(self.priced, [self._scope(scope, claims, drawn) for scope in self.priced.scopes]), drawn

    def _scope(self, scope: PricedScope, claims: Claims, drawn: dict[str, Draws]) -> PricedScope:
        asked = [self.questions[part.identity] for part in scope.parts]
        cells = [measured_cells(claims.get(each.key, ())) for each in asked]
        # A period is shown once each of its measurements has it, so that no row is in part.
        shown = [day for day in asked[0].part.periods if all(day in measured for measured in cells)]
        parts, measurements = list[PricedMeasurement](), list[Sums]()
        for part, each, measured in zip(scope.parts, asked, cells, strict=True):
            sums = replace(each.part.asked, groups=each.part.groups(shown))
            by_place = {
                place: numbers
                for day in shown
                for place, numbers in zip(each.part.cells[day], measured[day], strict=True)
            }
            numbers = [by_place[place] for place in sorted(by_place)]
            drawn[part.identity] = Draws.of((sums, Release(numbers, chosen=each.part.chosen)))
            parts.append(replace(part, measurement=sums))
            measurements.append(sums)
        plan = replace(scope.plan, groups=asked[0].part.groups(shown), parts=tuple(measurements))
        return PricedScope(plan, tuple(parts))

    def told(self, claims: Claims) -> tuple[date, ...]:
        """Return which of the periods that are asked for were measured, all parts of each."""
        measured = [measured_cells(claims.get(asked.key, ())) for asked in self.questions.values()]
        return tuple(day for day in self._any.periods if all(day in cells for cells in measured))

    def notices(self, claims: Claims) -> list[str]:
        """Return what is said beside the answer: until when it tells, if that is not all that was asked for."""
        told, every, grows = set(self.told(claims)), self._any.periods, self.grows
        lost = {day for asked in self.questions.values() for day in lost_periods(claims.get(asked.key, ()))}
        said: list[str] = []
        waiting = [day for day in every if not grows.is_closed(day, self.edition.taken)]
        if waiting:
            said.append(waits(self.table, grows, waiting[0], self.edition.taken))
        if lost & set(every):
            days = ", ".join(map(str, sorted(lost & set(every))))
            said.append(f"{days}: a measurement failed, and there will be no answer for it")
        behind = [day for day in every if day not in told and day not in lost and day not in waiting]
        if behind and told:
            said.append(f"not measured yet: {len(behind)} {grows.every}s from {behind[0]} on, which is tried again")
        return said

    def explained(self, claims: Claims) -> str:
        """Return the line about it in an EXPLAIN."""
        told, every, grows = self.told(claims), self._any.periods, self.grows
        paid = f"paid for {self.term}" if self.is_paid(claims) else f"would be paid once, for {self.term}"
        until = f"released to {told[-1]}" if told else "nothing is released yet"
        waiting = [day for day in every if not grows.is_closed(day, self.edition.taken)]
        following = f"; the next {grows.every} closes on {grows.closes(waiting[0]):%Y-%m-%d}" if waiting else ""
        return f"Standing: {paid}; {until}{following}"


def waits(table: Table, grows: Grows, waiting: date, taken: datetime) -> str:
    """Return until when an answer from a copy tells, and when the first period closes that it was asked about and lacks."""
    until = grows.told_until(taken)
    first = "then" if waiting == until else f"{waiting}"
    closes = f"the {grows.every} from {first} on closes on {grows.closes(waiting):%Y-%m-%d} (UTC)"
    return f"of table {table.name} it has what came before {until}: {closes}, and is in the copy after that"


def _is_paid(asked: AskedQuestion, claims: Claims) -> bool:
    """Return whether a question is paid for: one whose C was to be chosen, and was not, is paid for again."""
    return asked.key in claims and not asked.part.waits


def _cost(part: StandingPart) -> Privacy:
    """Return what a question costs for its term, with the choice of its C."""
    measured = part.part.cost
    return measured if part.choosing is None else compose((measured, Privacy(part.choosing)))


def sharing(parts: Mapping[str, StandingPart]) -> dict[str, StandingPart]:
    """Return questions with what the choices of their C pay: those that one statement would share have parts of it."""
    searches = Counter(part.part.bound_by.identity for part in parts.values() if part.part.bound_by is not None)
    return {
        identity: part
        if part.choosing is None or part.part.bound_by is None
        else replace(part, choosing=part.choosing / searches[part.part.bound_by.identity])
        for identity, part in parts.items()
    }


def _has_last_term(part: StandingPart, edition: SnapshotVersion) -> bool:
    """Return whether the term before a question's is in the table as a whole, and has closed: by what is declared."""
    begins = part.begins()
    last = max(part.grows.periods(part.last_term.first, part.last_term.end))
    return begins is not None and begins <= part.grows.closes(last).date() and part.grows.is_closed(last, edition.taken)


def _settled(part: StandingPart, identity: str, key: str, stored: bytes) -> AskedQuestion:
    """Return a question with the C that was released for it: its accounts are those of that C."""
    chosen = part.choice(Release.from_bytes(stored).numbers[0])
    named = hashlib.sha256(f"{identity}\n{chosen.rows}".encode()).hexdigest()
    return AskedQuestion(part.settled(chosen), named, key)


def ladder_of(part: StandingPart, emitter: Emitter) -> PricedMeasurement:
    """Return the measurement by which the C of a question is chosen."""
    ladder = part.ladder()
    text = ladder.sql(emitter)
    return PricedMeasurement(ladder, text, hashlib.sha256(text.encode()).hexdigest())


@dataclass
class _Ladders:
    """Measures by which the C of questions is chosen, once they are paid for."""

    deps: GatewayDependencies
    parts: Mapping[str, PricedMeasurement]
    """By the keys of the charges."""
    cancellation: Cancellation
    held: ExitStack
    prepared: PreparedMeasurements | None = None

    def prepare(self, missing: AbstractSet[str]) -> None:
        """Make ready what nothing is stored for, before it is paid."""
        # The ledger calls anew where it has to begin anew; what was ready before is let go of.
        self.held.close()
        statements = [self.parts[key].sql for key in self.parts if key in missing]
        if statements:
            deps = self.deps
            ready = ready_apart(deps.engine, statements, timeout=deps.timeout, cancellation=self.cancellation)
            self.prepared = self.held.enter_context(ready)

    def measured(self, key: str, paid: PaidStatement) -> bytes:
        """Return the release of one; from the moment the engine is asked nothing may depend on data but that.

        Raises:
            DpsqlError: it failed, which is stored, or somebody has cancelled.
        """
        part = self.parts[key]
        if self.prepared is None:
            raise InternalError
        with failing_alike(paid, key, self.cancellation):
            rows = self.prepared.run(part.sql, paid.charge)
            return release_of(part, rows, None, interruptible(self.deps.entropy, self.cancellation)).to_bytes()


class StandingStatements:
    """Recognizes and answers standing questions; one that was not paid for is an ordinary one, unless it may begin now."""

    def __init__(self, deps: GatewayDependencies, emitter: Emitter) -> None:
        self._deps, self._emitter = deps, emitter
        self._ended: dict[str, Mapping[str, StandingQuestion]] = {}
        self.grows = any(table.grows is not None for table in deps.policy.tables.values())

    def of(self, priced: PricedPlan, request: Request) -> StandingStatement | Ordinary | None:
        """Return a statement as standing questions, or why it is none; None of one that reads no growing table."""
        if not self.grows:
            return None
        deps, now = self._deps, self.now()
        role = deps.policy.roles[request.asker.role]
        every = [(scope, part) for stage in priced.stages() for scope in stage.scopes for part in scope.parts]
        found = [(part, recognize_question(scope.plan, part, role.protects, now)) for scope, part in every]
        if all(asked is None for _, asked in found):
            return None
        why = next((asked for _, asked in found if isinstance(asked, Ordinary)), None) or self.not_here(priced, role)
        if why is not None:
            return why
        parts = sharing({part.identity: asked for part, asked in found if isinstance(asked, StandingPart)})
        if len(parts) < len({part.identity for part, _ in found}):
            return Ordinary("it reads other tables, too")
        if len({(part.table.name, part.term, part.periods) for part in parts.values()}) > 1:
            return Ordinary("its parts ask for different times")
        if any(part.measurement.groups != scope.plan.groups for scope, part in every if part.identity in parts):
            return Ordinary("its groups are put together of others")
        edition, accounts = deps.engine.edition, deps.accounts
        if edition is None or accounts is None:
            return Ordinary("there are no accounts beside the records: it takes a snapshot")
        late = next(
            (part for part in parts.values() if part.choosing is not None and not _has_last_term(part, edition)), None
        )
        if late is not None:
            begins = late.begins()
            since = "" if begins is None else f", from {begins} on"
            return Ordinary(
                f"max_rows of table {late.table.name} is auto, and C is chosen over a whole {late.term.length} that has "
                f"closed{since}"
            )
        statement = StandingStatement(priced, {key: self.asked(part, role) for key, part in parts.items()}, edition)
        if now.date() >= statement.term.end and not statement.is_paid(self.claims(statement.keys, request)):
            return Ordinary(
                f"the {statement.term.length} {statement.term} has ended before anybody of the role asked it"
            )
        return statement

    def not_here(self, priced: PricedPlan, role: Role) -> Ordinary | None:
        """Return why no standing question can be asked in this way, whatever it is about."""
        if priced.aim is not None:
            return Ordinary("an error is aimed at; SET dpsql.epsilon says what it pays")
        if priced.inner:
            return Ordinary("it has an inner query that is measured by itself")
        budget = self._deps.policy.budgets[role.protects]
        if role.budget.concentrated is not None or budget.concentrated is not None:
            return Ordinary("charges are added up by zCDP")
        return None

    def asked(self, part: StandingPart, role: Role) -> AskedQuestion:
        """Return a question with what it is called, and charged by."""
        deps, table = self._deps, part.table
        # Accounts know units by their texts, and these follow from the type that the engine has.
        stored = deps.engine.columns(table.name).get(part.asked.bound.unit.name, "")
        identity = part.identity(deps.ledger.identity, role.protects, self.declared(table, role), stored)
        key = standing_key(identity)
        if part.choosing is None:
            return AskedQuestion(part, identity, key)
        # Nobody in particular: what was paid for is the role's.
        payer = Account("", role, deps.policy.budgets[role.protects])
        released = deps.ledger.paid(payer, [key]).get(key)
        return AskedQuestion(part, identity, key) if released is None else _settled(part, identity, key, released)

    def again(self, statement: StandingStatement, request: Request) -> StandingStatement:
        """Return a statement that was paid for, with what was chosen by that."""
        role = self._deps.policy.roles[request.asker.role]
        questions = {
            identity: self.asked(asked.part, role) if asked.part.waits else asked
            for identity, asked in statement.questions.items()
        }
        return replace(statement, questions=questions)

    def declared(self, table: Table, role: Role) -> str:
        """Return a hash of what was declared, with which all standing questions of the table end.

        The bounds of the time are not in it: what is measured are whole periods, in whatever bounds.
        """
        assert table.grows is not None
        by = table.columns[table.grows.by]
        unbounded = replace(table, columns={**table.columns, by.name: replace(by, bounds=None)})
        declared = fingerprint({table.name: unbounded})
        parts = (declared, repr(table.grows), repr(role.where.get(table.name)))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def listed(self, request: Request) -> Iterator[ListedQuestion]:
        """Yield what the role has paid for, oldest first; for an owner what all roles have."""
        policy, asking = self._deps.policy, self._deps.policy.roles[request.asker.role]
        for role in policy.roles.values() if asking.owner else (asking,):
            payer = Account(request.asker.user, role, policy.budgets[role.protects])
            for question in self._deps.ledger.standing_questions(payer, request.cancellation):
                yield self._as_listed(question, role)

    def _as_listed(self, question: StandingQuestion, role: Role) -> ListedQuestion:
        table = self._deps.policy.tables.get(question.table)
        if table is None or table.grows is None or self.declared(table, role) != question.declared:
            return ListedQuestion(role.name, question, StandingState.ENDED, None)
        if self.now() >= question.until:
            return ListedQuestion(role.name, question, StandingState.OVER, None)
        if not question.measured:
            return ListedQuestion(role.name, question, StandingState.STANDS, None)
        grows, last = table.grows, question.measured[-1]
        following = grows.end_of(last)
        ends = following >= grows.term_of(last).end
        return ListedQuestion(role.name, question, StandingState.STANDS, None if ends else grows.closes(following))

    def claims(self, keys: Sequence[str], request: Request) -> Claims:
        """Return what is known of questions, by what they are charged by, as far as the role has paid for them."""
        payer = account(self._deps.policy, request.asker)
        return self._deps.ledger.standing_claims(payer, keys, request.cancellation)

    def is_done(self, statement: StandingStatement, claims: Claims) -> bool:
        """Return whether nothing is to be paid or measured now."""
        over = self.now() >= statement.grows.last_moment(statement.term)
        return over or not statement.left(claims)

    def see_that_it_has_not_ended(self, statement: StandingStatement, request: Request) -> None:
        """Return if the role has no like question that has ended within its term, or says that it pays again.

        Raises:
            Unsupported: it has, and has not said so.
        """
        role, now = self._deps.policy.roles[request.asker.role], self.now()
        if is_renewed(request.settings):
            return
        name, term, declared = statement.table.name, str(statement.term), self.declared(statement.table, role)
        within = statement.grows.names_within(statement.term)  # also where the length of terms has changed
        paid = self._deps.ledger.standing_questions(account(self._deps.policy, request.asker), request.cancellation)
        of_term = [q for q in paid if q.table == name and q.term in within and q.until > now]
        # The very statement was paid for as other questions: what it measures has changed by something else.
        text = None if request.arguments else request.question.text
        costs = {_cost(asked.part).epsilon for asked in statement.questions.values()}
        again = any(q.statement == text and q.epsilon in costs for q in of_term)
        if again or any(q.declared != declared for q in of_term):
            raise _has_ended(name, term, "for the whole term")

    def see_that_its_table_grows_still(self, request: Request) -> None:
        """Return if a statement that is to be paid for is none that the role has paid for as a standing question.

        Raises:
            Unsupported: it is, of a table that says no more that it grows, and the role has not said that it pays again.
        """
        ended = self._outgrown(request).get(request.question.text)
        if (
            ended is not None
            and ended.until > self.now()
            and not request.arguments
            and not is_renewed(request.settings)
        ):
            raise _has_ended(ended.table, ended.term, "as for any other question")

    def _outgrown(self, request: Request) -> Mapping[str, StandingQuestion]:
        """Return by their statements the role's questions of tables that grow no more: there are not more of them later."""
        role, tables = request.asker.role, self._deps.policy.tables
        if role not in self._ended:
            paid = self._deps.ledger.standing_questions(account(self._deps.policy, request.asker), request.cancellation)
            gone = (q for q in paid if q.table not in tables or tables[q.table].grows is None)
            self._ended[role] = {q.statement: q for q in gone}
        return self._ended[role]

    def measure(self, statement: StandingStatement, request: Request) -> list[str]:
        """Pay for a statement, and measure what of it has closed; return what is said of that.

        Raises:
            DpsqlError: what was paid and measured until then stays so.
        """
        said: list[str] = []
        questions = list(statement.questions.values())

        def pay() -> Sequence[AskedQuestion]:
            said.extend(self._paid(statement, request))
            return list(self.again(statement, request).questions.values())

        try:
            self.measure_questions(questions, statement.edition, request, pay)
        except (EngineNotReady, AccountClosed, BudgetExhausted) as error:
            claims = self.claims(statement.keys, request)
            statement = self.again(statement, request)
            # What was measured before is an answer, with a word about the rest. Without any the error is the answer.
            if not statement.is_paid(claims) or not statement.told(claims):
                raise
            said.append(f"nothing more of it is measured now: {error.message}")
        return said

    def measure_questions(
        self,
        questions: Sequence[AskedQuestion],
        edition: SnapshotVersion,
        request: Request,
        pay: Callable[[], Sequence[AskedQuestion]],
    ) -> None:
        """Pay for questions, and measure what of them has closed; see `StandingMeasuring.measure`."""
        deps = self._deps
        assert deps.accounts is not None
        measuring = StandingMeasuring(
            deps.ledger,
            deps.accounts,
            self._emitter,
            deps.entropy,
            deps.timeout,
            edition.taken,
            partial(self._serves, edition),
            self.now,
            failure_of,
        )
        payer = account(deps.policy, request.asker)
        measuring.measure(payer, questions, request.question.text, pay, request.cancellation)

    def _serves(self, edition: SnapshotVersion) -> None:
        edition.require_serving()
        if not self._deps.engine.is_current():
            raise EngineNotReady

    def _paid(self, statement: StandingStatement, request: Request) -> list[str]:
        """Charge what the role has not paid for yet; return what is said of it."""
        deps, payer = self._deps, account(self._deps.policy, request.asker)
        claims = self.claims(statement.keys, request)
        # Two measurements that differ in how they spell the period are one question.
        by_key = {
            asked.key: (key, asked.part) for key, asked in statement.questions.items() if not _is_paid(asked, claims)
        }
        if not by_key:
            return []
        last = statement.grows.last_moment(statement.term)
        # The charge counts for all days on which rows may be read for it: from this copy's on, until nothing of the
        # term is measured any more.
        read = ReadDays(statement.edition.read_of([statement.table.name]).first, last.date())
        parts = {part.identity: part for part in statement.priced.measurements}
        items = [
            ChargeItem(
                charged,
                _cost(standing),
                f"standing question for {statement.term}: {parts[key].note}",
                partial(form_of, parts[key].measurement, parts[key].sql),
                read,
            )
            for charged, (key, standing) in by_key.items()
        ]
        ladders = {
            key: ladder_of(part, self._emitter) for key, (_, part) in by_key.items() if part.choosing is not None
        }
        question = written_question(request, ())
        with ExitStack() as held:
            ready = _Ladders(deps, ladders, request.cancellation, held)
            with deps.ledger.open_statement(
                payer, request.question.text, items, ready.prepare, request.cancellation, question
            ) as paid:
                request.receipt.note((item.key for item in items), paid.charge.cost)
                if paid.failed is not None:
                    raise paid.failed.error()
                for item in items:
                    if item.key not in paid.stored:
                        # What is stored says that the question is paid for; where C is chosen, it also says by what.
                        paid.store(item.key, ready.measured(item.key, paid) if item.key in ladders else _MARK)
                    deps.ledger.note_standing(payer, self._listed(statement, item, request, last))
                nearing = paid.nearing
        cost = show_up(compose([item.cost for item in items]).epsilon)
        later = f"each {statement.grows.every} is measured when it has closed, free"
        return [f"standing question: ε = {cost} was paid once for {statement.term}; {later}", *nearing]

    def _listed(
        self, statement: StandingStatement, item: ChargeItem, request: Request, until: datetime
    ) -> StandingQuestion:
        role = self._deps.policy.roles[request.asker.role]
        return StandingQuestion(
            item.key,
            statement.table.name,
            str(statement.term),
            until,
            self.declared(statement.table, role),
            request.question.text,
            item.cost.epsilon,
            self.now(),
        )

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return self._deps.clock().astimezone(UTC)


def _has_ended(table: str, term: str, how: str) -> Unsupported:
    """Return that a question would be paid for again: `how` is for what."""
    return Unsupported(
        f"standing questions about table {table} have ended within {term}: what is declared or stored of it has "
        "changed since they were paid for",
        because="standing-ended",
        hint=f"SET dpsql.renew = 'on' pays for this one again, {how}. What was measured under the "
        "earlier declaration is no longer released, and stays spent.",
    )
