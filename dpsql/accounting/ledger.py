"""The ledger as the gateway sees it: what was paid, what was released, what failed, what stands, and which epoch it is.

Promise: a statement's whole cost is durable before `open_statement` returns, or nothing of it is; nothing is refunded.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from enum import Enum, StrEnum
from fractions import Fraction
from statistics import median_high
from typing import Protocol, assert_never

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.privacy_loss import Charge, compose
from dpsql.accounting.sliding import ReadDays
from dpsql.errors import DpsqlError, EngineFailed, InternalError, QueryCanceled
from dpsql.policy.model import Period, Privacy, Role
from dpsql.question import Cancellation

# Measurements that were paid for and ended without a release: all that is ever told of them.
#
# Promise: how a measurement ends is one bit about records, and few of these bits are told. They are told to the role that
# pays:
#
# - A failure is stored. It is told again for nothing, and to another role for the price of the release.
# - The engine fails, or is too late, ten times a day (`limits.failures`), which closes the role's account.
# - A bug of ours (`FailureKind.BROKEN`) refuses measurements of the same form to the role, and to no other: with other
#   constants it would be another bit. The second one closes the account: of another form, or under way when the first
#   one failed.
#
# Only the owner opens what is refused or closed. Until then a role learns of N measurements which two broke, 2·log₂ N bits at
# most; and of those of a day which ten the engine failed at, 10·log₂ N. Each of them has paid the least ε. What was under way
# at the last of these, four statements a user, may add one each.


class FailureKind(StrEnum):
    """How a measurement failed."""

    ENGINE = "engine"
    """The engine could not run it."""
    LATE = "late"
    """It met its time limit."""
    BROKEN = "broken"
    """A bug of ours, met after the engine had answered."""

    def error(self) -> DpsqlError:
        """Return what clients hear, every time: of the kind, and of nothing else."""
        match self:
            case FailureKind.ENGINE | FailureKind.BROKEN:
                return EngineFailed()
            case FailureKind.LATE:
                return QueryCanceled()
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure as the owner of the data is told it."""

    how: FailureKind
    cause: str
    """Where it happened, without any value."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of what befell an account beside its charges."""

    time: datetime
    user: str
    role: str
    what: str
    """A `FailureKind`, "closed" or "opened"."""
    cause: str
    statement: str
    """The statement that failed; empty where there is none."""


# Standing questions as a ledger keeps them: paid once a term, and measured period by period, each one once.
#
# What was paid is a charge as any other. Beside it the ledger has, of each question, the claims on its measurements in
# their order. A claim is given for the next number only to the newest lineage, and only where the accounts stand at the
# measurement before it, by number and by name. So no two stores measure one question beside each other, whether one is a
# copy of the other, was put back from a backup, or is older than the ledger: what one has added to accounts the other
# lacks.
#
#     open    it was given; a release may come
#     kept    its release is stored
#     void    it ended before any account was written: its number is given again, to whose accounts stand before it
#     lost    accounts were written, and no release: its periods are never measured again

_KEY = "standing "


def standing_key(identity: str) -> str:
    """Return what a standing question is charged by."""
    return f"{_KEY}{identity}"


def is_standing(key: str) -> bool:
    """Return whether a charge is for a standing question: it counts until its last moment of measuring."""
    return key.startswith(_KEY)


class State(StrEnum):
    """What became of a claim."""

    OPEN = "open"
    KEPT = "kept"
    VOID = "void"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class LastMeasurement:
    """The last measurement of a question that a store's accounts have."""

    number: int = 0
    claim: str = ""
    """What no other attempt at any measurement is called."""


@dataclass(frozen=True, slots=True)
class StandingClaim:
    """One measurement of a standing question."""

    number: int
    periods: tuple[date, ...]
    """The first days of the periods that are measured in it."""
    state: State
    release: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class WantedClaim:
    """A claim that is asked for."""

    key: str
    name: str
    """As no other is called."""
    lineage: str
    stands: LastMeasurement
    """Where the accounts of the store stand that asks."""
    periods: tuple[date, ...]
    until: datetime
    """From when on nothing of the term is measured any more."""


class ClaimDenial(StrEnum):
    """Why a claim is not given, for the operator's log and for who asks."""

    STORE = "the accounts here are not those of the last measurement"
    LINEAGE = "another server has begun to measure"
    LOCKED = "a measurement of it failed"
    OVER = "its term is over"


@dataclass(frozen=True, slots=True)
class StandingQuestion:
    """A standing question of a role's, as it is listed."""

    key: str
    table: str
    term: str
    until: datetime
    """The last moment of measuring."""
    declared: str
    """A hash of what was declared when it was paid, without which it ends."""
    statement: str
    epsilon: Fraction
    began: datetime
    measured: tuple[date, ...] = ()
    """The first days of the periods that were measured."""


class StandingLedger(Protocol):
    """A ledger's part about standing questions."""

    def begin_lineage(self, name: str) -> None:
        """Let a writer that begins be the newest; all others measure nothing of standing questions from then on."""

    def standing_claims(
        self, account: Account, keys: Sequence[str], cancellation: Cancellation | None = None
    ) -> Mapping[str, Sequence[StandingClaim]]:
        """Return the claims of those questions that the role has paid for, in their order."""

    def claim(self, account: Account, wanted: WantedClaim) -> LastMeasurement | ClaimDenial:
        """Return the claim on the next measurement, durable; or why there is none.

        It counts towards the measurements of the day.

        Raises:
            AccountClosed, BudgetExhausted: the role may measure nothing now.
        """

    def keep_claim(self, account: Account, key: str, claim: LastMeasurement, lineage: str, release: bytes) -> bool:
        """Store the release of a claim, durable; return whether it is: not where another lineage has begun meanwhile."""

    def end_claim(
        self, account: Account, key: str, claim: LastMeasurement, text: str, failure: Failure | None, *, written: bool
    ) -> None:
        """End a claim without a release; a failure locks the question until the account is opened, and is counted."""

    def note_standing(self, account: Account, question: StandingQuestion) -> None:
        """List a standing question that the role has just paid for."""

    def standing_questions(
        self, account: Account, cancellation: Cancellation | None = None
    ) -> tuple[StandingQuestion, ...]:
        """Return the standing questions that the role has paid for, oldest first."""


# The ledger itself: what is asked of it, and the `Ledger` that keeps its promise.

_UNFIT = re.compile("[\0\ud800-\udfff]")
Beside = tuple[str, bytes]
"""A key, and the release that has to be stored under it."""
MakeReady = Callable[[AbstractSet[str]], None]
"""Makes ready to measure the items with these keys, or raises."""


def presentable(text: str) -> str:
    """Return a text without what PostgreSQL, UTF-8 or a file can't hold: one statement must not hide the others."""
    if text.isascii() and "\0" not in text:  # which takes no time, and may be a megabyte
        return text
    return _UNFIT.sub("\ufffd", text)


def without_engine(missing: AbstractSet[str]) -> None:
    """Make nothing ready: for who measures nothing."""
    _ = missing


class OpeningWay(Enum):
    """The opener's statements about a ledger."""

    AS_IT_IS = "as it is"
    ADOPTED = "adopted"
    """It was another data set's, and becomes this one's."""
    ANEW = "anew"
    """The one that was here is lost."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """The owner of a ledger: answers about one data set are not paid for in another's ledger, nor given from it."""

    name: str = ""
    source: str = ""
    """Where its records are."""
    alike: Container[str] = field(default=frozenset(), compare=False, repr=False)
    """Other wordings of the same place."""

    def is_called(self, other: "DataSet") -> bool:
        """Return whether another data set is this one, perhaps in other words."""
        return self.name == other.name and (other.source == self.source or other.source in self.alike)


@dataclass(frozen=True, slots=True)
class ChargeItem:
    """One measurement that a statement needs."""

    key: str
    """Identifies all that the release depends on: measurement, mechanism, bounds, cost, policy, epoch."""
    cost: Privacy
    note: str
    """A description for people who read the ledger."""
    form: Callable[[], str] = field(default=str, compare=False, repr=False)
    """Returns what the measurement has in common with all that differ from it in constants alone."""
    read: ReadDays | None = None
    """The days on which the copy was made that it reads; None: it reads the records themselves, when it is charged."""

    def __post_init__(self) -> None:
        if self.cost.epsilon <= 0 or self.cost.delta < 0:
            raise InternalError


@dataclass(frozen=True, slots=True)
class ToldRelease:
    """A stored release that a role has paid for, with the question by which it was told."""

    number: int
    """The larger, the later."""
    key: str
    question: str
    """As `open_statement` was given it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger."""

    time: datetime
    user: str
    role: str
    kind: str
    statement: str
    key: str
    note: str
    cost: Privacy
    measured: bool
    """Whether the data set was charged too; it is not when the role bought a release made for another."""
    read: ReadDays
    """The days on which the records were read for it."""


@dataclass(frozen=True, slots=True)
class PaidStatement:
    """A statement that is paid for: what is stored already, and the charge for what has to be measured."""

    charge: Charge
    stored: Mapping[str, bytes]
    """Releases by key; the keys that are missing here are the charge's."""
    failed: FailureKind | None
    """How a measurement of it has failed before, which is then all that there is to say."""
    keep: Callable[[str, bytes, Beside | None], bytes]
    mark: Callable[[str, Failure], None]
    nearing: tuple[str, ...] = ()
    """The notices about budgets that near their end with it."""

    def store(self, key: str, release: bytes, beside: Beside | None = None) -> bytes:
        """Keep the release that was measured for `key`, so that the same question is free from now on; return what is kept.

        The first to be stored is: where another process was faster the caller's own is to be forgotten. A release that
        depends on another one's keys is stored `beside` that one, or not at all.
        """
        if key not in self.charge.keys:
            raise InternalError
        return self.keep(key, release, beside)

    def fail(self, key: str, failure: Failure) -> None:
        """Keep that a measurement failed, so that the same question fails again, free.

        This may close the account. A bug refuses the measurement's form to the role, and a second one closes it.
        """
        if key not in self.charge.keys:
            raise InternalError
        self.mark(key, failure)


class Ledger(StandingLedger, Protocol):
    """A durable account of what every role was told, safe to share between threads and processes."""

    @property
    def identity(self) -> str:
        """Return what no other ledger has, nor this one for another data set."""

    def stored_releases(
        self, account: Account, items: Sequence[ChargeItem], cancellation: Cancellation | None = None
    ) -> Mapping[str, bytes] | FailureKind | None:
        """Return the releases of `items` by key, if the role has paid for each and all are stored.

        If one that it has paid for has failed, return how; None where something has to be paid for. It does not wait for
        anybody who measures or pays at the time.
        """

    def paid(
        self, account: Account, keys: Iterable[str], cancellation: Cancellation | None = None
    ) -> Mapping[str, bytes]:
        """Return those of the releases with these keys that are stored and that the role has paid for; they are free."""

    def open_statement(
        self,
        account: Account,
        text: str,
        items: Sequence[ChargeItem],
        ready: MakeReady = without_engine,
        cancellation: Cancellation | None = None,
        question: str | None = None,
    ) -> AbstractContextManager[PaidStatement]:
        """Pay for `items` (distinct keys), all or nothing, and return what is stored of them.

        `question` is kept beside what the role is told by it, for `told`.

        Before anything is charged `ready` is called with the keys that have to be measured; if it raises, nothing is.
        It is called again in the rare case that there are others by the time of the charge.

        Stored releases that the role has paid for are free. Stored releases that another role of the same unit kind
        has paid for are charged to the role. The rest is charged to the role and to the data set, and is the caller's
        to measure and `store` within the context; until it leaves, others in the process who ask for the same wait. A
        thread opens one statement at a time.

        If one of them has failed before, the statement comes with the way in which it did: free for the role that paid
        for it, and for what it would cost for another.

        Raises:
            BudgetExhausted: nothing was charged.
            AccountClosed: likewise; what is paid for and stored is free as ever. Of an account that is open it is raised
                where one is to be measured whose form is refused to the role.
            QueryCanceled: somebody has cancelled while it waited for others; nothing was charged. `store` may raise it too,
                after the charge.
        """

    def told(self, account: Account, after: int, cancellation: Cancellation | None = None) -> tuple[ToldRelease, ...]:
        """Return the newest that the role has been told since a number and is stored, in that order, with its questions."""

    def told_under(
        self, account: Account, keys: Iterable[str], cancellation: Cancellation | None = None
    ) -> tuple[ToldRelease, ...]:
        """Return what of the role was told under some keys and is stored, with its questions."""

    def readings(
        self, account: Account, keys: Iterable[str], cancellation: Cancellation | None = None
    ) -> Mapping[str, Sequence[str]]:
        """Return the keys of the releases that the role's answers were read off, by the answers' keys."""

    def keep_readings(
        self, account: Account, readings: Mapping[str, Sequence[str]], cancellation: Cancellation | None = None
    ) -> Mapping[str, Sequence[str]]:
        """Keep until the epoch ends what answers are read off, by their keys; return what is kept.

        The first to be kept is: where another process was faster its reading is the answer.

        Raises:
            DpsqlError: nothing was written.
        """

    def balance(
        self, account: Account, cancellation: Cancellation | None = None, read: ReadDays | None = None
    ) -> Balance:
        """Return what the account's budgets have been charged; see `ChargeItem.read` for what would be read."""

    def entries(self, role: str | None, limit: int, cancellation: Cancellation | None = None) -> tuple[Entry, ...]:
        """Return the newest lines first, of one role or of all."""

    def at_hand(
        self, account: Account, keys: Iterable[str], names: Iterable[str], refresh: Period
    ) -> tuple[int, Mapping[str, bytes]] | None:
        """Return the epoch's number, and the releases with these keys, if it takes no time to find them; else None.

        They are paid for by the role and stored, and nothing is kept of what an answer with one of these `names` was read
        off. Nobody is waited for, no server and no thread: who calls it has others waiting.
        """

    def epoch(self, refresh: Period, cancellation: Cancellation | None = None) -> int:
        """Return the epoch's number; a new one begins with the first call in each period of `refresh`."""

    def is_closed(self, role: str) -> bool:
        """Return whether the role's account is closed."""

    def unlock(self, role: str) -> None:
        """Open the role's account, and write that down."""

    def incidents(self, role: str) -> tuple[Event, ...]:
        """Return what befell the role's account since it was last opened, oldest first."""

    def advance(self, reason: str) -> int:
        """Begin the next epoch: stored releases answer no more questions. Return its number."""


# What was written while the clock was ahead is dated up to the day on which the operator says so, by a line of the ledger.
#
#     charged on 2027-06-01  →  counts on the day of the line, and as of records that were read from the last charge before on
#     closed or granted then  →  counts on the day of the line
#
# Nothing that was told is taken back: each such charge was made between the last one before and the line, and so it counts in
# each period and each window that may have had it. Lines themselves stay as they are.

REDATED = "redated"
"""The beginning of the keys of such lines, and their note."""
AHEAD = timedelta(hours=1)
"""How far what is written may lie in the future: a clock that is set back a little runs on by itself."""


@dataclass(frozen=True, slots=True)
class Redating:
    """A line by which those before it are dated."""

    line: int
    """Its number."""
    at: datetime
    """When it was written, by a clock that is right."""
    begin: date
    """The day of the last charge before the first one that lay in the future."""
    event: int
    """The last event that was written before."""
    lines: int
    """How many charges lay in the future."""

    @property
    def day(self) -> date:
        """Return the day on which what lay in the future counts."""
        return self.at.date()

    @property
    def key(self) -> str:
        """Return it as the key of its line."""
        return f"{REDATED} {self.begin.isoformat()} {self.event} {self.lines}"

    def dated(self, number: int, entry: Entry) -> Entry:
        """Return a line as it counts."""
        if number >= self.line:
            return entry
        read = self._read(entry)
        if is_standing(entry.key):  # which is read until its term is over, whatever the clock was when it was charged
            read = ReadDays(read.first, max(read.last, entry.read.last))
        return replace(entry, time=min(entry.time, self.at), read=read)

    def dated_event(self, number: int, time: datetime) -> datetime:
        """Return when an event counts."""
        return time if number > self.event else min(time, self.at)

    def _read(self, entry: Entry) -> ReadDays:
        """Return the days on which records were read at most: of a copy that was begun ahead it is not known since when."""
        read, last = entry.read, ReadDays.of_now(self.at).last
        if read.first <= self.day:
            return ReadDays(read.first, max(read.first, min(read.last, last)))
        return ReadDays(self.begin if read == ReadDays.of_now(entry.time) else date.min, last)


def redating_of(number: int, entry: Entry) -> Redating | None:
    """Return what a line says of the clock; None where it is another line."""
    if entry.note != REDATED:
        return None
    _, begin, event, lines = entry.key.split()
    return Redating(number, entry.time, date.fromisoformat(begin), int(event), int(lines))


# The usual price of a role's questions, and the number of further questions that a budget pays for.

USUAL_LINES = 500
"""The newest lines of a role, by which its usual price is known."""
_PROFILE = "take_profile"
"""What is called in the statement that takes one."""


def usual_price(entries: Iterable[Entry], role: Role) -> Privacy:
    """Return the price in the middle of those that a role has paid for recent statements, but for profiles.

    Until it has paid any: the most that one may cost. A profile has its own price, and is taken once an epoch.
    """
    statements: defaultdict[tuple[datetime, str, str], list[Privacy]] = defaultdict(list)
    for entry in entries:
        if entry.user and _PROFILE not in entry.statement.lower():  # without a user it is an operator's correction
            statements[entry.time, entry.user, entry.statement].append(entry.cost)
    paid = [compose(costs) for costs in statements.values()]
    if not paid:
        return Privacy(role.per_query.epsilon, role.per_query.delta)
    return Privacy(median_high([cost.epsilon for cost in paid]), median_high([cost.delta for cost in paid]))
