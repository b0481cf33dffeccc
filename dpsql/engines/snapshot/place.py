"""The directory of a copy: the file that is served, with its parts, named by a manifest, and perhaps what is being written.

Promise: nothing half written is ever used. A file counts from the moment at which the manifest that names it has taken
the earlier one's place, by a rename; it lay on the disk whole before. The files that a killed process has left go when
a copy is opened or written next. They are records: the directory and all in it belong to our account alone.
"""

import contextlib
import fcntl
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from dpsql.engines.snapshot.manifest import Manifest, Origin, name_at
from dpsql.errors import ConfigError
from dpsql.private_files import make_directory

_LOG = logging.getLogger("dpsql.engine")
_MANIFEST, _LOCK = "manifest.json", "lock"
_WHOLE = "whole"
"""A file that says that the next copy is to have nothing of the one before."""
_PATIENCE, _AGAIN = 1.0, 0.02
"""Seconds until a lock that is held is one of a writer, and until it is tried again."""
_HINT = "state names a directory that dpsql may make and write to."


class SnapshotBusy(ConfigError, sqlstate="F0000"):
    """Another process is writing a copy."""


class SnapshotPlace:
    """Where a data set's copy is."""

    def __init__(self, directory: Path) -> None:
        """Make the directory if there is none.

        Raises:
            ConfigError: it can't be made, or belongs to somebody else.
        """
        self.directory = directory
        try:
            make_directory(directory.parent)
            make_directory(directory)
            status = directory.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                raise ConfigError(f"the snapshot's directory {directory} belongs to another account, or is none")
            if status.st_mode & 0o077:
                directory.chmod(0o700)
        except OSError as error:
            raise ConfigError(f"the snapshot has no place at {directory}: {error.strerror}", hint=_HINT) from None

    def new_name(self, now: datetime) -> str:
        """Return what a copy is called that is begun now: whatever the clock says, no name is given twice."""
        last = self.last()
        return name_at(now if last is None else max(now, last.named_at + timedelta(microseconds=1)))

    def file(self, name: str) -> Path:
        """Return where the copy of a name is."""
        return self.directory / f"{name}.duckdb"

    def current(self, origin: Origin) -> Manifest | None:
        """Return the copy that may be used; None if there is none of this origin, or somebody has changed it."""
        manifest = self.last()
        if manifest is None or manifest.origin != origin:
            return None
        for name, state in manifest.files.items():
            wrong = _wrong(self.file(name), state)
            if wrong is not None:
                _LOG.warning("the snapshot %s is not used: %s", self.file(name), wrong)
                return None
        return manifest

    def last(self) -> Manifest | None:
        """Return the copy that was finished last, of any records; None if there is none."""
        try:
            return Manifest.from_bytes((self.directory / _MANIFEST).read_bytes())
        except OSError:
            return None

    def demand_whole(self) -> None:
        """Let the next copy read all of the records again, also what was copied in parts.

        Raises:
            ConfigError: it can't be written.
        """
        try:
            os.close(os.open(self.directory / _WHOLE, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise ConfigError(
                f"the snapshot's directory {self.directory} can't be written to: {error.strerror}"
            ) from None

    @property
    def is_whole_demanded(self) -> bool:
        """Return whether the next copy is to read all of the records again."""
        return (self.directory / _WHOLE).exists()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other writers away, also those of other processes, and remove what dead ones have left.

        Raises:
            SnapshotBusy: there is one.
        """
        lock = os.open(self.directory / _LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            self._take(lock)
            self._sweep()
            try:
                yield
            finally:
                self._sweep()
        finally:
            os.close(lock)

    def tidy(self) -> None:
        """Remove what dead writers have left, unless somebody is writing."""
        with contextlib.suppress(SnapshotBusy), self.writing():
            pass

    def _take(self, lock: int) -> None:
        """Take the lock; who only tidies gives it back in a moment."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(_AGAIN)
                    continue
                raise SnapshotBusy(
                    f"another dpsql is writing a snapshot in {self.directory}", hint="Wait until it is done."
                ) from None
            return

    def switch(self, manifest: Manifest, *, whole: bool = False) -> None:
        """Let a copy that is finished take the place of the one before; readers of that one may go on.

        `whole` says that nothing of it is of the one before.
        """
        fresh = self.directory / f"{_MANIFEST}.new"
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(manifest.to_bytes())
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(self.directory / _MANIFEST)
        if whole:
            (self.directory / _WHOLE).unlink(missing_ok=True)
        directory = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _sweep(self) -> None:
        """Remove all but the files that the manifest names."""
        last = self.last()
        kept = {_MANIFEST, _LOCK, _WHOLE, *(() if last is None else (self.file(name).name for name in last.files))}
        for entry in self.directory.iterdir():
            if entry.name not in kept:
                with contextlib.suppress(OSError):
                    entry.unlink()


def _wrong(file: Path, state: tuple[int, int]) -> str | None:
    """Return why a file is not the copy that dpsql wrote."""
    try:
        status = file.lstat()
    except OSError as error:
        return str(error.strerror)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        return "others may read it, or it is not ours"
    if (status.st_size, status.st_mtime_ns) != state:
        return "somebody has changed it"
    return None
