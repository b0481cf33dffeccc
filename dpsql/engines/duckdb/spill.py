"""Where DuckDB puts what does not fit into memory: a private directory a process, which does not outlive it for long.

What is spilled are records. The directory is emptied when the engine closes; after a kill the next one to open there does it.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from dpsql.errors import ConfigError

_LOCK = "lock"


class Spill:
    """A directory for spilled records that nobody else may enter."""

    def __init__(self, place: Path | None) -> None:
        """Make a directory below `place`, and remove what dead processes left there; None: the system's place.

        Raises:
            ConfigError: it can't be made.
        """
        try:
            if place is not None:
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
                _sweep(place)
            self.path, self._lock = _claimed(place)
        except OSError as error:
            raise ConfigError(
                f"spilled records have no place at {place or tempfile.gettempdir()}: {error.strerror}",
                hint="engine.spill names a directory that dpsql may make and write to.",
            ) from None

    def remove(self) -> None:
        """Remove the directory with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _claimed(place: Path | None) -> tuple[Path, int]:
    """Return a new directory and its lock, held as long as the process lives so that others see that it does."""
    while True:
        path = Path(tempfile.mkdtemp(prefix="spill-", dir=place))
        lock = os.open(path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (path / _LOCK).exists():
            return path, lock
        os.close(lock)  # somebody swept it away before it was locked


def _sweep(place: Path) -> None:
    """Remove the directories whose processes are dead."""
    for found in place.glob("spill-*"):
        try:
            lock = os.open(found / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(found, ignore_errors=True)
        except OSError:
            pass  # somebody works there
        finally:
            os.close(lock)
