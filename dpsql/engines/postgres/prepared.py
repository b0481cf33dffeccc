"""Measurements that a PostgreSQL server has accepted: prepared in a transaction that holds on to the tables as they are."""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.postgres.pool import SHOWN, PgConnection, settled
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import EngineFailed, EngineLost, QueryCanceled
from dpsql.hang_up import hang_up
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.watchdog import called_when_overdue

_LOG = logging.getLogger("dpsql.engine")
_CANCEL = 5.0
"""Seconds that a cancel request may take."""
_END = 10.0
"""Seconds that the end of a transaction may take, which has changed nothing."""
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"
"""Each statement sees what was committed when its tables were locked; an older view of a table that was emptied is empty."""

_BEGIN_UNCHANGING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@contextmanager
def reading(connection: PgConnection, timeout: float, *statements: str) -> Iterator[list[list[Any]]]:
    """Open a transaction, run `statements` in it one by one, in one round trip; give the rows of each.

    Raises:
        UnsettledError: the session has other settings than ours.
        psycopg.Error: the server refuses one.
    """
    begin = (_BEGIN, f"SET LOCAL statement_timeout = {max(int(timeout * 1000), 1)}", SHOWN)
    with connection.pipeline():
        cursors = [connection.execute(each.encode()) for each in (*begin, *statements)]
    settled(cursors[len(begin) - 1].fetchone())
    try:
        yield [cursor.fetchall() if cursor.description is not None else [] for cursor in cursors[len(begin) :]]
    finally:
        _end(connection)


@contextmanager
def unchanging(connection: PgConnection) -> Iterator[None]:
    """Open a transaction all of whose statements see one state of the tables, and may take as long as they like.

    Raises:
        UnsettledError: the session has other settings than ours.
        psycopg.Error: the server refuses.
    """
    with connection.pipeline():
        for each in (_BEGIN_UNCHANGING, "SET LOCAL statement_timeout = 0"):
            connection.execute(each.encode())
        shown = connection.execute(SHOWN.encode())
    settled(shown.fetchone())
    try:
        yield
    finally:
        _end(connection)


def _end(connection: PgConnection) -> None:
    """Leave nothing in the session; where that fails, or a statement has, the connection will not be kept."""
    if connection.info.transaction_status is not TransactionStatus.INTRANS:
        return
    try:
        with called_when_overdue(partial(hang_up, connection), _END), connection.pipeline():
            connection.execute("DEALLOCATE ALL")
            connection.execute("COMMIT")
    except psycopg.Error:
        connection.close()


def accepted(names: Mapping[str, str]) -> tuple[str, ...]:
    """Return what makes statements ready: each is parsed, bound and planned, and its permissions are checked."""
    pairs = names.items()
    return tuple(text for sql, name in pairs for text in (f"PREPARE {name} AS {sql}", f"EXPLAIN EXECUTE {name}"))


@dataclass(slots=True)
class PgPrepared:
    """Measurements in a transaction of one connection; see `Prepared`."""

    connection: PgConnection
    names: Mapping[str, str]
    """The prepared statements by their text."""
    timeout: float
    cancellation: Cancellation
    stopped: bool = False
    """Whether a cancel was sent, which may still be on its way and would hit the connection's next statement."""

    def run(self, sql: str, charge: Charge) -> Sequence[EngineRow]:
        """Return the rows of a measurement."""
        _ = charge
        return self.rows(sql)

    def rows(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a statement, for any payer."""
        connection = self.connection
        try:
            with stopping_connection(connection, self.timeout, self.cancellation) as stopped:
                text = f"EXECUTE {self.names[sql]}" if sql in self.names else sql
                return connection.execute(text.encode()).fetchall()
        except psycopg.errors.QueryCanceled:
            raise QueryCanceled from None
        except psycopg.Error as error:
            if stopped.is_set() and is_lost(error):  # we have hung up
                raise QueryCanceled from None
            _LOG.error("the engine failed: %s; statement: %s", error, sql)  # no traceback with values
            raise (EngineLost if is_lost(error) else EngineFailed) from None
        finally:
            self.stopped |= stopped.is_set()


def is_lost(error: psycopg.Error) -> bool:
    """Return whether an error is the end of a connection, or of the hope for one."""
    state = error.sqlstate
    return isinstance(error, psycopg.OperationalError) and (state is None or state.startswith(("08", "57P")))


def stopping_connection(
    connection: PgConnection, timeout: float, cancellation: Cancellation
) -> AbstractContextManager[threading.Event]:
    """Stop what a connection runs in a block when time is up or somebody cancels; where that fails, hang up."""
    return stopping_when_cancelled(partial(cancel, connection), timeout, cancellation, partial(hang_up, connection))


def cancel(connection: PgConnection) -> None:
    """Ask the server to stop what the connection runs."""
    try:
        connection.cancel_safe(timeout=_CANCEL)
    except psycopg.Error as error:
        _LOG.warning("a cancel did not reach the engine: %s", error)
