"""PostgreSQL's errors when the ledger can't go on, as instructions for an operator."""

import logging

import psycopg
from psycopg import errors

from dpsql.errors import LedgerBusy, LedgerFailed, LedgerFull

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
