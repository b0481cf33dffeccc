"""The ledger's SQLite file: its tables, and transactions that survive a kill or a power cut at any moment."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dpsql.errors import ConfigError
from dpsql.privacy.ledger import Clock, DataSet

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
CREATE TABLE owners (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, ledger TEXT NOT NULL, dataset TEXT NOT NULL, source TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
DELETE FROM releases;
DELETE FROM entitlements;
"""
"""What version 2 adds; whose the releases of version 1 are it does not know."""
_MADE, _TAKEN_OVER = "made", "taken over"
_OWNER = """
SELECT ledger, dataset, source, EXISTS (SELECT 1 FROM owners WHERE reason = 'taken over')
FROM owners ORDER BY id DESC LIMIT 1
"""
_NEW_OWNER = """
INSERT INTO owners (ledger, time, dataset, source, reason)
SELECT coalesce((SELECT min(ledger) FROM owners), lower(hex(randomblob(16)))), ?, ?, ?, ?
"""
_APPEND_ONLY = """
CREATE TRIGGER {table}_no_{action} BEFORE {action} ON {table}
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END
"""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose ledger a file is."""

    ledger: str
    """The ledger's own identity, drawn when it was made."""
    dataset: DataSet
    inherited: bool
    """Whether it was kept before ledgers belonged to data sets, perhaps for several."""


class SqliteFile:
    """One connection, used by one thread at a time."""

    def __init__(self, path: Path, dataset: DataSet, clock: Clock, *, adopt: bool = False) -> None:
        """Open the file of a data set, or make it, readable by its owner only.

        Raises:
            ConfigError: it is not a ledger, one of a newer dpsql, or another data set's.
        """
        self._lock = threading.Lock()
        self.identity = ""
        """What no other ledger has, nor this one for another data set."""
        self.adopted: DataSet | None = None
        """Whose it was until it was opened."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"ledger {path} can't be opened: {error}") from error
        try:
            self._prepare(path, dataset, clock().astimezone(UTC), adopt=adopt)
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

    def _prepare(self, path: Path, dataset: DataSet, now: datetime, *, adopt: bool) -> None:
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
                _own(connection, dataset, now, _MADE if version == 0 else _TAKEN_OVER)
            elif version != _VERSION:
                raise ConfigError(f"ledger {path} has schema version {version}, this dpsql reads version {_VERSION}")
            owner = _owner(connection)
            if owner is None:
                raise ConfigError(f"ledger {path} belongs to no data set: somebody has changed it")
            if owner.dataset != dataset:
                if not adopt:
                    raise _of_another(path, owner.dataset, dataset)
                self.adopted = owner.dataset
                _own(connection, dataset, now, "adopted")
            self.identity = f"{owner.ledger} {dataset.name} {dataset.source}"


def owner_of(path: Path) -> Owner | None:
    """Return whose ledger a file is; None if it is of a time before ledgers belonged to data sets.

    Raises:
        ConfigError: it can't be read.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            return _owner(connection) if version > 1 else None
    except sqlite3.Error as error:
        raise ConfigError(f"ledger {path} can't be read: {error}") from error


def _owner(connection: sqlite3.Connection) -> Owner | None:
    row = connection.execute(_OWNER).fetchone()
    return row and Owner(row[0], DataSet(row[1], row[2]), inherited=bool(row[3]))


def _own(connection: sqlite3.Connection, dataset: DataSet, now: datetime, reason: str) -> None:
    """Write whose ledger it is from now on; its own identity is drawn once."""
    connection.execute(_NEW_OWNER, (now.isoformat(), dataset.name, dataset.source, reason))


def _of_another(path: Path, theirs: DataSet, ours: DataSet) -> ConfigError:
    wrong = f'the data set "{theirs.name}", not of "{ours.name}"'
    if theirs.name == ours.name:
        wrong = f"{theirs.source}, not of {ours.source}"
    return ConfigError(
        f"ledger {path} is that of {wrong}",
        hint="Give each data set a ledger of its own. If the same records have another name or place now: dpsql adopt",
    )


def _create(connection: sqlite3.Connection) -> None:
    _run(connection, _TABLES)
    _append_only(connection, "statements", "charges", "epochs")


def _upgrade(connection: sqlite3.Connection) -> None:
    """Make version 2 of version 1."""
    _run(connection, _SECOND)
    _append_only(connection, "events", "owners")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _run(connection: sqlite3.Connection, statements: str) -> None:
    for statement in filter(str.strip, statements.split(";")):
        connection.execute(statement)


def _append_only(connection: sqlite3.Connection, *tables: str) -> None:
    for table in tables:
        for action in ("UPDATE", "DELETE"):
            connection.execute(_APPEND_ONLY.format(table=table, action=action))
