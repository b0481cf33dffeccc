"""The ledger in one SQLite file, for one machine: any number of threads and processes."""

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from dpsql.accounting.balance import Account, Balance, afford
from dpsql.accounting.composition import compose
from dpsql.accounting.failures import Event, Failing, Failure
from dpsql.accounting.ledger import Beside, Clock, DataSet, Entry, Item, Ready, Statement, presentable, without_engine
from dpsql.accounting.privacy_loss import first_day, issue, renewal
from dpsql.accounting.running_totals import Book
from dpsql.accounting.single_flight import Flights
from dpsql.accounting.sqlite import events, lines
from dpsql.accounting.sqlite.file import SqliteFile, Way
from dpsql.errors import InternalError
from dpsql.policy.model import Period

_LOG = logging.getLogger("dpsql.ledger")
_NAMELESS = DataSet()
_STORED = """
SELECT release, failed, EXISTS (SELECT 1 FROM entitlements e WHERE e.kind = r.kind AND e.key = r.key AND e.role = ?3)
FROM releases r WHERE kind = ?1 AND key = ?2
"""
_STATEMENT = "INSERT INTO statements (time, user, role, kind, text) VALUES (?, ?, ?, ?, ?)"
_CHARGE = "INSERT INTO charges (statement, key, note, epsilon, delta, measured) VALUES (?, ?, ?, ?, ?, ?)"
_RELEASE = """
INSERT OR IGNORE INTO releases (kind, key, release)
SELECT ?1, ?2, ?3 WHERE ?4 IS NULL OR EXISTS (SELECT 1 FROM releases WHERE kind = ?1 AND key = ?4 AND release = ?5)
"""
_KEPT = "SELECT release FROM releases WHERE kind = ? AND key = ? AND failed IS NULL"
_FAILED = "INSERT OR IGNORE INTO releases (kind, key, release, failed) VALUES (?, ?, x'', ?)"
_ENTITLEMENT = "INSERT OR IGNORE INTO entitlements (kind, key, role) VALUES (?, ?, ?)"
_EPOCH = "INSERT INTO epochs (began, reason) VALUES (?, ?)"


@dataclass(frozen=True, slots=True)
class _Found:
    """What the file holds of one item."""

    item: Item
    release: bytes | None
    failed: Failing | None
    """How it was measured in vain."""
    paid: bool
    """Whether the role may have the release, or hear of the failure, without a further charge."""

    @property
    def stored(self) -> bool:
        """Return whether it need not be measured."""
        return self.release is not None or self.failed is not None


class SqliteLedger:
    """A `Ledger`; see there for what its methods promise."""

    def __init__(self, path: Path, clock: Clock, dataset: DataSet = _NAMELESS, way: Way = Way.AS_IT_IS) -> None:
        """Open a data set's ledger at `path`, or make a new one.

        Raises:
            ConfigError: the file is not a ledger that this version reads, is another data set's, or is gone.
        """
        self.path = path
        self._clock = clock
        self._file = SqliteFile(path, dataset, clock, way)
        if self._file.adopted is not None:
            # What was released of other records answers no questions about these.
            self.advance(f"dpsql adopt, from {self._file.adopted.name}")
        self._book = Book()
        self._flights = Flights()

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
        self, account: Account, text: str, items: Sequence[Item], ready: Ready = without_engine
    ) -> Iterator[Statement]:
        """Pay for a statement; see `Ledger.open_statement`."""
        keys = frozenset(item.key for item in items)
        if len(keys) < len(items):
            raise InternalError
        text, flight = presentable(text), self._flights.board(keys)
        try:
            statement = None
            while statement is None:
                missing = self._missing(account, items)
                if missing:
                    ready(missing)
                statement = self._pay(account, text, items, missing)
            flight.land(statement.stored.keys())
            yield statement
        finally:
            flight.land_all()

    def balance(self, account: Account) -> Balance:
        """Return what was spent; see `Ledger.balance`."""
        with self._file.read() as connection:
            return self._balance(connection, account, self._now())

    def entries(self, role: str | None, limit: int) -> tuple[Entry, ...]:
        """Return the newest lines; see `Ledger.entries`."""
        with self._file.read() as connection:
            return lines.newest(connection, role, limit)

    def epoch(self, refresh: Period) -> int:
        """Return the epoch; see `Ledger.epoch`."""
        due = first_day(refresh, self._now())
        with self._file.read() as connection:
            number, began = _last_epoch(connection)
        if number and began >= due:
            return number
        with self._file.write() as connection:
            number, began = _last_epoch(connection)
            # Another process may have been first.
            return number if number and began >= due else self._next_epoch(connection, f"refresh: {refresh}")

    def advance(self, reason: str) -> int:
        """Begin the next epoch; see `Ledger.advance`."""
        with self._file.write() as connection:
            return self._next_epoch(connection, reason)

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

    def _missing(self, account: Account, items: Sequence[Item]) -> frozenset[str]:
        """Return the keys that have to be measured; who can't pay for them does not get so far as to ask the engine."""
        with self._file.read() as connection:
            found = [_find(connection, account, item) for item in items]
            self._due(connection, account, self._now(), found)
        return _unmeasured(found)

    def _due(
        self, connection: sqlite3.Connection, account: Account, now: datetime, found: Sequence[_Found]
    ) -> Sequence[_Found]:
        """Return what has to be paid for, if the account can."""
        # What is known to fail fails again, free, and nothing that stands beside it is paid for.
        failed = any(each.failed and each.paid for each in found)
        due = [] if failed else [each for each in found if not each.paid]
        costs = [each.item.cost for each in due]
        afford(
            self._balance(connection, account, now), costs, compose(each.item.cost for each in due if not each.stored)
        )
        return due

    def _pay(self, account: Account, text: str, items: Sequence[Item], ready: frozenset[str]) -> Statement | None:
        """Look up, check and charge in one transaction; None if something has to be measured that is not `ready`."""
        self._file.check()
        with self._file.write() as connection:
            self._file.check_owner(connection)
            now = self._now()
            found = [_find(connection, account, item) for item in items]
            if not ready.issuperset(_unmeasured(found)):
                return None
            due = self._due(connection, account, now, found)
            last = _enter(connection, account, text, now, due) if due else None
        if last is not None:
            self._file.note(last)
        return Statement(
            issue(frozenset(each.item.key for each in due if not each.stored), compose(each.item.cost for each in due)),
            {each.item.key: each.release for each in found if each.release is not None},
            next((each.failed for each in found if each.failed), None),
            partial(self._keep, account),
            partial(self._mark, account, text),
        )

    def _keep(self, account: Account, key: str, release: bytes, beside: Beside | None) -> bytes:
        """Store a release, and return the one that is stored; the first to be stored under a key stays.

        Another process may have been first. Its release is what the role has for its money, and the role's own, of which
        nobody will hear, is forgotten: otherwise it would have paid for one and seen two, and who reads what was found by
        one beside what was found by the other would see numbers under wrong keys.
        """
        kind = account.role.protects
        with self._file.write() as connection:
            connection.execute(_RELEASE, (kind, key, release, *(beside or (None, None))))
            kept = connection.execute(_KEPT, (kind, key)).fetchone()
            if kept is None:  # the epoch is over, or another process has failed
                return release
            connection.execute(_ENTITLEMENT, (kind, key, account.role.name))
        return bytes(kept[0])

    def _mark(self, account: Account, text: str, key: str, failure: Failure) -> None:
        """Store that a measurement failed; where another process was first, with a release, that stays."""
        kind, role = account.role.protects, account.role.name
        with self._file.write() as connection:
            connection.execute(_FAILED, (kind, key, failure.how))
            connection.execute(_ENTITLEMENT, (kind, key, role))
            closed = events.enter_failure(connection, account, text, self._now(), failure)
        if closed:
            _LOG.error("the account of role %s is closed; once you have looked: dpsql unlock %s", role, role)

    def _balance(self, connection: sqlite3.Connection, account: Account, now: datetime) -> Balance:
        for number, entry in lines.after(connection, self._book.last):
            self._book.enter(number, entry)
        period = account.role.budget.period
        return Balance(
            account,
            self._book.by_role(account.role.name, first_day(period, now)),
            self._book.on_kind(account.role.protects),
            renewal(period, now),
            self._book.lines(account.role.name, now.date()),
            events.is_closed(connection, account.role.name),
        )

    def _next_epoch(self, connection: sqlite3.Connection, reason: str) -> int:
        # Keys contain the epoch, so what was stored under earlier ones can't be asked for again.
        connection.execute("DELETE FROM releases")
        connection.execute("DELETE FROM entitlements")
        connection.execute(_EPOCH, (self._now().isoformat(), reason))
        number, _ = _last_epoch(connection)
        return number

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)


def _find(connection: sqlite3.Connection, account: Account, item: Item) -> _Found:
    row = connection.execute(_STORED, (account.role.protects, item.key, account.role.name)).fetchone()
    release, failed, entitled = row or (None, None, 0)
    return _Found(item, None if failed else release, Failing(failed) if failed else None, bool(entitled))


def _unmeasured(found: Sequence[_Found]) -> frozenset[str]:
    """Return the keys of what has to be measured: nothing, where something is known to fail."""
    if any(each.failed for each in found):
        return frozenset()
    return frozenset(each.item.key for each in found if not each.stored)


def _enter(connection: sqlite3.Connection, account: Account, text: str, now: datetime, due: Sequence[_Found]) -> int:
    """Write one line per item, and entitle the role to the releases that others had made; return the last one's number."""
    role, last = account.role, 0
    statement = connection.execute(
        _STATEMENT, (now.isoformat(), account.user, role.name, role.protects, text)
    ).lastrowid
    for each in due:
        key, cost = each.item.key, each.item.cost
        measured = not each.stored
        values = (statement, key, each.item.note, str(cost.epsilon), str(cost.delta), measured)
        last = connection.execute(_CHARGE, values).lastrowid or 0
        if not measured:
            connection.execute(_ENTITLEMENT, (role.protects, key, role.name))
    return last


def _last_epoch(connection: sqlite3.Connection) -> tuple[int, date]:
    row = connection.execute("SELECT number, began FROM epochs ORDER BY number DESC LIMIT 1").fetchone()
    return (int(row[0]), _day(row[1])) if row else (0, date.min)


def _day(time: str) -> date:
    return datetime.fromisoformat(time).date()
