"""A plain PostgreSQL server, as an owner has one: of any version that is installed here.

That of dpsql's wheel is one; others are Debian's, and those of `servers.json`, which npm puts into the directory SERVERS.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from dpsql.shadow.server import directory as server_place
from dpsql.shadow.server.directory import Binaries, SystemAccount

_SERVERS = "SERVERS"
_OWNER = "keeper"
_PATIENCE = 60.0
_SETTINGS = ("listen_addresses=", "fsync=on", "max_connections=200", "shared_buffers=16MB", "log_min_messages=fatal")


def installed_servers() -> Mapping[int, Binaries]:
    """Return the programs of each version that is here."""
    of_npm = Path(os.environ.get(_SERVERS, ".venv/servers"), "node_modules").absolute().glob("postgres-*/native/bin")
    found = (
        *server_place._of_debian(),
        *(each for place in of_npm for each in server_place._at(place)),
        *server_place._in_wheel(),
    )
    return {each.major: each for each in found}


class PlainServer:
    """A server with its files in a directory."""

    def __init__(self, directory: Path, installed: Binaries | None = None) -> None:
        """Start it; the shadow's own version is the usual one."""
        self._account, self._directory = SystemAccount.for_server(None), directory
        self._installed = server_place.executable_for(
            self._account, installed or server_place.find_binaries(), directory
        )
        self._numbers = count()
        directory.chmod(0o711)
        self._data = directory / "data"
        self.sockets = directory / "s"
        for made in (self._data, self.sockets):
            made.mkdir(mode=0o700)
            if self._account is not None:
                os.chown(made, self._account.uid, self._account.gid)
        self._said = directory / "said"
        made_cluster = self._run("initdb", "-D", str(self._data), "-U", _OWNER, "-A", "trust", "--no-sync")
        assert made_cluster.wait(_PATIENCE) == 0, self._words()
        self._process = self._started()

    def dsn(self, database: str = "postgres") -> str:
        """Return how its owner connects."""
        return f"postgresql://{_OWNER}@/{database}?host={self.sockets}"

    def database(self) -> str:
        """Make a database, and return how to connect to it."""
        name = f"database_{next(self._numbers)}"
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy".encode())
        return self.dsn(name)

    def kill(self) -> None:
        """Kill the server and all its sessions at once, as a power cut does."""
        self._process.send_signal(signal.SIGSTOP)
        self._signal_sessions(signal.SIGKILL)
        self._process.kill()
        self._process.wait(_PATIENCE)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let the server and all its sessions do nothing meanwhile; connections to it stay open."""
        self._process.send_signal(signal.SIGSTOP)
        self._signal_sessions(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal_sessions(signal.SIGCONT)
            self._process.send_signal(signal.SIGCONT)

    def _signal_sessions(self, number: signal.Signals) -> None:
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                process, _, rest = entry.read_text().partition(" ")
                if rest.rpartition(") ")[2].split()[1] == str(self._process.pid):
                    os.kill(int(process), number)

    def start(self) -> None:
        """Start it again, after whatever the kill left."""
        self._process = self._started()

    def stop(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(_PATIENCE)

    def _started(self) -> "subprocess.Popen[bytes]":
        settings = [part for each in (*_SETTINGS, f"unix_socket_directories={self.sockets}") for part in ("-c", each)]
        process = self._run("postgres", "-D", str(self._data), *settings)
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                psycopg.connect(self.dsn()).close()
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, self._words()
                if process.poll() is not None:  # what was killed has not let go of its memory yet
                    process = self._run("postgres", "-D", str(self._data), *settings)
                time.sleep(0.05)
            else:
                return process

    def _run(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        who = self._account
        with self._said.open("wb") as said:
            return subprocess.Popen(  # noqa: S603
                [str(self._installed.directory / program), *arguments],
                cwd="/",
                stdout=said,
                stderr=said,
                user=None if who is None else who.uid,
                group=None if who is None else who.gid,
                extra_groups=None if who is None else (),
            )

    def _words(self) -> str:
        """Return what the last program said, and how much room there is, for the one who reads why a test failed."""
        free = shutil.disk_usage(self._directory).free
        return f"{self._said.read_text(errors='replace')[-2000:]}\n{free:,} bytes are free at {self._directory}"


@contextmanager
def running_server(installed: Binaries | None = None) -> Iterator[PlainServer]:
    """Give a server of one's own."""
    with TemporaryDirectory(prefix="dpsql-keeper-") as made:
        server = PlainServer(Path(made), installed)
        try:
            yield server
        finally:
            server.stop()
