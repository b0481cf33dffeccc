"""Upkeep of a ledger's file: copying it while it is written, checking that it is whole, putting a copy back."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dpsql.accounting.ledger import Entry
from dpsql.accounting.sql import lines
from dpsql.accounting.sql.opening import LedgerExamination, Owner, examine_lines, read_mark, read_owner, wrong_lines
from dpsql.accounting.sqlite.schema import APPEND_ONLY, VERSION, upgrade
from dpsql.errors import ConfigError
from dpsql.private_files import open_private

_BESIDE = ("-wal", "-shm", "-journal")
_PAGES = 1000
"""Pages that are copied at a time: those who charge meanwhile wait no longer."""


def copy_ledger(path: Path, target: Path) -> None:
    """Copy a ledger, which may be written meanwhile, to a file that only we may read; it is on the disk once this returns.

    Raises:
        ConfigError: there is no ledger to be read, or something is at `target` already.
        OSError: the copy can't be written.
    """
    if os.path.lexists(target):
        raise ConfigError(f"{target} is there already, and may be the only copy", hint="Name another file, or move it.")
    new = target.with_name(f"{target.name}.new")
    new.unlink(missing_ok=True)
    os.close(open_private(new, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    try:
        with _reading(path) as ledger, closing(sqlite3.connect(new)) as copy:
            ledger.backup(copy, pages=_PAGES)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file is all of it
        _sync(new)
        new.rename(target)
        _sync(target.parent)
    except sqlite3.Error as error:
        raise ConfigError(f"ledger {path} can't be copied to {target}: {error}") from error
    finally:
        new.unlink(missing_ok=True)


def owner_of(path: Path) -> Owner | None:
    """Return whose ledger a file is; None if it is of a time before ledgers belonged to data sets.

    Raises:
        ConfigError: it can't be read.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            return read_owner(connection) if version > 1 else None
    except sqlite3.Error as error:
        raise ConfigError(f"ledger {path} can't be read: {error}") from error


def examine(path: Path) -> LedgerExamination:
    """Return what a ledger's file holds, and whether all of it is as it was written, by this dpsql or an earlier one.

    Raises:
        ConfigError: it can't be read, or is no ledger.
    """
    try:
        with _brought_up(path) as ledger:
            recorded = read_owner(ledger)
            if recorded is None:
                raise ConfigError(f"{path} belongs to no data set", hint="dpsql serve opens it, and makes it its own.")
            return examine_lines(ledger, recorded, tuple(_wrong(ledger)))
    except sqlite3.Error as error:
        raise ConfigError(f"ledger {path} can't be read: {error}") from error


def missing_charges_of(path: Path, examined_ledger: LedgerExamination, *, looking: bool = True) -> int | None:
    """Return how many charges the `examined_ledger` lacks of the ledger that belongs at `path`; None if it is of another one.

    The mark there tells, and unless nobody is `looking` the ledger itself.

    Raises:
        ConfigError: the ledger can't be read.
    """
    last = read_mark(path)
    marks = [] if last is None else [(last.ledger, last.lines)]
    if looking and path.exists():
        there = examine(path)
        marks.append((there.ledger, there.charges))
    if any(ledger != examined_ledger.ledger for ledger, _ in marks):
        return None
    return max([0, *(number - examined_ledger.charges for _, number in marks)])


def newest_lines(path: Path, role: str | None, limit: int) -> tuple[Entry, ...]:
    """Return a ledger's newest lines first, of one role or of all.

    Raises:
        ConfigError: it can't be read.
    """
    try:
        with _brought_up(path) as ledger:
            return lines.newest_lines(ledger, role, limit)
    except sqlite3.Error as error:
        raise ConfigError(f"ledger {path} can't be read: {error}") from error


def put_back(copy: Path, path: Path, aside: str) -> tuple[Path, ...]:
    """Replace a ledger by a copy; return where the files are that were there, whose names end with `aside` now.

    A kill leaves the old one, or none at all, which the mark tells.

    Raises:
        ConfigError: a process has the ledger open, or the copy can't be read.
        OSError: it can't be written.
    """
    new = path.with_name(f"{path.name}.restored")
    new.unlink(missing_ok=True)
    copy_ledger(copy, new)
    moved = []
    try:
        with _alone(path):
            for ending in ("", *_BESIDE):
                file = path.with_name(path.name + ending)
                if file.exists():
                    moved.append(file.rename(file.with_name(f"{path.name}{aside}{ending}")))
            new.rename(path)
            _sync(path.parent)
    finally:
        new.unlink(missing_ok=True)
    return tuple(moved)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a ledger so that nobody else can have it open.

    Raises:
        ConfigError: somebody has.
    """
    if not path.exists():
        yield
        return
    with closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as held:
        try:
            held.execute("PRAGMA locking_mode = EXCLUSIVE")
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise ConfigError(f"a process has the ledger {path} open", hint="Stop dpsql serve first.") from None
            raise ConfigError(f"ledger {path} can't be read: {error}") from error
        except sqlite3.DatabaseError:
            pass  # what is no ledger any more is what a copy is put back for
        yield


def _wrong(ledger: sqlite3.Connection) -> Iterator[str]:
    """Yield what is not as dpsql writes it."""
    said = [str(row[0]) for row in ledger.execute("PRAGMA integrity_check")]
    yield from (line for line in said if line != "ok")
    if lost := len(ledger.execute("PRAGMA foreign_key_check").fetchall()):
        yield f"{lost} charges are of no statement"
    triggers = {row[0] for row in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    if gone := sorted(APPEND_ONLY - triggers):
        yield f"lines can be changed: these triggers are gone: {', '.join(gone)}"
    yield from wrong_lines(ledger)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise ConfigError(f"there is no ledger {path}")
    os.close(open_private(path, os.O_RDONLY))
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=60)) as opened:
        yield opened


@contextmanager
def _brought_up(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a ledger as a ledger of this version: the file stays what it is, and what is changed is a copy of our own.

    Raises:
        ConfigError: it is no ledger, or a later dpsql's.
    """
    with _reading(path) as ledger:
        (version,) = ledger.execute("PRAGMA user_version").fetchone()
        if not 1 <= version <= VERSION:
            raise ConfigError(
                f"{path} is no ledger of version {VERSION} or before, but of {version}",
                hint="A later dpsql wrote it: use that one." if version else None,
            )
        if version == VERSION:
            yield ledger
            return
        # Without a name it is in memory, and on the disk as far as it is large, where nobody else can open it.
        with closing(sqlite3.connect("")) as copy:
            ledger.backup(copy)
            upgrade(copy, version)
            yield copy


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
