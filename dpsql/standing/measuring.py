"""Measuring what of a standing question has closed, and is not measured yet: once, with the accounts of its units.

    the store is taken ► its lineage begins ► the engine takes the statements ► paid ► claimed ► measured, and the
    accounts durable ► noise ► the release durable

Promise: a release is stored only for a claim that is this store's and this lineage's still, after the accounts that
belong to it were durable. From the moment the engine is asked nothing may depend on data but the release: what fails
locks the question, and says that it failed, and whether accounts were written is seen by whether its periods can be
measured later.
"""

import json
import logging
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Protocol
from uuid import uuid4

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ClaimDenial, Failure, LastMeasurement, Ledger, StandingClaim, State, WantedClaim
from dpsql.engines.snapshot.accounts import AccountedSums, AccountStore, HeldAccounts
from dpsql.errors import AccountClosed, EngineNotReady, InternalError, LedgerBusy
from dpsql.policy.growth import Grows, Term
from dpsql.policy.model import Table
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.release.exact import exact_sums
from dpsql.privacy.release.release import release_sums
from dpsql.question import Cancellation
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Expr, Ref, both
from dpsql.standing.questions import Ordinary, StandingPart, asked_span, compared_with, rows_weighed

_LOG = logging.getLogger("dpsql.standing")
Cells = Mapping[date, Sequence[Sequence[int]]]
"""By the first day of a period the numbers of its groups, in order."""
_TIMES = 3
"""How often it is tried to store a release whose accounts are written."""


class _Lineages:
    """The identities of this process as a writer, by store and ledger: a process begins with one, and keeps it."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def of(self, store: AccountStore, accounts: HeldAccounts, ledger: Ledger) -> str:
        """Return the process's identity, which is in the store and in the ledger.

        Raises:
            EngineNotReady: the store has another one meanwhile.
        """
        key = (str(store.directory.absolute()), ledger.identity)
        with self._lock:
            if key not in self._begun:
                # The ledger first: where the process ends between the two, the store has a name that is no longer the
                # newest, and no claim is given for it until somebody begins again.
                name = uuid4().hex
                ledger.begin_lineage(name)
                accounts.begin_lineage(name)
                self._begun[key] = name
            # A server that begins later takes the store over. A store that was put back from a copy has an older name,
            # and its accounts lack what was measured since: to go on would count units' rows once more.
            if accounts.lineage != self._begun[key]:
                _LOG.error("the accounts in %s are another server's, or were put back: restart dpsql", store.directory)
                raise EngineNotReady
            return self._begun[key]


_LINEAGES = _Lineages()


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A standing question that is asked, and what it is called."""

    part: StandingPart
    identity: str
    key: str
    """Its charge's."""


def measured_cells(claims: Sequence[StandingClaim]) -> dict[date, Sequence[Sequence[int]]]:
    """Return what was released of a question."""
    cells: dict[date, Sequence[Sequence[int]]] = {}
    for claim in claims:
        if claim.state is State.KEPT:
            stored = json.loads(zlib.decompress(claim.release))
            cells |= {date.fromisoformat(period): numbers for period, numbers in stored.items()}
    return cells


def lost_periods(claims: Sequence[StandingClaim]) -> frozenset[date]:
    """Return the periods that were measured in vain, and never are again: their accounts were written."""
    return frozenset(period for claim in claims if claim.state is State.LOST for period in claim.periods)


def due_periods(asked: AskedQuestion, claims: Sequence[StandingClaim], copied: datetime) -> tuple[date, ...]:
    """Return the periods that are asked for, were closed when the copy was begun, and are not measured yet."""
    known = {*measured_cells(claims), *lost_periods(claims)}
    return tuple(
        period for period in asked.part.periods if period not in known and asked.part.grows.is_closed(period, copied)
    )


class FailureClassifier(Protocol):
    """How a failure is told of: as the caller's errors are."""

    def __call__(self, error: Exception, cancellation: Cancellation) -> Failure | None:
        """Return how a measurement failed; None if somebody has stopped it."""


@dataclass(frozen=True, slots=True)
class StandingMeasuring:
    """The means by which standing questions are measured."""

    ledger: Ledger
    store: AccountStore
    emitter: Emitter
    entropy: Entropy
    timeout: float
    copied: datetime
    """When the copy was begun that is measured."""
    serves: Callable[[], None]
    """Raises if nothing is to be measured on the copy."""
    now: Callable[[], datetime]
    """The time, in UTC."""
    failure_of: FailureClassifier

    def measure(
        self,
        account: Account,
        questions: Sequence[AskedQuestion],
        text: str,
        pay: Callable[[], Sequence[AskedQuestion]],
        cancellation: Cancellation,
    ) -> None:
        """Pay for questions, and measure what of them has closed and is not measured; their releases are in the ledger then.

        `pay` returns them, each with its C, which may have been chosen then.

        Raises:
            DpsqlError: what was paid and measured until then stays so.
        """
        self.serves()
        with self.store.held(cancellation) as accounts:
            lineage = _LINEAGES.of(self.store, accounts, self.ledger)
            accounts.drop_what_is_over(self.now())
            claims = self.ledger.standing_claims(account, [asked.key for asked in questions], cancellation)
            for asked in questions:
                periods = due_periods(asked, claims.get(asked.key, ()), self.copied)
                if periods:
                    until = asked.part.grows.last_moment(asked.part.term)
                    # The engine parses and binds what is due, and reads no row: what it does not take costs nothing.
                    accounts.require_running(self._statements(asked.part.for_periods(periods), until, account))
            # Paying may choose C, and with it another identity; so it is looked for again what is due.
            for asked in pay():
                if asked.part.waits:
                    raise InternalError
                self._measured(account, asked, text, accounts, lineage, cancellation)

    def _statements(self, sums: Sums, until: datetime, account: Account) -> AccountedSums:
        units, kind = sums.units_accounted(self.emitter), account.role.protects
        return AccountedSums(units, sums.sql(self.emitter), sums.bound.mass, until, kind)

    def _measured(
        self,
        account: Account,
        asked: AskedQuestion,
        text: str,
        accounts: HeldAccounts,
        lineage: str,
        cancellation: Cancellation,
    ) -> None:
        claims = self.ledger.standing_claims(account, [asked.key], cancellation).get(asked.key, ())
        periods = due_periods(asked, claims, self.copied)
        if not periods:
            return
        sums, stands = asked.part.for_periods(periods), accounts.stands(asked.identity)
        until = asked.part.grows.last_moment(asked.part.term)
        statements = self._statements(sums, until, account)
        claim = self.ledger.claim(account, WantedClaim(asked.key, uuid4().hex, lineage, stands, periods, until))
        if isinstance(claim, ClaimDenial):
            raise denial_error(claim, account.role.name)
        try:
            rows = accounts.measure(asked.identity, claim, statements, timeout=self.timeout, cancellation=cancellation)
            release = _stored(asked.part, periods, release_sums(sums, exact_sums(sums, rows), self.entropy).numbers)
        except Exception as error:  # of any kind: a row may be the cause of each
            failure = self.failure_of(error, cancellation)
            # With accounts written, the rows are used up and these periods are lost. Without, they may be measured
            # another time.
            written = _is_written(accounts, asked.identity, claim)
            self.ledger.end_claim(account, asked.key, claim, text, failure, written=written)
            if failure is None:
                raise
            raise failure.how.error() from None
        # The accounts are durable now, and nobody has heard anything: the release is shown from the ledger alone.
        if not self._kept(account, asked.key, claim, lineage, release):
            _LOG.error("another server has begun to measure: what was measured here is released to nobody")
            raise EngineNotReady

    def _kept(self, account: Account, key: str, claim: LastMeasurement, lineage: str, release: bytes) -> bool:
        """Store a release whose accounts are written: where the ledger is busy, it is tried again."""
        for _ in range(_TIMES - 1):
            try:
                return self.ledger.keep_claim(account, key, claim, lineage, release)
            except LedgerBusy:
                continue
        return self.ledger.keep_claim(account, key, claim, lineage, release)


def denial_error(why: ClaimDenial, role: str) -> AccountClosed | EngineNotReady:
    """Return what is heard of a claim that is not given; the operator's log has why."""
    if why is ClaimDenial.LOCKED:
        return AccountClosed(
            "this standing question is locked, because a measurement of it failed",
            because="standing-locked",
            hint=f"The owner of the data opens it with: dpsql unlock {role}. What was measured before stays.",
        )
    _LOG.error("a standing question is not measured: %s", why)
    return EngineNotReady()


def _is_written(accounts: HeldAccounts, identity: str, claim: LastMeasurement) -> bool:
    """Return whether a measurement's accounts were written, or nobody knows."""
    try:
        return accounts.stands(identity) == claim
    # Where the store can't tell, they count as written: a second measurement could take more of a unit than its C.
    except EngineNotReady:
        return True


def _stored(part: StandingPart, periods: Sequence[date], numbers: Sequence[Sequence[int]]) -> bytes:
    """Return the form in which a release is stored: by period, each group's numbers in order."""
    days = sorted(periods)
    by_place = dict(zip(sorted(place for day in days for place in part.cells[day]), numbers, strict=True))
    cells = {day.isoformat(): [list(by_place[place]) for place in part.cells[day]] for day in days}
    if sum(map(len, cells.values())) != len(numbers):
        raise InternalError
    return zlib.compress(json.dumps(cells).encode())


# What is read off standing questions: months of their days, the term so far, days of several terms, some of their keys.
#
# Released: count(*) by day and ward, for 2025 and for 2026. Read off it: by month, of one ward, since January, both years.
#
# Nothing is measured for it but what the questions measure themselves, as their periods close; all else is post-processing of
# releases that the role has paid for. A lens says which cells each number is made of (`dpsql.privacy.reuse.lens`). What it
# has to be sure of is that all periods that are asked for are among them, or are said to be missing.


@dataclass(frozen=True, slots=True)
class WantedSums:
    """A measurement that is to be read off: whole periods of a growing table, from one up to another."""

    measured: Sums
    """As it would be if accounts weighed its rows."""
    table: Table
    grows: Grows
    first: date
    until: date

    @property
    def terms(self) -> tuple[Term, ...]:
        """Return the terms that its periods are in."""
        terms = [self.grows.term_of(self.first)]
        while terms[-1].end < self.until:
            terms.append(self.grows.term_of(terms[-1].end))
        return tuple(terms)


def wanted_sums(
    plan: MeasurementPlan, part: PricedMeasurement, kind: str, now: datetime
) -> WantedSums | Ordinary | None:
    """Return a measurement as one that may be read off standing questions; None where it reads no growing table alone."""
    measured = part.measurement
    if not isinstance(measured, Sums):
        return None
    found = rows_weighed(plan, part, measured, kind)
    if found is None or isinstance(found, Ordinary):
        return found
    table, bound = found
    grows = table.grows
    assert grows is not None
    by = Ref(0, table.name, grows.by, table.columns[grows.by])
    span = asked_span(measured.relation.where, by, grows)
    if isinstance(span, Ordinary):
        return span
    today = grows.term_of(now.date())
    until = today.end if span.end is None else span.end
    if not span.first < until <= today.end:
        return Ordinary(f"it asks for what comes after {today}")
    within = _within(by, span.first, until)
    relation = replace(measured.relation, where=both(measured.relation.where, within))
    return WantedSums(replace(measured, relation=relation, bound=bound), table, grows, span.first, until)


def told_sums(wanted: WantedSums, parts: Sequence[StandingPart], periods: Sequence[Sequence[date]]) -> Sums:
    """Return some periods of questions that differ in their terms alone as one measurement, in the order of the parts."""
    if len(parts) != len(periods):
        raise InternalError
    first = parts[0]
    every = [part.groups(days) for part, days in zip(parts, periods, strict=True)]
    groups = Groups(
        first.asked.groups.keys,
        tuple(group for some in every for group in some.grouped),
        tuple(group for some in every for group in some.shown),
    )
    within = _within(first.by, wanted.first, wanted.until)
    relation = replace(first.asked.relation, where=both(first.asked.relation.where, within))
    return replace(first.asked, relation=relation, groups=groups)


def _within(by: Ref, first: date, until: date) -> Expr:
    """Return what is said of the time on both sides: so it holds of the rows of both, and no other time need be tried."""
    return both(compared_with(by, "ge", first), compared_with(by, "lt", until))
