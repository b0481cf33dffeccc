"""From a priced plan to releases: the stages ready, charge, run and release.

Promise: each measurement was charged before the engine was asked for a row, and one that the engine does not take
costs nothing; only a `Release` comes out, or one of a few errors that are the same every time, which are counted.
"""

import hashlib
import json
import logging
import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem, Failure, FailureKind, Ledger, PaidStatement
from dpsql.accounting.privacy_loss import compose, equal_share, show_down
from dpsql.accounting.sliding import READ_WITHIN, ReadDays
from dpsql.engines.apart import ready_apart
from dpsql.engines.base import Engine, PreparedMeasurements, SnapshotVersion
from dpsql.errors import (
    EngineFailed,
    EngineLost,
    InternalError,
    LedgerBusy,
    LedgerFailed,
    LedgerFull,
    QueryCanceled,
    Unsupported,
)
from dpsql.gateway.plans.tracked_scopes import StatementPlan
from dpsql.gateway.pricing import Drawn, PaidReleases, PricedPlan, is_declared, read_draws
from dpsql.gateway.request import ProfileStatement, Request
from dpsql.interrupt import interruptible, stop_if_cancelled
from dpsql.policy.model import Column, Period, Policy, Role, Table, TableName
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import Searched
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope, outside_of, search_of
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.release.exact import EngineRow, whole_number
from dpsql.privacy.release.release import NOTHING_KNOWN, Draws, Profile, Release, release_of
from dpsql.question import Argument, Asker, Cancellation, Settings
from dpsql.rewrite.analysis.same_rows import condition_words
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.syntax.whole.analyze import tokens_of
from dpsql.shadow.splice import shadow_literal
from dpsql.trial.tried_forms import form_of

# A request as a text that lasts: it is planned again where another process has to know what was measured.
#
# To plan it takes as long as to ask it. So the text also has the words of what holds of the rows of each of its measurements,
# hashed: a question without these words can't be read off it, and need not see it planned. They decide nothing else.

_LONGEST = 64_000
"""Characters of a question that is kept."""
_EDITION = 1
"""Counts the changes of what is a word, and of how it is hashed; words of another edition are not looked at."""
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """What a text says."""

    statement: str
    arguments: tuple[Argument, ...]
    settings: Settings
    words: Sequence[frozenset[str]] | None
    """Of each measurement, hashed; None where they are not known."""


def hashed_words(words: Iterable[object]) -> frozenset[str]:
    """Return a hash of each word, which is the same in every process."""
    return frozenset(hashlib.sha256(repr(word).encode()).hexdigest()[:_DIGITS] for word in words)


_SETTINGS = [setting.name for setting in fields(Settings) if setting.name != "temporary"]


def written_question(request: Request, words: Iterable[Iterable[object]]) -> str | None:
    """Return a request's statement, parameters and settings; None where it reads tables of its session, or is long.

    The `words` are those that hold of each measurement's rows; where they would be too long, the question is kept without.
    """
    # The tables of a session are not there when somebody else plans it again.
    if request.settings.temporary:
        return None
    named = ((name, getattr(request.settings, name)) for name in _SETTINGS)
    settings = {name: value for name, value in named if value is not None}
    arguments = [[argument.text, argument.type] for argument in request.arguments]
    beside = [_EDITION, [sorted(hashed_words(some)) for some in words]]
    question = [request.question.text, arguments, settings]
    # With the words if there is room for them, else without; nothing of a question that is too long by itself.
    texts = (json.dumps(parts, ensure_ascii=False) for parts in ([*question, beside], question))
    return next((text for text in texts if len(text) <= _LONGEST), None)


def read_question(text: str) -> WrittenQuestion | None:
    """Return what a text says; None where another dpsql wrote it otherwise."""
    try:
        statement, arguments, settings, *beside = json.loads(text)
        edition, words = beside[0] if beside else (0, [])
        return WrittenQuestion(
            str(statement),
            tuple(Argument(*argument) for argument in arguments),
            Settings(**settings),
            tuple(map(frozenset, words)) if edition == _EDITION else None,
        )
    except (TypeError, ValueError):
        return None


# How a measurement has failed: what is stored of it, and never a word of the engine's.

_LOG = logging.getLogger("dpsql.gateway")
_OURS = Path(__file__).parent.parent


def failure_of(error: Exception, cancellation: Cancellation) -> Failure | None:
    """Return how a measurement failed; None if somebody has stopped it."""
    match error:
        # How long a statement takes may be the rows' doing, and is stored. That a client cancels is not.
        case QueryCanceled():
            return None if cancellation.requested else Failure(FailureKind.LATE, "the time limit was met")
        case EngineFailed():
            return Failure(FailureKind.ENGINE, "the engine could not run the statement")
        case _:
            # The text of an error may quote a row: it goes to the operator's log. What is stored has its class, and the
            # line of ours.
            _LOG.exception("a measurement failed after the engine was asked")
            frames = [f for f in traceback.extract_tb(error.__traceback__) if _OURS in Path(f.filename).parents]
            where = Path(frames[-1].filename).relative_to(_OURS)
            return Failure(FailureKind.BROKEN, f"{type(error).__name__} in {where}, line {frames[-1].lineno}")


@contextmanager
def failing_alike(paid: PaidStatement, key: str, cancellation: Cancellation) -> Iterator[None]:
    """Store it if a measurement fails: the same question gets the same error again, and it is counted.

    From the moment the engine is asked nothing may depend on data but the release; a row may be the cause of every
    failure. A client's cancel, and an engine that goes away, are no row's doing: they leave only the charge.
    """
    try:
        yield
    except EngineLost:
        raise
    except Exception as error:  # of any kind
        failure = failure_of(error, cancellation)
        if failure is None:
            raise
        paid.fail(key, failure)
        raise failure.how.error() from None


_MARGIN = 120.0
"""Seconds that may pass between a charge and what is counted from it, and until an engine stops when time is up."""

Releases = Mapping[str, Release]
"""A release for each measurement, by its identity."""

_Keys = dict[int, tuple[PricedMeasurement, str]]


@dataclass(slots=True)
class ReadyPlan:
    """A priced plan that the engine takes: what it holds ready for the measurements that have to be made."""

    priced: PricedPlan
    request: Request
    keys: Mapping[str, str]
    """The key of each measurement's release, by the measurement's identity."""
    items: Sequence[ChargeItem]
    engine: Engine
    timeout: float
    held: ExitStack
    prepared: Mapping[str, PreparedMeasurements] = field(default_factory=dict)
    """By the keys of what has to be measured."""

    def is_told(self, part: PricedMeasurement, missing: AbstractSet[str]) -> bool:
        """Return whether the engine is not asked for a measurement: the rows tell it by which its C is chosen now."""
        return part.is_told and part.bound_by is not None and self.keys[part.bound_by.identity] in missing

    def prepare(self, missing: AbstractSet[str]) -> None:
        """Make ready what nothing is stored for, by its keys, instead of what was made ready before."""
        # The ledger calls anew where another process has measured something meanwhile.
        self.held.close()
        if self.engine.edition is not None:
            self.engine.edition.require_serving()
        ready = ready_apart(
            self.engine,
            [
                part.sql
                for part in self.priced.measurements
                if self.keys[part.identity] in missing and not self.is_told(part, missing)
            ],
            timeout=self.timeout,
            cancellation=self.request.cancellation,
        )
        self.prepared = dict.fromkeys(missing, self.held.enter_context(ready))


@dataclass(frozen=True, slots=True)
class PaidPlan:
    """A plan whose every measurement is paid for: those that are stored, and those that have to run."""

    ready: ReadyPlan
    statement: PaidStatement
    stored: dict[str, Release]
    """Releases by key, those included that were stored since."""
    since: float = field(default_factory=time.monotonic)
    """When it was paid, or a little later, in seconds."""
    untold: set[str] = field(default_factory=set)
    """The keys of releases that could not be stored: what was measured with them would be found beside others."""

    @property
    def left(self) -> tuple[PricedMeasurement, ...]:
        """Return the measurements that are to run; one that finds keys comes before those that need them."""
        return tuple(
            part for part in self.ready.priced.measurements if self.ready.keys[part.identity] not in self.stored
        )

    @property
    def releases(self) -> Releases:
        """Return the releases, when nothing is left."""
        return {identity: self.stored[key] for identity, key in self.ready.keys.items()}

    @property
    def drawn(self) -> Drawn:
        """Return what is released so far."""
        return {
            part.identity: Draws.of((part.measurement, self.stored[key]))
            for part in self.ready.priced.measurements
            if (key := self.key(part)) in self.stored
        }

    def key(self, part: PricedMeasurement) -> str:
        """Return what the release of a measurement is stored under."""
        return self.ready.keys[part.identity]

    def finder(self, part: PricedMeasurement) -> Release | None:
        """Return the release that found the keys of a measurement, None if they are declared."""
        return None if part.finds_keys is None else self.stored[self.key(part.finds_keys)]

    def failing_alike(self, part: PricedMeasurement) -> AbstractContextManager[None]:
        """Store it if a measurement fails; see `failing_alike`."""
        return failing_alike(self.statement, self.key(part), self.ready.request.cancellation)

    def keep(self, part: PricedMeasurement, release: Release) -> None:
        """Store a release; where another process was faster, its own takes the place of ours."""
        key, finder, written = self.key(part), self.finder(part), release.to_bytes()
        if any(self.key(read) in self.untold for read in part.read):
            # It would be found by its key later, and what it was measured with would not: another release of that would
            # stand beside it.
            self.untold.add(key)
            self.stored[key] = release
            return
        try:
            beside = (
                None if part.finds_keys is None or finder is None else (self.key(part.finds_keys), finder.to_bytes())
            )
            kept = self.statement.store(key, written, beside)
            self.stored[key] = release if kept == written else Release.from_bytes(kept)
        except (LedgerFull, LedgerBusy, LedgerFailed):
            _LOG.error("a release could not be stored: it is given once, and will be charged again")
            self.untold.add(key)
            self.stored[key] = release


@dataclass(frozen=True, slots=True)
class Exact:
    """The engine's rows for one measurement, or what others tell of it; not to be printed, logged or sent."""

    paid: PaidPlan
    part: PricedMeasurement
    rows: Sequence[EngineRow] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Measuring:
    """The means by which measurements are made."""

    policy: Policy
    engine: Engine
    ledger: Ledger
    entropy: Entropy
    refresh: Period
    timeout: float
    """Seconds a measurement may take: the same for every statement, so that it says nothing about data."""

    def epoch(self, request: Request) -> int:
        """Return the epoch whose releases a statement reads and makes: one for all, which belong together."""
        return self.ledger.epoch(self.refresh, request.cancellation)

    def paid_releases(self, priced: PricedPlan, request: Request, epoch: int) -> PaidReleases:
        """Return what is paid for and stored: of a statement that aims at an error every release of each measurement.

        Of another statement all its releases or none.

        Raises:
            DpsqlError: as one of them failed, before.
        """
        payer, cancellation = account(self.policy, request.asker), request.cancellation
        if priced.aim is None:
            keys, items = self._items(priced, request, epoch)
            stored = self.ledger.stored_releases(payer, items, cancellation)
            if isinstance(stored, FailureKind):
                raise stored.error()
            parts: Mapping[str, PricedMeasurement] = {keys[part.identity]: part for part in priced.measurements}
            releases: Mapping[str, Release] = _read(stored or {})
        else:
            parts = self.by_key(priced, request, epoch)
            releases = self.paid(parts, request)
        request.receipt.note(releases)
        return {key: (parts[key], release) for key, release in releases.items()}

    def by_key(self, plan: PricedPlan, request: Request, epoch: int) -> Mapping[str, PricedMeasurement]:
        """Return the measurements of a plan by what their releases are stored under, at every ε that they may pay."""
        paying = (
            (part, *(part.paying(amount) for amount in plan.aim.amounts)) if plan.aim and is_declared(part) else (part,)
            for part in plan.measurements
        )
        kept_keys = _Keys()
        return {self._key(paid, request.asker, epoch, kept_keys): paid for parts in paying for paid in parts}

    def drawn(self, request: Request, epoch: int, plan: PricedPlan) -> Drawn:
        """Return what is paid for and stored of a plan that aims at an error."""
        parts = self.by_key(plan, request, epoch)
        return read_draws({key: (parts[key], release) for key, release in self.paid(parts, request).items()})

    def paid(self, keys: Iterable[str], request: Request) -> Mapping[str, Release]:
        """Return those releases that are stored under some keys, and paid for."""
        return _read(self.ledger.paid(account(self.policy, request.asker), keys, request.cancellation))

    def readings(self, names: Iterable[str], request: Request) -> Mapping[str, Sequence[str]]:
        """Return the keys of the releases that the role's answers were read off before, by the answers' names."""
        return self.ledger.readings(account(self.policy, request.asker), names, request.cancellation)

    def keep_readings(self, readings: Mapping[str, Sequence[str]], request: Request) -> Mapping[str, Sequence[str]]:
        """Keep what answers are read off, so that they stay what they are; return what was kept, perhaps by others before."""
        try:
            return self.ledger.keep_readings(account(self.policy, request.asker), readings, request.cancellation)
        except (LedgerFull, LedgerBusy, LedgerFailed):
            _LOG.error(
                "what an answer was computed from could not be stored: it may be another one when it is asked again"
            )
            return readings

    def keys_of_draws(self, part: PricedMeasurement, draws: Draws, request: Request, epoch: int) -> tuple[str, ...]:
        """Return what the releases of one measurement are stored under, each at its ε."""
        paid = (part.paying(measured.epsilon) for measured, _ in draws.drawn)
        return tuple(self._key(each, request.asker, epoch, _Keys()) for each in paid)

    def keys(self, plan: PricedPlan, request: Request, epoch: int) -> Mapping[str, str]:
        """Return what the release of each measurement is stored under, by its identity."""
        return self._items(plan, request, epoch)[0]

    def stored(self, plan: PricedPlan, request: Request, epoch: int) -> Mapping[str, Release]:
        """Return those releases that are paid for and stored, by the measurements' identities."""
        keys = self.keys(plan, request, epoch)
        paid = self.paid(keys.values(), request)
        return {identity: paid[key] for identity, key in keys.items() if key in paid}

    @contextmanager
    def ready(self, priced: PricedPlan, request: Request, epoch: int) -> Iterator[ReadyPlan]:
        """Give what holds the engine ready: `charge` has it prepare what is not stored just before anything is paid."""
        keys, items = self._items(priced, request, epoch)
        with ExitStack() as held:
            yield ReadyPlan(priced, request, keys, items, self.engine, self.timeout, held)

    @contextmanager
    def charge(self, ready: ReadyPlan) -> Iterator[PaidPlan]:
        """Pay for all measurements together, and give the plan that may run.

        Raises:
            DpsqlError: nothing is paid, or one of them has failed before.
        """
        request = ready.request
        payer = account(self.policy, request.asker)
        question = written_question(request, _words(ready.priced))
        with self.ledger.open_statement(
            payer, request.question.text, ready.items, ready.prepare, request.cancellation, question
        ) as statement:
            request.receipt.note((item.key for item in ready.items), statement.charge.cost)
            if statement.failed is not None:
                raise statement.failed.error()
            yield PaidPlan(ready, statement, _read(statement.stored))

    def run(self, paid: PaidPlan, part: PricedMeasurement) -> Exact:
        """Ask the engine for one measurement, unless it might read records later than its charge counts for.

        Raises:
            QueryCanceled: it might; or somebody cancels, or time is up.
        """
        if time.monotonic() - paid.since > READ_WITHIN.total_seconds() - self.timeout - _MARGIN:
            raise QueryCanceled
        prepared = paid.ready.prepared[paid.key(part)]
        return Exact(paid, part, prepared.run(part.sql, paid.statement.charge))

    def told(self, ladder: Exact, part: PricedMeasurement) -> Exact:
        """Return what the engine's rows tell of a measurement by which its C was chosen, without asking it again."""
        searched = ladder.part.measurement
        if not isinstance(searched, RowsPerUnit):
            raise InternalError
        answer = [[*map(whole_number, row)] for row in ladder.rows]
        return Exact(ladder.paid, part, [[searched.weighed(answer, part.measurement.bound)]])

    def release(self, exact: Exact) -> Release:
        """Return what may be shown of the engine's rows, as it will be stored: where that fails, the measurement does."""
        cancellation = exact.paid.ready.request.cancellation
        stop_if_cancelled(cancellation)
        released = release_of(
            exact.part, exact.rows, exact.paid.finder(exact.part), interruptible(self.entropy, cancellation)
        )
        # Written only to see that it can be: a release that can't be written fails here, as the measurement does, and
        # not when it is to be stored.
        released.to_bytes()
        return released

    def _items(
        self, priced: PricedPlan, request: Request, epoch: int
    ) -> tuple[Mapping[str, str], Sequence[ChargeItem]]:
        """Return what each release is stored under, by identity, and what the ledger is asked for."""
        parts, kept_keys = priced.measurements, _Keys()
        keys = {part.identity: self._key(part, request.asker, epoch, kept_keys) for part in parts}
        forms = (partial(form_of, part.measurement, part.sql) for part in parts)
        return keys, [
            ChargeItem(keys[part.identity], part.cost, part.note, form, self._read_by(part))
            for part, form in zip(parts, forms, strict=True)
        ]

    def _read_by(self, part: PricedMeasurement) -> ReadDays | None:
        """Return the days on which the rows were read that a measurement reads; None: they are read now."""
        edition = self.engine.edition
        if edition is None:
            return None
        return edition.read_of(self._in_parts(edition, part))

    def _in_parts(self, edition: SnapshotVersion, part: PricedMeasurement) -> Iterator[str]:
        """Yield the tables kept in parts that a measurement reads: what its statement does not name it does not read."""
        return (name for name in edition.parts if self.engine.named(name) in part.sql)

    def told_of_parts(self, priced: PricedPlan) -> Iterator[str]:
        """Yield what is said beside a plan of tables of whose rows many were copied before the others."""
        edition = self.engine.edition
        if edition is not None and edition.parts:
            read = {name for part in priced.measurements for name in self._in_parts(edition, part)}
            for name in sorted(read):
                yield (
                    f"Parts: what has closed of table {name} is as it was when it was copied, since {edition.parts[name]}; "
                    "what is paid for it counts from then"
                )

    def _key(self, part: PricedMeasurement, asker: Asker, epoch: int, kept_keys: _Keys) -> str:
        """Return the key of a release: all that it depends on. Those of parts that several wait for are in `kept_keys`."""
        # By the object, which is held beside its key: so no other part has its number while the mapping is there.
        if (entry := kept_keys.get(id(part))) is not None:
            return entry[1]
        kind, cost, print_ = self.policy.roles[asker.role].protects, part.cost, self.policy.fingerprint
        edition = self.engine.edition
        # An answer belongs to the very copy of the records that it was measured on, in any epoch of the ledger.
        whose = (self.ledger.identity, kind, print_, epoch, *(() if edition is None else (edition.name,)))
        # Inner answers and a chosen C decide what is measured: the keys of their releases are part of this one.
        awaited = (self._key(awaited_part, asker, epoch, kept_keys) for awaited_part in part.read)
        parts: tuple[object, ...] = (*whose, cost.epsilon, cost.delta, part.identity, *awaited)
        if cost.rho:  # what has no ε is nobody else's, and nobody buys it
            parts = (*parts, str(cost.rho), f"of role {asker.role}")
        if part.finds_keys is not None:
            parts = (*parts, part.finds_keys.cost.epsilon, part.finds_keys.cost.delta)
        kept_keys[id(part)] = part, hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()
        return kept_keys[id(part)][1]


def _read(stored: Mapping[str, bytes]) -> dict[str, Release]:
    """Return releases as the ledger has them: here and in `PaidPlan.keep` bytes and releases become each other."""
    return {key: Release.from_bytes(release) for key, release in stored.items()}


def account(policy: Policy, asker: Asker) -> Account:
    """Return who pays for what somebody asks."""
    role = policy.roles[asker.role]
    return Account(asker.user, role, policy.budgets[role.protects])


def _words(priced: PricedPlan) -> Iterator[frozenset[object]]:
    """Yield the words of what holds of each measurement's rows, where others may be read off it."""
    for part in priced.measurements:
        if isinstance(part.measurement, (Sums, Histogram)):
            yield condition_words(part.measurement.relation, part.measurement.where)


# The profile of a unit kind: the measurements of whole tables, once an epoch, and the facts that follow from them.
#
# SELECT dpsql.take_profile()  measures and pays for the caller's role; what comes of it stands in `dpsql.profile` and
# `dpsql.columns`, and tells what a declared C takes off. No release depends on it: other roles may be told the same ones.
#
# Each table of the kind has a part of the ε for the rows of its units, and one for its values beyond bounds, so that all
# roles of the kind share releases, whichever tables they may use: a role pays for those of its own.

_NAMED = "take_profile"
# Over tokens with one blank between each two, in which comments are gone.
_ASKED = re.compile(
    r'(EXPLAIN (?:VERBOSE |\( [^()]* \) )*)?SELECT "?dpsql"? \. "?take_profile"? \( \)( ;)*', re.IGNORECASE
)
_LADDER = 1 << 20
"""The most rows that a unit is taken to have where the policy says nothing of a table's size."""


def profile_statement(text: str) -> ProfileStatement | None:
    """Return the statement if it takes the profile, or explains that, else None; comments of tools do not count."""
    if _NAMED not in text.lower():
        return None
    asked = _ASKED.fullmatch(" ".join(token.text for token in tokens_of(text) or ()))
    return None if asked is None else ProfileStatement(asked[1] or "")


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """The measurements of a role's profile, by the table that they are of."""

    tables: Mapping[str, PricedScope]

    @property
    def priced(self) -> PricedPlan:
        """Return them as one plan, measured and paid for together."""
        return PricedPlan(StatementPlan((), ("",)), tuple(self.tables.values()))

    def reply(self) -> str:
        """Return the statement that says that the profile was taken."""
        cost = show_down(compose(part.cost for part in self.priced.measurements).epsilon)
        said = f"the profile is taken, for ε = {cost} once an epoch; dpsql.profile has it"
        return f"SELECT {shadow_literal(said)}::text AS take_profile"  # a literal only

    def read(self, stored: Mapping[str, Release]) -> Profile:
        """Return the profile by the releases that are there, by the measurements' identities."""
        profile = NOTHING_KNOWN
        for table, scope in self.tables.items():
            for part in scope.parts:
                release, measured = stored.get(part.identity), part.measurement
                if release is not None and isinstance(measured, Searched):
                    profile = profile.with_release(table, part.identity, measured, release)
        return profile


class Profiles:
    """The profiles of all roles."""

    def __init__(
        self, policy: Policy, measuring: Measuring, planned: Callable[[str, Request], PricedPlan], emitter: Emitter
    ) -> None:
        """Plan with `planned`, which plans a statement for a client that asks something else."""
        self._policy, self._measuring, self._planned, self._emitter = policy, measuring, planned, emitter
        self._plans: dict[str, ProfilePlan] = {}

    def plan(self, request: Request) -> ProfilePlan:
        """Return what the profile of the asker's role measures.

        Raises:
            Unsupported: the policy has no profile for the role's unit kind.
        """
        # It depends on the role alone, and not on who asks or how.
        role = self._policy.roles[request.asker.role]
        plan = self._plans.get(role.name)
        if plan is None:
            plan = profile_plan(self._policy, role, lambda text: self._planned(text, request), self._emitter)
            self._plans[role.name] = plan
        return plan

    def of(self, request: Request) -> Profile:
        """Return what the asker's role has paid for, and is stored: of this epoch alone."""
        role = self._policy.roles[request.asker.role]
        if self._policy.budgets[role.protects].profile is None:
            return NOTHING_KNOWN
        plan = self.plan(request)
        return plan.read(self._measuring.stored(plan.priced, request, self._measuring.epoch(request)))


def profile_plan(policy: Policy, role: Role, planned: Callable[[str], PricedPlan], emitter: Emitter) -> ProfilePlan:
    """Return what a role's profile measures; `planned` plans a statement for the role.

    Raises:
        Unsupported: the policy has no profile for the role's unit kind.
    """
    kind = role.protects
    epsilon = policy.budgets[kind].profile
    if epsilon is None:
        raise Unsupported(
            f'the policy has no profile of unit kind "{kind}"',
            because="no-profile",
            hint=f"The owner of the data allows one in config.yaml, budget: {{{kind}: {{profile: 0.1, …}}}}.",
        )
    tables = [table for table in policy.tables.values() if kind in table.units]
    each = equal_share(epsilon, sum(1 + bool(_bounded(table)) for table in tables))
    usable = [table for table in tables if role.may_use(table.name)]
    return ProfilePlan({table.name: _scope(table, role, planned, each, emitter) for table in usable})


def _scope(
    table: Table, role: Role, planned: Callable[[str], PricedPlan], each: Fraction, emitter: Emitter
) -> PricedScope:
    """Return the measured scope of a table: the rows that the role sees, however their units are reached."""
    every = f"SELECT count(*) FROM {TableName.of(table.name).called}"  # noqa: S608  # a name only
    (scope,) = planned(every).scopes
    counted = scope.parts[0].measurement
    assert isinstance(counted, Sums)
    searches = []
    if counted.bound.form is not Form.UNIQUE:
        ladder = counted.bound.up_to or 1 << max((table.expected_rows or _LADDER) - 1, 1).bit_length()
        # One row more than the declared C at least: how much C takes off is seen beyond it.
        further = replace(counted.bound, up_to=max(ladder, counted.bound.rows + 1))
        declared = counted.bound.rows if counted.bound.up_to is None else 1
        searches.append(search_of(replace(counted, bound=further), emitter, declared).paying(each))
    columns = [
        Ref(0, table.name, column.name, column)
        for column in _bounded(table)
        if role.may_name(table.name, column.stored_name)
    ]
    plan = replace(scope.plan, outputs=())
    return replace(
        scope, plan=plan, parts=(*searches, *([outside_of(counted, columns, each, emitter)] if columns else []))
    )


def _bounded(table: Table) -> list[Column]:
    return [column for column in (*table.columns.values(), *table.paths) if column.bounds is not None]


def with_profile(drawn: Mapping[str, Draws], priced: PricedPlan, profile: Profile) -> Mapping[str, Draws]:
    """Return what was released, with the profile of the table where that tells what a C takes off."""
    profiled = dict(drawn)
    for scope in priced.scopes:
        for part in scope.parts:
            bound, draws = part.measurement.bound, drawn.get(part.identity)
            if draws is None or (bound.form not in {Form.REWEIGHT, Form.EUCLIDEAN} and part.bound_by is None):
                continue
            table_profile = profile.of(bound.unit.table) if bound.once else None
            profiled[part.identity] = draws if table_profile is None else draws.bounded_by(table_profile)
    return profiled
