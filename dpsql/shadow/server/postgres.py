"""The shadow's PostgreSQL server: a child process with a private socket, kept in a directory that is only a cache.

Start it from a thread that lives as long as the server is wanted: on Linux the kernel stops it with that thread.
"""

import logging
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

from psycopg.conninfo import make_conninfo

from dpsql.errors import ConfigError
from dpsql.libpq import OWN
from dpsql.shadow.server import binaries as programs
from dpsql.shadow.server import child, cluster, orphan, place
from dpsql.shadow.server.account import SystemAccount
from dpsql.shadow.server.binaries import Binaries
from dpsql.shadow.server.cluster import OWNER
from dpsql.shadow.server.place import Place
from dpsql.shadow.server.sandbox import Sandbox

__all__ = ["OWNER", "Postgres", "ShadowAddress"]

_LOG = logging.getLogger("dpsql.shadow")
_PORT = 5432
_CONNECTIONS = 340
"""For clients 290, for what planning asks and dpsql itself 10; 40 for those of planning that were left behind."""
_PATIENCE = 30.0  # seconds to start
_ORDERLY, _AT_ONCE = 10.0, 5.0  # seconds to stop
_POLL = 0.005
_READY_LINE = 7  # of postmaster.pid


@dataclass(frozen=True, slots=True)
class ShadowAddress:
    """Where the shadow listens: a directory of sockets, and the port in the socket's name; and what opens it."""

    directory: str
    secret: str = field(repr=False)
    """The password of every role."""
    port: int = _PORT

    @property
    def path(self) -> str:
        """Return the socket's own path."""
        return f"{self.directory}/.s.PGSQL.{self.port}"


class Postgres:
    """A running server; `stop` it, or let it stop with us."""

    def __init__(self, where: Place, installed: Binaries, sandbox: Sandbox, lock: IO[str], secret: str) -> None:
        self.sandbox = sandbox
        self.address = ShadowAddress(str(where.sockets), secret)
        self._place, self._installed, self._lock = where, installed, lock
        self._child = self._launch()

    @classmethod
    def start(cls, directory: Path, *, account: str | None = None, sandbox: Sandbox | None = None) -> Self:
        """Start the server whose files are (or will be) in `directory`, in the best sandbox that the kernel has.

        Raises:
            ConfigError: when there is no PostgreSQL, another dpsql uses the directory, or the server does not start.
        """
        who = SystemAccount.for_server(account)
        home = place.home_of(directory, who)
        lock = place.lock(home)
        try:
            installed = programs.executable_for(who, programs.find_binaries(), home)
            where = Place.prepare(home, who)
            _end_orphan(where)
            server = cls(
                where, installed, sandbox or Sandbox.of_kernel(), lock, cluster.ensure_cluster(where, installed)
            )
        except BaseException:
            lock.close()
            raise
        if server._is_ready_in_time():
            return server
        server.stop()
        raise server._failure()

    @property
    def pid(self) -> int:
        """Return the server's process id."""
        return self._child.pid

    @property
    def home(self) -> Path:
        """Return the directory that all its files are in."""
        return self._place.home

    @property
    def alive(self) -> bool:
        """Return whether the server still runs."""
        return self._child.poll() is None

    def restart(self) -> None:
        """Start a server that died again, at the same address.

        Raises:
            ConfigError: when it does not start.
        """
        _end_orphan(self._place)
        self._child = self._launch()
        if not self._is_ready_in_time():
            raise self._failure()

    def dsn(self, database: str, user: str = OWNER) -> str:
        """Return how its owner, or another user, connects, whatever the environment tells libpq."""
        where = self.address
        return make_conninfo(
            "", host=where.directory, port=where.port, user=user, password=where.secret, dbname=database, **OWN
        )

    def stop(self) -> None:
        """Stop it, at first in order; return when it is gone, and its sessions with it."""
        for kind, patience in ((signal.SIGINT, _ORDERLY), (signal.SIGQUIT, _AT_ONCE), (signal.SIGKILL, None)):
            if not self.alive:
                break
            self._child.send_signal(kind)
            try:
                self._child.wait(patience)
            except subprocess.TimeoutExpired:
                _LOG.warning("the shadow does not stop at %s", kind.name)
        _end_orphan(self._place)
        self._place.clear()
        self._lock.close()

    def _launch(self) -> subprocess.Popen[bytes]:
        return child.start(self._place, self._installed, self.sandbox, _CONNECTIONS)

    def _is_ready_in_time(self) -> bool:
        deadline = time.monotonic() + _PATIENCE
        while self.alive and time.monotonic() < deadline:
            if _is_ready(self._place.data / "postmaster.pid", self.pid):
                return True
            time.sleep(_POLL)
        return False

    def _failure(self) -> ConfigError:
        log = self._place.log
        _LOG.error("the shadow did not start: %s", place.last_words(log))
        return ConfigError("the shadow PostgreSQL did not start", hint=f"Its log is {log}.")


def _end_orphan(where: Place) -> None:
    who = where.account
    if who is None:
        orphan.stop(where.data)
    else:
        orphan.stop(where.data, who.uid, who.gid)


def _is_ready(pid_file: Path, pid: int) -> bool:
    lines = place.read_foreign(pid_file).splitlines()
    return len(lines) > _READY_LINE and lines[0] == str(pid) and lines[_READY_LINE].strip() == "ready"
