"""The ledger in one SQLite file, for one machine: any number of threads and processes."""

import errno
import fcntl
import logging
import os
import shutil
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

from dpsql.accounting.ledger import DataSet, OpeningWay
from dpsql.accounting.sql import opening
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.accounting.sql.opening import mark_path, read_mark, require_no_loss, take_ledger
from dpsql.accounting.sql.releases import last_epoch
from dpsql.accounting.sql.store import SqlConnection, place_of_key
from dpsql.accounting.sqlite.schema import VERSION, create, upgrade
from dpsql.clock import Clock
from dpsql.errors import ConfigError, DpsqlError, LedgerBusy, LedgerFailed, LedgerFull
from dpsql.interrupt import pause
from dpsql.private_files import open_private, prepare_file
from dpsql.question import Cancellation

# SQLite's errors when it can't go on, as instructions for an operator.

_LOG = logging.getLogger("dpsql.ledger")
# To charge and then have no room for the release would take money for nothing. 16 MiB is far more than a release has.
ROOM = 16 * 2**20
"""Bytes that have to be free for a charge to be made: its release is stored after it."""
_KINDS: Mapping[int, Callable[[], DpsqlError]] = {
    sqlite3.SQLITE_FULL: LedgerFull,
    sqlite3.SQLITE_BUSY: LedgerBusy,
    sqlite3.SQLITE_LOCKED: LedgerBusy,
    sqlite3.SQLITE_CANTOPEN: LedgerFailed,
    sqlite3.SQLITE_IOERR: LedgerFailed,
    sqlite3.SQLITE_READONLY: LedgerFailed,
    sqlite3.SQLITE_PERM: LedgerFailed,
    sqlite3.SQLITE_AUTH: LedgerFailed,
    sqlite3.SQLITE_CORRUPT: LedgerFailed,
    sqlite3.SQLITE_NOTADB: LedgerFailed,
    sqlite3.SQLITE_NOMEM: LedgerFailed,
    sqlite3.SQLITE_PROTOCOL: LedgerFailed,
}
"""By the low byte of SQLite's code; anything else is a mistake of ours."""


def trouble(error: sqlite3.Error) -> Exception:
    """Return what clients are told, and log the cause; `error` itself where nobody but us can do something."""
    kind = _KINDS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    if kind is None:
        return error
    _LOG.error("the ledger can't be used: %s", error)
    return kind()


def require_same_file(path: Path, inode: int) -> None:
    """Return if the ledger that is open is the one that the next process would open.

    Raises:
        LedgerFailed: it is not.
    """
    try:
        # A ledger that was moved away while it is open would be written to by this process and not found by the next
        # one: charges would be forgotten.
        same = path.stat().st_ino == inode
    except OSError:
        same = False
    if not same:
        _LOG.error("the ledger can't be used: %s was moved, removed or replaced; bring it back, or restart dpsql", path)
        raise LedgerFailed


def require_room(path: Path) -> None:
    """Return if there is room for a charge and for what it pays for.

    Raises:
        LedgerFull: there is not.
    """
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError:
        return  # the transaction will tell
    if free < ROOM:
        _LOG.error("the ledger can't be used: %s bytes are free on its disk", free)
        raise LedgerFull


# Group commit: what several threads have written is made durable by one sync of the log that all of them wrote to.


class GroupCommit:
    """Syncs of one write-ahead log.

    A transaction that SQLite commits with `synchronous = NORMAL` stands in the log, where all processes see it and a kill
    leaves it, and only a power cut could take it away. A sync that began after that makes it last
    (https://www.sqlite.org/wal.html, "Performance Considerations"). Commits that come while a sync goes on share the next.
    """

    def __init__(self, log: Path) -> None:
        """Open the log, which stays as long as the ledger is open.

        Raises:
            OSError: it can't be opened.
        """
        self._file = os.fdopen(open_private(log, os.O_RDWR), "r+b", buffering=0)
        self.inode = os.fstat(self._file.fileno()).st_ino
        self._turn = threading.Condition()
        self._asked = 0
        self._synced = 0
        self._going_on = False
        self._failed = False

    def close(self) -> None:
        """Close the log."""
        self._file.close()

    def sync(self) -> None:
        """Return once everything that was written before the call is durable.

        Raises:
            OSError: a sync has failed, this one or an earlier: what became of the pages then, no later one tells.
        """
        with self._turn:
            self._asked += 1
            mine = self._asked
            # Only a sync that begins after a write is sure to have it: who comes while one goes on waits for the next,
            # together with all others who came.
            self._turn.wait_for(lambda: not self._going_on or self._synced >= mine)
            # Linux forgets a failed write-back once it was told of (the fsyncgate of 2018): a second fsync would say
            # that all is well.
            if self._failed:
                raise OSError(errno.EIO, "an earlier sync of the ledger's log has failed")
            if self._synced >= mine:
                return
            self._going_on, last = True, self._asked
        kept = False
        try:
            os.fsync(self._file.fileno())
            kept = True
        finally:
            with self._turn:
                self._going_on, self._failed = False, not kept
                if kept:
                    self._synced = last
                self._turn.notify_all()


# The ledger's SQLite file: its tables, and transactions that survive a kill or a power cut at any moment.

T = TypeVar("T")
_PATIENCE = 60.0
"""Seconds to wait for another process's transaction; one takes milliseconds."""
_LEAST = 0.2
"""Seconds to wait for it where that time has gone by with waiting for somebody who waited for it."""
_AGAIN = 0.02
"""Seconds until it is tried again."""
_BESIDE = ("-wal", "-shm", "-journal")
"""The files that SQLite keeps beside this one; it follows no link there, and takes the files that it finds."""
_LOG_SIZE = 16 * 2**20
"""Bytes that the log keeps once the file has what was in it."""


class SqliteFile:
    """A connection for transactions, used by one thread at a time, and another that looks while nobody writes."""

    def __init__(self, path: Path, dataset: DataSet, clock: Clock, way: OpeningWay) -> None:
        """Open the file of a data set, or make it, readable by its owner only.

        Raises:
            ConfigError: it is not a ledger, one of a newer dpsql, another data set's, or less than there was.
        """
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._writing: tuple[int, date] | None = None
        """The last epoch and its first day, while this process writes."""
        self._path, self._dataset = path, dataset
        marked = read_mark(path) is not None  # who makes a ledger marks it last: another process may be about to
        if marked and not (path.is_file() and path.stat().st_size):
            require_no_loss(path, path, way)
        try:
            prepare_file(path, _BESIDE)
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            told = error.strerror if isinstance(error, OSError) else error
            hint = "state names a directory that dpsql may make and write to; ledger names the file."
            raise ConfigError(f"ledger {path} can't be opened: {told}", hint=hint) from error
        try:
            self._prepare(path, clock().astimezone(UTC), way)
        except sqlite3.Error as error:
            self._connection.close()
            raise ConfigError(f"ledger {path} can't be read: {error}") from error
        except ConfigError:
            self._connection.close()
            raise
        self._inode = path.stat().st_ino
        self._log = GroupCommit(_log(path)) if self._has_log else None
        # A second connection, for looks that shall not wait for a writer: with a log ahead (WAL) readers see the last commit.
        self._eye = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)

    @property
    def identity(self) -> str:
        """Return what no other ledger has, nor this one for another data set."""
        return self._opened.identity

    @property
    def adopted(self) -> DataSet | None:
        """Return whose it was until it was opened, if it was another's."""
        return self._opened.adopted

    def close(self) -> None:
        """Close the connections, after all that is going on."""
        with self._lock, self._looking:
            self._connection.close()
            self._eye.close()
            if self._log is not None:
                self._log.close()

    def epoch(self) -> tuple[int, date] | None:
        """Return the last epoch, and the day on which it began, without waiting; None where another process writes."""
        # While we write nobody else can have begun another one.
        return self._writing or self.glance(last_epoch) or self._writing

    def glance(self, look: Callable[[sqlite3.Connection], T], *, at_once: bool = False) -> T | None:
        """Return what one look at the file tells, without waiting; None where somebody writes, or nothing can be read."""
        # There is no log where the file system is a network's, which has to be asked.
        if at_once and self._log is None:
            return None
        if not self._looking.acquire(blocking=not at_once):
            return None
        try:
            self._eye.execute("BEGIN")
            return look(self._eye)
        except sqlite3.Error:
            return None
        finally:
            if self._eye.in_transaction:
                self._eye.execute("ROLLBACK")
            self._looking.release()

    @contextmanager
    def read(
        self, cancellation: Cancellation | None = None, since: float | None = None
    ) -> Iterator[sqlite3.Connection]:
        """Lend the connection for queries of one state of the file; who needs it has waited `since` then for others.

        Raises:
            QueryCanceled: while another process kept it locked.
            LedgerBusy: it has kept it for too long.
        """
        # The lock is taken by what reads, not by BEGIN.
        with self._lent(cancellation, since, "BEGIN", "PRAGMA user_version") as connection:
            yield connection

    @contextmanager
    def write(
        self, cancellation: Cancellation | None = None, since: float | None = None, *, durable: bool = True
    ) -> Iterator[sqlite3.Connection]:
        """Lend the connection for one transaction that no other process's overlaps; it is durable once this returns.

        Where it need not be `durable` a kill leaves it, and a power cut may take it.

        Raises:
            QueryCanceled: while another process kept the file locked; nothing was written.
            LedgerBusy: it has kept it for too long.
            LedgerFailed: the disk did not take it; nobody knows if it lasts.
        """
        # A transaction that is exclusive from its beginning on waits for nobody at its end.
        with self._lent(cancellation, since, "BEGIN EXCLUSIVE") as connection:
            self._writing = last_epoch(connection)
            yield connection
        if durable and self._log is not None:
            try:
                self._log.sync()
            except OSError as error:
                _LOG.exception("the ledger can't be used: its disk has failed; look at it, and restart dpsql")
                raise LedgerFailed from error

    @contextmanager
    def _lent(
        self, cancellation: Cancellation | None, since: float | None, *begin: str
    ) -> Iterator[sqlite3.Connection]:
        """Lend the connection; waiting for another process does not block the threads of this one."""
        now = time.monotonic()
        # SQLite's own busy handler would hold the lock of this process while it waits for another one: so it is off, and
        # whoever waits lets the threads of this process go on.
        deadline = max(now + _LEAST, (now if since is None else since) + _PATIENCE)
        while True:
            with self._lock:
                try:
                    if self._begun(begin, again=time.monotonic() < deadline):
                        with self._transaction():
                            yield self._connection
                        return
                except sqlite3.Error as error:
                    raise trouble(error) from error
            pause(_AGAIN, cancellation)

    def _begun(self, begin: tuple[str, ...], *, again: bool) -> bool:
        """Begin a transaction; return False if another process holds the lock and the caller should try `again`."""
        try:
            for statement in begin:
                self._connection.execute(statement)
        except sqlite3.OperationalError as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if again and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                return False
            raise
        return True

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """End the transaction that has begun."""
        try:
            yield
            self._connection.execute("COMMIT")
        finally:
            self._writing = None
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def check(self) -> None:
        """Return if a charge would last: the file is where it was, and there is room beside it.

        Raises:
            LedgerFailed: another file has taken its place, and what is written to the old one is lost.
            LedgerFull: there is no room.
        """
        require_same_file(self._path, self._inode)
        if self._log is not None:
            require_same_file(_log(self._path), self._log.inode)
        require_room(self._path)

    def touch(self, connection: SqlConnection) -> None:
        """Write the version of the tables again; see `LedgerStore.touch`."""
        connection.execute(f"PRAGMA user_version = {VERSION}")

    def require_owner(self, connection: SqlConnection) -> None:
        """Return if the ledger still is the data set's for which it was opened.

        Raises:
            LedgerFailed: somebody has let another one adopt it.
        """
        recorded = opening.read_owner(connection)
        if recorded is None or recorded.dataset != self._opened.dataset:
            _LOG.error("the ledger can't be used: another data set has adopted %s", self._path)
            raise LedgerFailed

    def note(self, line: int) -> None:
        """Remember, outside of the file, that it has this line."""
        opening.write_mark(self._path, self._opened.mark(line))

    def _prepare(self, path: Path, now: datetime, way: OpeningWay) -> None:
        self._begin_log()
        dataset = self._dataset
        connection = self._connection
        connection.execute("BEGIN EXCLUSIVE")
        with self._transaction():
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                create(connection)
            if not 0 <= version <= VERSION:
                raise ConfigError(f"ledger {path} has schema version {version}, this dpsql reads version {VERSION}")
            if version < VERSION:
                upgrade(connection, version)
            if version in (0, 1):
                opening.write_owner(connection, dataset, now, opening.MADE if version == 0 else opening.TAKEN_OVER)
            self._opened = take_ledger(connection, path, path, way, (dataset, now))
        # A copy of the file alone, made whenever, is a ledger, though an older one.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA busy_timeout = 0")  # from now on we wait ourselves
        self.note(self._opened.lines)

    def _begin_log(self) -> None:
        """Have the file written ahead of, where its file system lets it."""
        # The log is synced by `write`, once for all who wait. Where there can be none, since the file system has no shared
        # memory, a rollback journal is, for each; EXTRA syncs its directory too: with FULL, a power cut just after the
        # commit could bring the journal, and the past, back.
        # SQLite waits for others everywhere but here: of two who switch a new file to its log at once, one fails at once.
        deadline = time.monotonic() + _PATIENCE
        while not self._begun(("PRAGMA journal_mode = WAL",), again=time.monotonic() < deadline):
            pause(_AGAIN, None)
        (journal,) = self._connection.execute("PRAGMA journal_mode").fetchone()
        self._has_log = journal == "wal"
        self._connection.execute(f"PRAGMA synchronous = {'NORMAL' if self._has_log else 'EXTRA'}")
        self._connection.execute(f"PRAGMA journal_size_limit = {_LOG_SIZE}")


def _log(path: Path) -> Path:
    """Return where SQLite writes ahead."""
    return path.with_name(f"{path.name}-wal")


# Claims of processes that share a ledger's file, on measurements: bytes of the mark beside it, which the kernel locks.
#
# A lock goes with its process, however that ends. It is that of an open file and not of a process, so that two ledgers that
# one process has open are told apart.

_BEGIN = 2**20
"""Where the bytes begin that may be locked."""


class FileClaims:
    """Claims of one process on measurements; see `MeasuringClaims`."""

    def __init__(self, path: Path) -> None:
        """Open the mark beside the ledger at `path`: the locks are far behind its end.

        Raises:
            OSError: it can't be opened.
        """
        self._file = os.fdopen(open_private(mark_path(path), os.O_RDWR | os.O_CREAT), "r+b")
        self._lock = threading.Lock()

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            self._file.close()

    def take(self, keys: Iterable[str]) -> bool:
        """Claim these keys, all or none; see `MeasuringClaims.take`."""
        taken: list[str] = []
        with self._lock:
            for key in keys:
                try:
                    self._set(fcntl.F_WRLCK, key)
                except BlockingIOError:
                    self._unlock(taken)
                    return False
                taken.append(key)
        return True

    def give_back(self, keys: Iterable[str]) -> None:
        """End claims; see `MeasuringClaims.give_back`."""
        with self._lock:
            self._unlock(keys)

    def _unlock(self, keys: Iterable[str]) -> None:
        for key in () if self._file.closed else keys:
            self._set(fcntl.F_UNLCK, key)

    def _set(self, kind: int, key: str) -> None:
        """Ask the kernel for what fcntl(2) calls a `struct flock`: kind, from where, begin, length, no process."""
        fcntl.fcntl(
            self._file, fcntl.F_OFD_SETLK, struct.pack("hhqqi0q", kind, os.SEEK_SET, _BEGIN + place_of_key(key), 1, 0)
        )


_NAMELESS = DataSet()


# File and claims together: the ledger as the gateway has it.


class SqliteLedger(SqlLedger):
    """A `Ledger` in a file."""

    def __init__(
        self, path: Path, clock: Clock, dataset: DataSet = _NAMELESS, way: OpeningWay = OpeningWay.AS_IT_IS
    ) -> None:
        """Open a data set's ledger at `path`, or make a new one.

        Raises:
            ConfigError: the file is not a ledger that this version reads, is another data set's, or is gone.
        """
        self.path = path
        self._file = SqliteFile(path, dataset, clock, way)
        try:
            claims = FileClaims(path)
        except OSError as error:
            self._file.close()
            raise ConfigError(f"ledger {path} can't be shared: {error}") from error
        super().__init__(self._file, claims, clock)
