"""The ledger in one SQLite file, for one machine: any number of threads and processes."""

import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.composition import compose
from dpsql.accounting.failures import Event, Failing, Failure
from dpsql.accounting.ledger import (
    Beside,
    ChargeItem,
    Clock,
    DataSet,
    Entry,
    MakeReady,
    PaidStatement,
    ToldRelease,
    presentable,
    without_engine,
)
from dpsql.accounting.ledger_clock import LedgerClock
from dpsql.accounting.nearing import nearing
from dpsql.accounting.privacy_loss import first_day, issue
from dpsql.accounting.running_totals import RunningTotals
from dpsql.accounting.single_flight import SingleFlight
from dpsql.accounting.sqlite import amendments, events, lines, releases
from dpsql.accounting.sqlite.balances import balance_of
from dpsql.accounting.sqlite.file import SqliteFile, Way
from dpsql.accounting.sqlite.looks import Looks
from dpsql.accounting.sqlite.schema import last_epoch
from dpsql.errors import InternalError
from dpsql.policy.model import Period, Privacy
from dpsql.question import Cancellation

_LOG = logging.getLogger("dpsql.ledger")
_NAMELESS = DataSet()
_EPOCH = "INSERT INTO epochs (began, reason) VALUES (?, ?)"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is written down of a statement."""

    text: str
    question: str | None


class SqliteLedger:
    """A `Ledger`; see there for what its methods promise."""

    def __init__(self, path: Path, clock: Clock, dataset: DataSet = _NAMELESS, way: Way = Way.AS_IT_IS) -> None:
        """Open a data set's ledger at `path`, or make a new one.

        Raises:
            ConfigError: the file is not a ledger that this version reads, is another data set's, or is gone.
        """
        self.path = path
        self._clock = clock
        self._charged_at = LedgerClock(clock)
        self._file = SqliteFile(path, dataset, clock, way)
        if self._file.adopted is not None:
            # What was released of other records answers no questions about these.
            self.advance(f"dpsql adopt, from {self._file.adopted.name}")
        self._totals = RunningTotals()
        self._single_flight = SingleFlight()
        self._looks = Looks(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def identity(self) -> str:
        """Return the ledger's and the data set's identity; see `Ledger.identity`."""
        return self._file.identity

    @property
    def adopted(self) -> DataSet | None:
        """Return whose ledger it was, if it was another's until it was opened."""
        return self._file.adopted

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextmanager
    def open_statement(
        self,
        account: Account,
        text: str,
        items: Sequence[ChargeItem],
        ready: MakeReady = without_engine,
        cancellation: Cancellation | None = None,
        question: str | None = None,
    ) -> Iterator[PaidStatement]:
        """Pay for a statement; see `Ledger.open_statement`."""
        keys = frozenset(item.key for item in items)
        if len(keys) < len(items):
            raise InternalError
        question = None if question is None else presentable(question)
        text, since, held = presentable(text), time.monotonic(), self._single_flight.acquire(keys, cancellation)
        try:
            statement = None
            while statement is None:
                missing = self._missing(account, items, cancellation, since)
                if missing:
                    ready(missing)
                statement = self._pay(account, _Asked(text, question), items, missing, cancellation, since)
            held.release(statement.stored.keys())
            yield statement
        finally:
            held.release_all()

    def known(
        self, account: Account, items: Sequence[ChargeItem], cancellation: Cancellation | None = None
    ) -> Mapping[str, bytes] | Failing | None:
        """Return what is paid for and stored; see `Ledger.known`."""
        return self._looks.known(account, items, cancellation)

    def paid(
        self, account: Account, keys: Iterable[str], cancellation: Cancellation | None = None
    ) -> Mapping[str, bytes]:
        """Return what is stored and paid for; see `Ledger.paid`."""
        return self._looks.paid(account, keys, cancellation)

    def told(self, account: Account, after: int, cancellation: Cancellation | None = None) -> tuple[ToldRelease, ...]:
        """Return what a role was told; see `Ledger.told`."""
        return self._looks.told(account, after, cancellation)

    def balance(self, account: Account, cancellation: Cancellation | None = None) -> Balance:
        """Return what was spent; see `Ledger.balance`."""
        with self._file.read(cancellation) as connection:
            return self._balance(connection, account, self._now())

    def entries(self, role: str | None, limit: int, cancellation: Cancellation | None = None) -> tuple[Entry, ...]:
        """Return the newest lines; see `Ledger.entries`."""
        with self._file.read(cancellation) as connection:
            return lines.newest(connection, role, limit)

    def epoch(self, refresh: Period, cancellation: Cancellation | None = None) -> int:
        """Return the epoch; see `Ledger.epoch`."""
        due = first_day(refresh, self._now())
        found = self._file.epoch()
        if found is None:
            with self._file.read(cancellation) as connection:
                found = last_epoch(connection)
        number, began = found
        if number and began >= due:
            return number
        with self._file.write(cancellation) as connection:
            number, began = last_epoch(connection)
            # Another process may have been first.
            return number if number and began >= due else self._next_epoch(connection, f"refresh: {refresh}")

    def advance(self, reason: str) -> int:
        """Begin the next epoch; see `Ledger.advance`."""
        with self._file.write() as connection:
            return self._next_epoch(connection, reason)

    def begin(self, reason: str) -> int:
        """Begin an epoch for a reason that no other has, unless it is the last one's; return the last one's number."""
        with self._file.write() as connection:
            last = connection.execute("SELECT number, reason FROM epochs ORDER BY number DESC LIMIT 1").fetchone()
            return int(last[0]) if last and last[1] == reason else self._next_epoch(connection, reason)

    def is_closed(self, role: str) -> bool:
        """Return whether an account is closed; see `Ledger.is_closed`."""
        with self._file.read() as connection:
            return events.is_closed(connection, role)

    def unlock(self, role: str) -> None:
        """Open an account; see `Ledger.unlock`."""
        with self._file.write() as connection:
            events.enter_opening(connection, role, self._now())

    def incidents(self, role: str) -> tuple[Event, ...]:
        """Return what befell an account; see `Ledger.incidents`."""
        with self._file.read() as connection:
            return events.since_opening(connection, role)

    def grant(self, role: str, amount: Privacy, reason: str) -> None:
        """Let a role spend so much more in its present period; the data set's budget stays what it is."""
        with self._file.write() as connection:
            amendments.enter_grant(connection, role, amount, presentable(reason), self._now())

    def correct(self, role: str, kind: str, amount: Privacy, reason: str) -> None:
        """Charge what was told without a charge: to a unit kind's budget and to a role's, or to none's if it is empty."""
        with self._file.write() as connection:
            self._catch_up(connection)
            at = self._charged_at.now(self._totals.latest)
            last = amendments.enter_correction(connection, role, kind, amount, presentable(reason), at)
        self._file.note(last)

    def _missing(
        self, account: Account, items: Sequence[ChargeItem], cancellation: Cancellation | None, since: float
    ) -> frozenset[str]:
        """Return the keys that have to be measured; who can't pay for them does not get so far as to ask the engine."""
        with self._file.read(cancellation, since) as connection:
            found = [releases.find_stored(connection, account, item) for item in items]
            releases.to_be_paid(self._balance(connection, account, self._now()), found)
        return releases.unmeasured(found)

    def _pay(
        self,
        account: Account,
        asked: _Asked,
        items: Sequence[ChargeItem],
        ready: frozenset[str],
        cancellation: Cancellation | None,
        since: float,
    ) -> PaidStatement | None:
        """Look up, check and charge in one transaction; None if something has to be measured that is not `ready`."""
        self._file.check()
        with self._file.write(cancellation, since) as connection:
            self._file.check_owner(connection)
            now = self._now()
            found = [releases.find_stored(connection, account, item) for item in items]
            if not ready.issuperset(releases.unmeasured(found)):
                return None
            balance = self._balance(connection, account, now)
            due = releases.to_be_paid(balance, found)
            at = self._charged_at.now(self._totals.latest)
            last = releases.enter_charges(connection, account, asked.text, at, due) if due else None
        bought = [each for each in due if each.stored]
        if bought:
            # Whoever looks finds what the role may have only once its charge lasts.
            with self._file.write(durable=False) as connection:
                releases.entitle(connection, account, bought, asked.question)
        if last is not None:
            self._file.note(last)
        cost = compose(each.item.cost for each in due)
        return PaidStatement(
            issue(frozenset(each.item.key for each in due if not each.stored), cost),
            {each.item.key: each.release for each in found if each.release is not None},
            next((each.failed for each in found if each.failed), None),
            partial(self._keep, account, asked.question, cancellation),
            partial(self._mark, account, asked.text),
            nearing(balance, cost, compose(each.item.cost for each in due if not each.stored)),
        )

    def _keep(
        self,
        account: Account,
        question: str | None,
        cancellation: Cancellation | None,
        key: str,
        release: bytes,
        beside: Beside | None,
    ) -> bytes:
        """Store a release, and return the one that is stored; the first to be stored under a key stays.

        Another process may have been first. Its release is what the role has for its money, and the role's own, of which
        nobody will hear, is forgotten: otherwise it would have paid for one and seen two, and who reads what was found by
        one beside what was found by the other would see numbers under wrong keys.
        """
        # After a power cut it is measured, and charged, again.
        with self._file.write(cancellation, durable=False) as connection:
            return releases.keep(connection, account, key, release, beside, question)

    def _mark(self, account: Account, text: str, key: str, failure: Failure) -> None:
        """Store that a measurement failed; where another process was first, with a release, that stays."""
        role = account.role.name
        with self._file.write() as connection:
            releases.mark(connection, account, key, failure.how)
            closed = events.enter_failure(connection, account, text, self._now(), failure)
        if closed:
            _LOG.error("the account of role %s is closed; once you have looked: dpsql unlock %s", role, role)

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        for number, entry in lines.after(connection, self._totals.last):
            self._totals.enter(number, entry)

    def _balance(self, connection: sqlite3.Connection, account: Account, now: datetime) -> Balance:
        self._catch_up(connection)
        return balance_of(connection, account, now, self._totals, self._charged_at.now(self._totals.latest))

    def _next_epoch(self, connection: sqlite3.Connection, reason: str) -> int:
        # Keys contain the epoch, so what was stored under earlier ones can't be asked for again.
        releases.forget(connection)
        self._looks = Looks(self._file)
        connection.execute(_EPOCH, (self._now().isoformat(), reason))
        number, _ = last_epoch(connection)
        return number

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)
