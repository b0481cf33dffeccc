"""The shadow's directory: whose each file in it is, and how root touches none that another account could have planted.

The directory itself, the lock, the log and what the server is told are ours; only `data` and `sockets` are the
server's account's. Everything in those two is done by that account, or goes by names that follow no link.
"""

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dpsql.errors import ConfigError
from dpsql.private_files import make_directory, open_private
from dpsql.shadow.server.binaries import SystemAccount, reachable

_ELSEWHERE = Path("/var/cache/dpsql")
_SOCKET_LIMIT = 90  # of the 104 to 108 bytes that a socket's path may have
_ADMITTED = "local all all password\n"
_SMALL = 4096  # bytes


@dataclass(frozen=True, slots=True)
class Place:
    """The directory of one shadow, and the account of its server."""

    home: Path
    account: SystemAccount | None
    """None: our own."""
    sockets: Path

    @property
    def data(self) -> Path:
        """Return the server's own directory."""
        return self.home / "data"

    @property
    def log(self) -> Path:
        """Return the file that the server writes to, but can't open."""
        return self.home / "log"

    @property
    def cluster(self) -> Path:
        """Return the file that says what `data` was made by, and the secret of the log-in."""
        return self.home / "cluster"

    @property
    def admitted(self) -> Path:
        """Return the file that says who may log in how."""
        return self.home / "pg_hba.conf"

    @property
    def identities(self) -> Path:
        """Return the file that maps accounts to roles; it is empty."""
        return self.home / "pg_ident.conf"

    @classmethod
    def prepare(cls, home: Path, account: SystemAccount | None) -> "Place":
        """Make what the server finds when it starts, but for its data."""
        place = cls(home, account, _sockets(home, account))
        write_for(account, place.admitted, _ADMITTED)
        write_for(account, place.identities, "")
        return place

    def clear(self) -> None:
        """Remove the sockets' directory."""
        shutil.rmtree(self.sockets, ignore_errors=True)
        if self.sockets.parent != self.home:
            shutil.rmtree(self.sockets.parent, ignore_errors=True)


def home_of(directory: Path, account: SystemAccount | None) -> Path:
    """Return where the server's files go: `directory`, or another that `account` can reach and only root can replace.

    Raises:
        ConfigError: the directory belongs to others, who could put links into it.
    """
    try:
        return _home(directory, account)
    except OSError as error:
        raise ConfigError(
            f"the shadow has no place at {directory}: {error.strerror}",
            hint="state names a directory that dpsql may make and write to; shadow.directory names the shadow's alone.",
        ) from None


def _home(directory: Path, account: SystemAccount | None) -> Path:
    if account is not None and not _is_fit(directory.absolute().parent):
        name = hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:16]
        _ELSEWHERE.mkdir(parents=True, exist_ok=True)
        _ELSEWHERE.chmod(0o755)
        directory = _ELSEWHERE / f"shadow-{name}"
    make_directory(directory)
    home = directory.resolve()
    if home.stat().st_uid != os.geteuid():
        raise ConfigError(
            f"the shadow's directory {home} belongs to another account",
            hint="Delete it: it is a cache, and made again.",
        )
    home.chmod(0o700 if account is None else 0o711)
    return home


def _is_fit(parent: Path) -> bool:
    """Return whether any account may pass through a directory, made if need be, and nobody but root replace it."""
    there = next(step for step in (parent, *parent.parents) if step.exists()).resolve()
    steps = [step.stat() for step in (there, *there.parents)]
    roots = all(step.st_uid == 0 and (step.st_mode & stat.S_ISVTX or not step.st_mode & 0o022) for step in steps)
    if not roots or not reachable(there):
        return False
    make_directory(parent, 0o711)
    return reachable(parent)


def lock(home: Path) -> IO[str]:
    """Keep other dpsqls out of the directory, until the file is closed.

    Raises:
        ConfigError: another is there.
    """
    locked = os.fdopen(open_private(home / "lock", os.O_WRONLY | os.O_CREAT), "w")
    try:
        fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        locked.close()
        raise ConfigError(
            f"another dpsql uses the shadow directory {home}", hint="Stop it, or name another directory."
        ) from None
    return locked


def directory_for(account: SystemAccount | None, path: Path) -> None:
    """Make a new directory that is `account`'s alone, in one that is ours."""
    path.mkdir(mode=0o700)
    if account is not None:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def write_for(account: SystemAccount | None, path: Path, text: str) -> None:
    """Write a file, in a directory of ours, that `account` may read and nobody but us may change."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
        if account is not None:
            os.fchown(file.fileno(), os.geteuid(), account.gid)
        os.fchmod(file.fileno(), 0o600 if account is None else 0o640)
        file.write(text)


def read_foreign(path: Path) -> str:
    """Return the beginning of a plain file of another account's; nothing, if it is none or a link.

    The text may be compared, and never shown: the other account could have linked it to any file.
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return ""
        return file.read(_SMALL).decode(errors="replace")


def last_words(log: Path) -> str:
    """Return the end of the server's log; all code in the server can write there, also commands that terminals obey."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _SMALL))
        said = file.read(_SMALL).decode(errors="replace")
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in said)


def _sockets(home: Path, account: SystemAccount | None) -> Path:
    """Return an empty directory that only the server's account enters, with a path short enough for a socket."""
    sockets = home / "sockets"
    if len(os.fsencode(sockets)) > _SOCKET_LIMIT:
        above = _short(home)
        sockets = above / "s"
    else:
        shutil.rmtree(sockets, ignore_errors=True)
    directory_for(account, sockets)
    return sockets


def _short(home: Path) -> Path:
    """Return an empty directory with a short path; the same one for a home, so that a kill leaves no more than one behind."""
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    above = Path("/tmp") / f"dpsql-{name}"  # noqa: S108 # TMPDIR may be too long as well
    if os.path.lexists(above) and above.lstat().st_uid == os.geteuid() and not above.is_symlink():
        shutil.rmtree(above, ignore_errors=True)
    try:
        above.mkdir(mode=0o711)
    except FileExistsError:  # somebody else's
        above = Path(tempfile.mkdtemp(prefix="dpsql-", dir="/tmp"))
    above.chmod(0o711)
    return above
