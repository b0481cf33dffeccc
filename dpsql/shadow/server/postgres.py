"""The shadow's PostgreSQL server: a child process with a private socket, kept in a directory that is only a cache.

Start it from a thread that lives as long as the server is wanted: on Linux the kernel stops it with that thread.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

from psycopg.conninfo import make_conninfo

from dpsql.errors import ConfigError
from dpsql.libpq import OWN
from dpsql.private_files import open_private
from dpsql.shadow.server import cluster, launch, orphan
from dpsql.shadow.server import directory as programs
from dpsql.shadow.server import directory as server_directory
from dpsql.shadow.server.cluster import FAST_SECRETS, OWNER
from dpsql.shadow.server.directory import Binaries, ShadowDirectory, SystemAccount
from dpsql.shadow.server.sandbox import Ruleset, Sandbox, filter_program, landlock_ruleset

# Starts the shadow's server as a child process, with all its settings on the command line: it can't change them itself.

_SESSION_MEMORY = 2 * 1024**3  # address space of one session

# Why these: it is a cache, so nothing waits for a disk (fsync to wal_buffers); no client's words shall be in a log or in a
# view that others read (log_…, track_…); a session loads no code and listens nowhere; and one process a session is all that
# its user gets (jit, parallel workers).
_SETTINGS = """
listen_addresses =
unix_socket_permissions = 0700
shared_preload_libraries =
session_preload_libraries =
local_preload_libraries =
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_prepared_transactions = 0
shared_buffers = 32MB
dynamic_shared_memory_type = mmap
huge_pages = off
wal_buffers = 1MB
min_wal_size = 32MB
max_wal_size = 64MB
temp_file_limit = 1GB
autovacuum = off
jit = off
max_parallel_workers = 0
max_parallel_workers_per_gather = 0
logging_collector = off
log_min_messages = fatal
log_min_error_statement = panic
track_activities = off
track_counts = off
timezone = UTC
"""


def start_server(
    place: ShadowDirectory, installed: Binaries, sandbox: Sandbox, connections: int
) -> subprocess.Popen[bytes]:
    """Start the server; it may not be ready yet, nor live for long."""
    with os.fdopen(open_private(place.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as output:
        return subprocess.Popen(  # noqa: S603
            [
                sys.executable,
                "-I",
                "-S",
                launch.__file__,
                json.dumps(_launch_plan(place, installed, sandbox, connections)),
            ],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _launch_plan(place: ShadowDirectory, installed: Binaries, sandbox: Sandbox, connections: int) -> launch.LaunchPlan:
    program = installed.directory / "postgres"
    rules = Ruleset(b"", ())
    if sandbox.landlock:
        read = (place.admitted, place.identities)
        rules = landlock_ruleset(sandbox.landlock, program, read=read, data=place.data, sockets=place.sockets)
    settings = [part for setting in _settings(place, installed, connections) for part in ("-c", setting)]
    return launch.LaunchPlan(
        uid=-1 if place.account is None else place.account.uid,
        gid=-1 if place.account is None else place.account.gid,
        parent=os.getpid(),
        memory=_SESSION_MEMORY,
        ruleset=rules.attributes.hex(),
        rules=list(rules.rules),
        filter=filter_program(sandbox.landlock).hex() if sandbox.filtered else "",
        environment={},
        program=[str(program), "-D", str(place.data), *settings],
    )


def _settings(place: ShadowDirectory, installed: Binaries, connections: int) -> Iterator[str]:
    yield from (line.replace(" = ", "=").replace(" =", "=") for line in _SETTINGS.split("\n") if line)
    yield f"unix_socket_directories={place.sockets}"
    yield f"hba_file={place.admitted}"
    yield f"ident_file={place.identities}"
    yield f"max_connections={connections}"
    if installed.major >= FAST_SECRETS:
        yield "scram_iterations=1"


# The server, which is started, restarted and stopped.

__all__ = ["OWNER", "Postgres", "ShadowAddress"]

_LOG = logging.getLogger("dpsql.shadow")
_PORT = 5432
_CONNECTIONS = 340
"""For clients 290, for what planning asks and dpsql itself 10; 40 for those of planning that were left behind."""
_START_PATIENCE = 30.0  # seconds to start
_ORDERLY, _AT_ONCE = 10.0, 5.0  # seconds to stop
_START_POLL = 0.005
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

    def __init__(
        self, where: ShadowDirectory, installed: Binaries, sandbox: Sandbox, lock: IO[str], secret: str
    ) -> None:
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
        # The order matters: nothing in the directory is touched before it is locked, and what an earlier dpsql left running
        # there is ended before a server starts on its files.
        who = SystemAccount.for_server(account)
        home = server_directory.home_of(directory, who)
        lock = server_directory.lock(home)
        try:
            installed = programs.executable_for(who, programs.find_binaries(), home)
            where = ShadowDirectory.prepare(home, who)
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
        return start_server(self._place, self._installed, self.sandbox, _CONNECTIONS)

    def _is_ready_in_time(self) -> bool:
        deadline = time.monotonic() + _START_PATIENCE
        while self.alive and time.monotonic() < deadline:
            if _is_ready(self._place.data / "postmaster.pid", self.pid):
                return True
            time.sleep(_START_POLL)
        return False

    def _failure(self) -> ConfigError:
        log = self._place.log
        _LOG.error("the shadow did not start: %s", server_directory.last_words(log))
        return ConfigError("the shadow PostgreSQL did not start", hint=f"Its log is {log}.")


def _end_orphan(where: ShadowDirectory) -> None:
    who = where.account
    if who is None:
        orphan.stop(where.data)
    else:
        orphan.stop(where.data, who.uid, who.gid)


def _is_ready(pid_file: Path, pid: int) -> bool:
    # The postmaster writes its state into this line (LOCK_FILE_LINE_PM_STATUS of PostgreSQL's pidfile.h), so that nobody has
    # to connect to find out.
    lines = server_directory.read_foreign(pid_file).splitlines()
    return len(lines) > _READY_LINE and lines[0] == str(pid) and lines[_READY_LINE].strip() == "ready"
