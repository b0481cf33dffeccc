"""Servers for tests, from copies of a few clusters: `initdb` takes most of the time of a server's first start.

Each is made once in a run of the tests, by the product itself; what tests how it is made starts without a copy.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from dpsql.shadow.server import directory as server_directory
from dpsql.shadow.server.directory import SystemAccount
from dpsql.shadow.server.postgres import Postgres

_RUN = "DPSQL_TESTS_CLUSTER"
"""The variable of the environment that names the directory of the run's clusters."""
_OWNER = "owner"
"""The file in it with the number of the process that began the run."""
_PARTS = ("data", "cluster")

Make = Callable[[Path], Path]
"""Makes a server's files somewhere in an empty directory, leaves no server running, and returns where they are."""


def begin() -> None:
    """Let the processes of this run share clusters; the one that begins has to `end`."""
    os.environ[_RUN] = tempfile.mkdtemp(prefix="dpsql-cluster-")
    Path(os.environ[_RUN]).chmod(0o711)
    (Path(os.environ[_RUN]) / _OWNER).write_text(str(os.getpid()))


def run() -> Path | None:
    """Return the directory of what the processes of this run share, if there is a run."""
    return Path(os.environ[_RUN]) if _RUN in os.environ else None


def owner(run: Path) -> int:
    """Return the process that ends last."""
    return int((run / _OWNER).read_text())


def end() -> None:
    """Remove them."""
    shutil.rmtree(os.environ.pop(_RUN), ignore_errors=True)


def empty(place: Path) -> Path:
    """Make a cluster with no database of ours."""
    Postgres.start(place / "shadow").stop()
    return place / "shadow"


def start(directory: Path, make: Make = empty) -> Postgres:
    """Start a server whose files are (or will be) in `directory`, as `Postgres.start` does, but sooner."""
    prepare(directory, make)
    return Postgres.start(directory)


def prepare(directory: Path, make: Make = empty) -> None:
    """Put a copy of what `make` makes into the directory of a server that is yet to be started, unless one is there."""
    shared = run()
    if shared is None:
        return
    home = server_directory.home_of(directory, SystemAccount.for_server(None))
    if not (home / "cluster").exists():
        _copy(_made(shared, make), home)


def _made(run: Path, make: Make) -> Path:
    """Return the directory with one of the run's clusters, which the first who asks makes."""
    name = f"{make.__module__}.{make.__qualname__}"
    done = run / name
    with (run / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            work = run / f"{name}.work"
            work.mkdir()
            work.chmod(0o711)
            make(work).rename(done)
    return done


def _copy(home: Path, target: Path) -> None:
    """Copy what a server starts from, with its owner."""
    subprocess.run(["cp", "-a", *(home / part for part in _PARTS), target], check=True)  # noqa: S603, S607
