"""Servers for tests, from a copy of one cluster: `initdb` takes most of the time of a server's first start.

The cluster is made once in a run of the tests, by the product itself; what tests how it is made starts without a copy.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from dpsql.shadow import place
from dpsql.shadow.account import SystemAccount
from dpsql.shadow.postgres import Postgres

_RUN = "DPSQL_TESTS_CLUSTER"
"""The variable of the environment that names the directory of the run's cluster."""
_PARTS = ("data", "cluster")


def begin() -> None:
    """Let the processes of this run share a cluster; the one that begins has to `end`."""
    os.environ[_RUN] = tempfile.mkdtemp(prefix="dpsql-cluster-")
    Path(os.environ[_RUN]).chmod(0o711)


def end() -> None:
    """Remove the cluster."""
    shutil.rmtree(os.environ.pop(_RUN), ignore_errors=True)


def start(directory: Path) -> Postgres:
    """Start a server whose files are (or will be) in `directory`, as `Postgres.start` does, but sooner."""
    prepare(directory)
    return Postgres.start(directory)


def prepare(directory: Path) -> None:
    """Put a cluster into the directory of a shadow that is yet to be started, unless one is there."""
    if _RUN not in os.environ:
        return
    home = place.home_of(directory, SystemAccount.for_server(None))
    if not (home / "cluster").exists():
        _copy(_made(Path(os.environ[_RUN])), home)


def _made(run: Path) -> Path:
    """Return the directory with the run's cluster, which the first who asks makes."""
    done = run / "done"
    with (run / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            Postgres.start(run / "made").stop()
            done.mkdir()
            _copy(run / "made", done)
    return done


def _copy(home: Path, target: Path) -> None:
    """Copy what a server starts from, with its owner."""
    subprocess.run(["cp", "-a", *(home / part for part in _PARTS), target], check=True)  # noqa: S603, S607
