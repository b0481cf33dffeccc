"""The ledger as the gateway sees it: what was paid, what was released, and which epoch it is.

Promise: a statement's whole cost is durable before `open_statement` returns, or nothing of it is; nothing is refunded.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Protocol

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.failures import Event, Failing, Failure
from dpsql.accounting.privacy_loss import Charge
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.standing import StandingLedger
from dpsql.errors import InternalError
from dpsql.policy.model import Period, Privacy
from dpsql.question import Cancellation

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


class Way(Enum):
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
    failed: Failing | None
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
    ) -> Mapping[str, bytes] | Failing | None:
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
