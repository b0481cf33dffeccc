"""Files and directories of our own, in places where another account may have been before us.

New files have a mode of their own, for all umasks. Only plain files of ours are opened: an account that may write to a
directory can plant a link there, and root would write through it to any place. All raise `OSError`.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_ABOVE = 0o711
"""Of directories above: the account of the shadow has to pass through, and need not see what is there."""
_MODE = 0o600
# No link is followed in the last step of a path; no child inherits the file; and a pipe that was planted there does not keep
# us waiting for its other end.
_OURS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def make_directory(path: Path, mode: int = 0o700) -> None:
    """Make a directory unless there is one, and those above it that are missing."""
    missing = [step for step in (path, *path.parents) if not step.exists()]
    for step in reversed(missing):
        wanted = mode if step == path else _ABOVE
        try:
            step.mkdir(mode=wanted)
        except FileExistsError:  # somebody was faster, or it is a link that leads nowhere
            if step.is_dir():
                continue
            raise
        # The umask may have taken bits off the mode of mkdir. It is set by a descriptor: the name may lead elsewhere by now.
        descriptor = os.open(step, os.O_RDONLY | os.O_DIRECTORY | _OURS)
        try:
            os.fchmod(descriptor, wanted)
        finally:
            os.close(descriptor)


def open_private(path: Path, flags: int) -> int:
    """Open a plain file of ours that only we may read, or make one; return its descriptor."""
    try:
        # To truncate is left for later: first it has to be seen that the file is ours.
        opened = os.open(path, (flags & ~os.O_TRUNC) | _OURS, _MODE)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_ours(path, "is a symbolic link") from None
        raise
    try:
        status = os.fstat(opened)
        _require_private_file(path, status)
        if stat.S_IMODE(status.st_mode) != _MODE:
            os.fchmod(opened, _MODE)
        if flags & os.O_TRUNC:
            os.ftruncate(opened, 0)
    except OSError:
        os.close(opened)
        raise
    return opened


def require_private_directory(path: Path) -> None:
    """Return if nobody but us, or root, can put something into a directory, and no link of another's leads there."""
    for step in (*reversed(path.absolute().parents), path.absolute()):
        status = step.lstat()
        if stat.S_ISLNK(status.st_mode) and not _is_trusted(status):
            raise _not_ours(step, "is a link of another account's")
    status = path.stat()
    if not _is_trusted(status):
        raise _not_ours(path, "belongs to another account")
    if status.st_mode & stat.S_IWOTH:
        raise _not_ours(path, "may be written to by everybody")


def prepare_file(path: Path, beside: Iterable[str] = ()) -> None:
    """Make a file of ours unless there is one, for a library to open by its name, and files with these endings beside it."""
    make_directory(path.parent)
    require_private_directory(path.parent)
    os.close(open_private(path, os.O_RDWR | os.O_CREAT))
    for ending in beside:
        other = path.with_name(path.name + ending)
        with suppress(FileNotFoundError):  # another process that has it open may take it away at any moment
            _require_private_file(other, other.lstat())


def _require_private_file(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _not_ours(path, "is no plain file")
    # A second name: whoever may write to a directory on the same disk can link another file of ours to this name, and have us
    # write over it.
    if status.st_uid != os.geteuid() or status.st_nlink > 1:
        raise _not_ours(path, "belongs to another account, or has a second name")


def _is_trusted(status: os.stat_result) -> bool:
    return status.st_uid in (0, os.geteuid())


def _not_ours(path: Path, how: str) -> OSError:
    return PermissionError(errno.EPERM, f"{path} {how}")


# Directories that are gone when their process is: at once, or, where it was killed, with the next that makes one like it.

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
        # The kernel lets go of the lock when the process ends, however it ends: a lock that can be had is a dead process's.
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
            # Without O_CREAT: a directory that somebody is just making has no lock yet, and is left alone.
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
