"""The ledger's SQLite file: its tables, and transactions that survive a kill or a power cut at any moment."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpsql.errors import ConfigError

_VERSION = 2
_PATIENCE = 60.0
"""Seconds to wait for another process's transaction; one takes milliseconds."""

_TABLES = """
CREATE TABLE statements (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL, kind TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE charges (
    id INTEGER PRIMARY KEY, statement INTEGER NOT NULL REFERENCES statements, key TEXT NOT NULL, note TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, measured INTEGER NOT NULL CHECK (measured IN (0, 1))
) STRICT;
CREATE TABLE releases (
    kind TEXT NOT NULL, key TEXT NOT NULL, release BLOB NOT NULL, PRIMARY KEY (kind, key)
) STRICT;
CREATE TABLE entitlements (
    kind TEXT NOT NULL, key TEXT NOT NULL, role TEXT NOT NULL, PRIMARY KEY (kind, key, role)
) STRICT;
CREATE TABLE epochs (number INTEGER PRIMARY KEY, began TEXT NOT NULL, reason TEXT NOT NULL) STRICT;
"""
_SECOND = """
ALTER TABLE releases ADD COLUMN failed TEXT;
CREATE TABLE events (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL, what TEXT NOT NULL,
    cause TEXT NOT NULL, statement TEXT NOT NULL
) STRICT;
"""
"""What version 2 adds."""
_APPEND_ONLY = """
CREATE TRIGGER {table}_no_{action} BEFORE {action} ON {table}
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END
"""


class SqliteFile:
    """One connection, used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it, readable by its owner only.

        Raises:
            ConfigError: it is not a ledger, or one of a newer dpsql.
        """
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"ledger {path} can't be opened: {error}") from error
        try:
            self._prepare(path)
        except sqlite3.Error as error:
            self._connection.close()
            raise ConfigError(f"ledger {path} can't be read: {error}") from error
        except ConfigError:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the connection, after whatever is going on."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for a query."""
        with self._lock:
            yield self._connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for one transaction that no other process's overlaps; it is durable once this returns."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _prepare(self, path: Path) -> None:
        # A rollback journal keeps every acknowledged charge in the one file that people back up. EXTRA syncs its
        # directory too: with FULL, a power cut just after the commit could bring the journal, and the past, back.
        self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.execute("PRAGMA synchronous = EXTRA")
        with self.write() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                _create(connection)
            if version in (0, 1):
                _upgrade(connection)
            elif version != _VERSION:
                raise ConfigError(f"ledger {path} has schema version {version}, this dpsql reads version {_VERSION}")


def _create(connection: sqlite3.Connection) -> None:
    _run(connection, _TABLES)
    _append_only(connection, "statements", "charges", "epochs")


def _upgrade(connection: sqlite3.Connection) -> None:
    """Make version 2 of version 1."""
    _run(connection, _SECOND)
    _append_only(connection, "events")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _run(connection: sqlite3.Connection, statements: str) -> None:
    for statement in filter(str.strip, statements.split(";")):
        connection.execute(statement)


def _append_only(connection: sqlite3.Connection, *tables: str) -> None:
    for table in tables:
        for action in ("UPDATE", "DELETE"):
            connection.execute(_APPEND_ONLY.format(table=table, action=action))
