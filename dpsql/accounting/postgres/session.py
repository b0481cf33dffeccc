"""A session with the ledger's server, which is begun anew when it has broken."""

import logging
import threading
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import psycopg
from psycopg import RawCursor, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from dpsql.accounting.sql.store import SqlRows
from dpsql.errors import LedgerBusy, LedgerFailed, LedgerFull
from dpsql.hang_up import hang_up
from dpsql.interrupt import called_when_overdue

SCHEMA = "dpsql_ledger"
"""The schema in which a ledger's tables are: a database has one ledger."""
_USUAL = {
    "application_name": "dpsql ledger",
    "connect_timeout": "10",
    "keepalives_idle": "20",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "40000",
}
"""So that a server that has vanished is known to have within a minute, unless the address says otherwise."""
_GREETING = (
    f"SET search_path = {SCHEMA}, pg_temp",
    "SET client_encoding = 'UTF8'",
    "SET default_transaction_read_only = off",
    "SET idle_in_transaction_session_timeout = '60s'",  # a client that vanished keeps nobody waiting
    "SET statement_timeout = 0",
)
_SAFE = frozenset({"on", "remote_write", "remote_apply"})
"""Values of `synchronous_commit` with which a commit is on the server's own disk."""
_SILENT = 60.0
"""Seconds until a server that answers nothing counts as one that can't be reached."""
_REST = 0.5
"""Seconds until a server that could not be reached is tried again, or as long as that took."""
_MOST_REST = 10.0
"""And no more: a statement waits twice as long."""


def shown_place(dsn: str) -> str:
    """Return where a ledger is, for people: without a password."""
    given = conninfo_to_dict(dsn)
    host, port = given.get("host") or given.get("hostaddr") or "localhost", given.get("port")
    return f"postgresql://{host}{f':{port}' if port else ''}/{given.get('dbname') or ''}"


@lru_cache(maxsize=256)
def _numbered(sql: str) -> str:
    """Write parameters as PostgreSQL does: `?1` → `$1`."""
    return sql.replace("?", "$")


class ServerTransaction:
    """A transaction on the server, as those see it who write the ledger's SQL."""

    def __init__(self, connection: psycopg.Connection, patience: float | None = None) -> None:
        self._connection, self._patience = connection, patience

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> SqlRows:
        """Run one statement."""
        return run_on_server(self._connection, _numbered(sql), values, patience=self._patience)


def run_on_server(
    connection: psycopg.Connection,
    sql: str,
    values: Sequence[Any] = (),
    *,
    prepare: bool | None = None,
    patience: float | None = None,
) -> SqlRows:
    """Run one statement; a server that is stopped, or whose disk hangs, is waited for as long as one that has vanished."""
    with called_when_overdue(partial(hang_up, connection), _SILENT if patience is None else patience):
        return RawCursor(connection).execute(sql.encode(), values or None, prepare=prepare)


class ServerSession:
    """One connection, for one thread at a time."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection | None = None
        self._rests_until = float("-inf")
        self._closed = False

    def opened(self, *, soon: bool = True) -> psycopg.Connection:
        """Return the connection, outside of a transaction; unless it is needed `soon`, a server is not tried all the time.

        Raises:
            psycopg.Error: there is none.
        """
        if self._connection is not None and not self._connection.closed:
            return self._connection
        began = time.monotonic()
        if self._closed or (not soon and began < self._rests_until):
            raise errors.ConnectionDoesNotExist("not tried again yet")
        try:
            self._connection = _connected(self._dsn)
        except psycopg.Error:
            failed = time.monotonic()
            # As long as the attempt took: else all who wait would try in turn.
            self._rests_until = failed + min(max(_REST, failed - began), _MOST_REST)
            raise
        return self._connection

    def end(self, how: str) -> None:
        """End a transaction that has not ended, and the connection if that is not possible."""
        connection = self._connection
        if connection is None or connection.closed or connection.info.transaction_status == TransactionStatus.IDLE:
            return
        try:
            run_on_server(connection, how)
        except psycopg.Error:
            connection.close()

    def drop(self) -> None:
        """End a connection whose state nobody knows."""
        if self._connection is not None:
            self._connection.close()

    def close(self) -> None:
        """End it for good."""
        self._closed = True
        self.drop()


class SharedSession:
    """A session with the lock that those take who use it."""

    def __init__(self, dsn: str) -> None:
        self.session = ServerSession(dsn)
        self.lock = threading.Lock()


def _connected(dsn: str) -> psycopg.Connection:
    given = conninfo_to_dict(dsn)
    usual = {key: value for key, value in _USUAL.items() if key not in given}
    connection = psycopg.connect(make_conninfo(dsn, **usual), autocommit=True)
    try:
        run_on_server(connection, "; ".join(_GREETING), prepare=False)
        row = run_on_server(connection, "SHOW synchronous_commit").fetchone()
        if row is None or row[0] not in _SAFE:
            run_on_server(connection, "SET synchronous_commit = on")
    except BaseException:
        connection.close()
        raise
    return connection


# PostgreSQL's errors when the ledger can't go on, as instructions for an operator.

_LOG = logging.getLogger("dpsql.ledger")
_BUSY = (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected, errors.SerializationFailure)
_FULL = (errors.DiskFull, errors.OutOfMemory)
_LOST = (
    psycopg.OperationalError,  # with all that the server says when it stops, or has stopped
    psycopg.InterfaceError,
    errors.InsufficientPrivilege,
    errors.InvalidSchemaName,
    errors.ReadOnlySqlTransaction,
    errors.UndefinedTable,
    errors.DataCorrupted,
    errors.IndexCorrupted,
    errors.IdleInTransactionSessionTimeout,
)


def is_busy(error: psycopg.Error) -> bool:
    """Return whether others have kept the tables locked."""
    return isinstance(error, _BUSY)


def is_away(error: psycopg.Error) -> bool:
    """Return whether the server may be back soon: it stops, starts, or can't be reached."""
    gone = isinstance(error, psycopg.OperationalError) and not isinstance(error, _BUSY + _FULL)
    return gone or isinstance(error, psycopg.InterfaceError)


def trouble_of(error: psycopg.Error) -> Exception:
    """Return what clients are told, and log the cause; `error` itself where nobody but us can do something."""
    kind = next((kind for kinds, kind in _KINDS if isinstance(error, kinds)), None)
    if kind is None:
        return error
    _LOG.error("the ledger can't be used: %s", str(error).strip() or type(error).__name__)
    return kind()


_KINDS = ((_BUSY, LedgerBusy), (_FULL, LedgerFull), (_LOST, LedgerFailed))
