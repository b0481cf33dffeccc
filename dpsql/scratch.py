"""Directories that are gone when their process is: at once, or, where it was killed, with the next that makes one like it."""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

_LOCK = "lock"


class Scratch:
    """A new directory of our own: `with Scratch("dpsql-demo-") as scratch: … scratch.path …`, or `remove` it."""

    def __init__(self, prefix: str, place: Path | None = None, mode: int = 0o700) -> None:
        """Make one below `place`, and remove those of dead processes of ours; None: where the system has such things.

        Raises:
            OSError: it can't be made.
        """
        where = Path(tempfile.gettempdir()) if place is None else place
        _sweep(where, prefix)
        self.path, self._lock = _claimed(where, prefix)
        self.path.chmod(mode)

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove it."""
        self.remove()

    def remove(self) -> None:
        """Remove the directory with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _claimed(where: Path, prefix: str) -> tuple[Path, int]:
    """Return a new directory and its lock, held as long as the process lives so that others see that it does."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
        lock = os.open(path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (path / _LOCK).exists():
            return path, lock
        os.close(lock)  # somebody swept it away before it was locked


def _sweep(where: Path, prefix: str) -> None:
    """Remove the directories whose processes are dead; where everybody may write, others' bear such names as well."""
    for folder in where.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            seen = folder.lstat()
            if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
