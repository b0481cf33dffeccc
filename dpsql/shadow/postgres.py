"""The shadow's PostgreSQL server: a child process with a private socket, kept in a directory that is only a cache.

Start it from a thread that lives as long as the server is wanted: on Linux the kernel stops it with that thread.
"""

import fcntl
import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from dpsql.errors import ConfigError
from dpsql.shadow import binaries as programs
from dpsql.shadow import landlock, launch, seccomp, stale
from dpsql.shadow.binaries import Account, Binaries
from dpsql.shadow.sandbox import Sandbox

OWNER = "dpsql_owner"
"""The superuser of the shadow; no client can be it."""

_LOG = logging.getLogger("dpsql.shadow")
_PORT = 5432
_SOCKET_LIMIT = 90  # of the 104 to 108 bytes that a socket's path may have
_MEMORY = 2 * 1024**3  # address space of one session
_PATIENCE = 30.0  # seconds to start or to stop
_POLL = 0.005
_READY_LINE = 7  # of postmaster.pid

_SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{sockets}'
unix_socket_permissions = 0700
max_connections = {connections}
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
timezone = 'UTC'
"""


@dataclass(frozen=True, slots=True)
class _Place:
    """Whose programs serve which files."""

    installed: Binaries
    home: Path
    account: Account | None
    sockets: Path
    sandbox: Sandbox

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> Path:
        return self.home / "log"


@dataclass(frozen=True, slots=True)
class ShadowAddress:
    """Where the shadow listens: a directory of sockets, and the port in the socket's name."""

    directory: str
    port: int = _PORT

    @property
    def path(self) -> str:
        """Return the socket's own path."""
        return f"{self.directory}/.s.PGSQL.{self.port}"


class Postgres:
    """A running server; `stop` it, or let it stop with us."""

    def __init__(self, place: _Place, lock: IO[str]) -> None:
        self.sandbox = place.sandbox
        self._place = place
        self._child = _launch(place)
        self._lock = lock
        self.address = ShadowAddress(str(place.sockets))

    @classmethod
    def start(cls, directory: Path, *, connections: int = 300, sandbox: Sandbox | None = None) -> Self:
        """Start the server whose files are (or will be) in `directory`, in the best sandbox that the kernel has.

        Raises:
            ConfigError: when there is no PostgreSQL, another dpsql uses the directory, or the server does not start.
        """
        account = Account.for_server()
        home = _home(directory, account)
        lock = _lock(home)
        installed = programs.executable_for(account, programs.find(), home)
        sockets = _socket_directory(home, account)
        place = _Place(installed, home, account, sockets, sandbox or Sandbox.of_kernel())
        stale.stop(place.data)
        _initialise(installed, place.data, account)
        settings = _SETTINGS.format(sockets=sockets, connections=connections)
        (place.data / "postgresql.auto.conf").write_text(settings)
        (place.data / "pg_hba.conf").write_text("local all all trust\n")
        server = cls(place, lock)
        if server._is_ready_in_time():
            return server
        server.stop()
        raise server._failure()

    @property
    def pid(self) -> int:
        """Return the server's process id."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Say whether the server still runs."""
        return self._child.poll() is None

    def revive(self) -> None:
        """Start a server that died again, at the same address.

        Raises:
            ConfigError: when it does not start.
        """
        deadline = time.monotonic() + _PATIENCE
        while True:
            stale.stop(self._place.data)
            self._child = _launch(self._place)
            if self._is_ready_in_time():
                return
            # Sessions of the dead server may still hold its memory, and end by themselves.
            if time.monotonic() > deadline:
                raise self._failure()

    def dsn(self, database: str, user: str = OWNER) -> str:
        """Return how its owner, or another user, connects."""
        return f"host='{self.address.directory}' port={self.address.port} user={user} dbname='{database}'"

    def stop(self) -> None:
        """Stop it, at first in order; return when it is gone."""
        if self.alive:
            self._child.send_signal(signal.SIGINT)
            try:
                self._child.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._child.send_signal(signal.SIGQUIT)
                self._child.wait(_PATIENCE)
        shutil.rmtree(self.address.directory, ignore_errors=True)
        self._lock.close()

    def _is_ready_in_time(self) -> bool:
        deadline = time.monotonic() + _PATIENCE
        while self.alive and time.monotonic() < deadline:
            if _is_ready(self._place.data / "postmaster.pid", self.pid):
                return True
            time.sleep(_POLL)
        return False

    def _failure(self) -> ConfigError:
        log = self._place.log
        _LOG.error("the shadow did not start: %s", log.read_text(errors="replace")[-2000:])
        return ConfigError("the shadow PostgreSQL did not start", hint=f"Its log is {log}.")


def _home(directory: Path, account: Account | None) -> Path:
    """Return where the server's files go: `directory`, or a place that `account` can reach in its stead."""
    directory.mkdir(parents=True, exist_ok=True)
    if account is None:
        return directory.resolve()
    if not programs.reachable(directory.parent):
        name = hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:16]
        directory = Path("/var/cache/dpsql") / name
        directory.mkdir(parents=True, exist_ok=True)
    os.chown(directory, account.uid, account.gid)
    directory.chmod(0o700)
    return directory.resolve()


def _lock(home: Path) -> IO[str]:
    lock = (home / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise ConfigError(
            f"another dpsql uses the shadow directory {home}", hint="Stop it, or name another directory."
        ) from None
    return lock


def _socket_directory(home: Path, account: Account | None) -> Path:
    """Return an empty directory that only the server's account enters, with a path short enough for a socket."""
    sockets = home / "sockets"
    if len(os.fsencode(sockets)) > _SOCKET_LIMIT:
        sockets = Path(tempfile.mkdtemp(prefix="dpsql-", dir="/tmp"))  # TMPDIR may be too long as well
    else:
        shutil.rmtree(sockets, ignore_errors=True)
        sockets.mkdir(mode=0o700)
    if account is not None:
        os.chown(sockets, account.uid, account.gid)
    return sockets


def _initialise(installed: Binaries, data: Path, account: Account | None) -> None:
    """Make the cluster, unless one of this version is there."""
    version = data / "PG_VERSION"
    if version.exists() and version.read_text().strip() == str(installed.major):
        return
    shutil.rmtree(data, ignore_errors=True)
    for locale in ("C.UTF-8", "C"):
        if _initdb(installed, data, account, locale):
            return
    raise ConfigError("the shadow's directory could not be initialised", hint=f"See whether {data.parent} is writable.")


def _initdb(installed: Binaries, data: Path, account: Account | None, locale: str) -> bool:
    command = [
        str(installed.directory / "initdb"),
        "-D",
        str(data),
        "-U",
        OWNER,
        "--auth=trust",
        "--encoding=UTF8",
        "--no-sync",
    ]
    done = subprocess.run(  # noqa: S603
        [*command, f"--locale={locale}"],
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        env={},
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
        extra_groups=None if account is None else [],
    )
    if done.returncode != 0:
        _LOG.warning("initdb with locale %s: %s", locale, done.stderr[-1000:])
        shutil.rmtree(data, ignore_errors=True)
    return done.returncode == 0


def _launch(place: _Place) -> subprocess.Popen[bytes]:
    with place.log.open("w") as output:
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", launch.__file__, json.dumps(_plan(place))],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _plan(place: _Place) -> launch.Plan:
    program, sandbox = place.installed.directory / "postgres", place.sandbox
    rules = landlock.Ruleset(b"", ())
    if sandbox.landlock:
        rules = landlock.ruleset(sandbox.landlock, program, read=(), data=place.data, sockets=place.sockets)
    return launch.Plan(
        uid=-1 if place.account is None else place.account.uid,
        gid=-1 if place.account is None else place.account.gid,
        parent=os.getpid(),
        memory=_MEMORY,
        ruleset=rules.attributes.hex(),
        rules=list(rules.rules),
        filter=seccomp.program(sandbox.landlock).hex() if sandbox.filtered else "",
        environment={},
        program=[str(program), "-D", str(place.data)],
    )


def _is_ready(pid_file: Path, pid: int) -> bool:
    try:
        lines = pid_file.read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > _READY_LINE and lines[0] == str(pid) and lines[_READY_LINE].strip() == "ready"
