"""SQLite's errors when it can't go on, as instructions for an operator."""

import logging
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from dpsql.errors import DpsqlError, LedgerBusy, LedgerFailed, LedgerFull

_LOG = logging.getLogger("dpsql.ledger")
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


def check_place(path: Path, inode: int) -> None:
    """Return if the ledger that is open is the one that the next process would open.

    Raises:
        LedgerFailed: it is not.
    """
    try:
        same = path.stat().st_ino == inode
    except OSError:
        same = False
    if not same:
        _LOG.error("the ledger can't be used: %s was moved, removed or replaced; bring it back, or restart dpsql", path)
        raise LedgerFailed


def check_room(path: Path) -> None:
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
