"""A MariaDB of Debian's, as an owner has one: in a directory of its own, with a socket and a port, for as long as needed."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pymysql

READER, PASSWORD = "dpsql_reader", "p w@:/%25é"
_PATIENCE = 60.0


class MariaDb:
    """One server."""

    def __init__(self, directory: Path, settings: Sequence[str] = ()) -> None:
        """Make its files, and start it."""
        self._directory, self._settings = directory, settings
        self.socket = directory / "s"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._user = ("--user=root",) if os.geteuid() == 0 else ()
        subprocess.run(  # noqa: S603
            [
                _program("mariadb-install-db"), "--no-defaults", *self._user, f"--datadir={directory / 'data'}",
                "--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=4M",
            ],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.start()
        with self.owner("mysql") as owner:
            _do(owner, "CREATE DATABASE records", f"CREATE USER {READER}@'%%' IDENTIFIED BY %s", given=(PASSWORD,))
            _do(owner, f"GRANT SELECT, SHOW VIEW ON records.* TO {READER}@'%'")

    def start(self) -> None:
        """Start it; wait until it answers."""
        self._process = subprocess.Popen(  # noqa: S603
            [
                _program("mariadbd"), "--no-defaults", *self._user, f"--datadir={self._directory / 'data'}",
                f"--socket={self.socket}", f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-log-bin",
                f"--pid-file={self._directory / 'pid'}", "--innodb-buffer-pool-size=64M", *self._settings,
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + _PATIENCE
        while not self._listens():
            assert time.monotonic() < deadline, "MariaDB does not start"
            time.sleep(0.1)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as asked:
            try:
                asked.connect(str(self.socket))
            except OSError:
                return False
            return True

    @contextmanager
    def owner(self, database: str = "records") -> Iterator[Any]:
        """Give a connection that may do anything."""
        account: Any = {"unix_socket": str(self.socket), "user": "root", "database": database, "autocommit": True}
        with closing(pymysql.connect(**account)) as made:
            yield made

    def do(self, *statements: str) -> None:
        """Run statements as the owner."""
        with self.owner() as owner:
            _do(owner, *statements)

    def url(self, user: str = READER, password: str = PASSWORD, more: str = "") -> str:
        """Return how an account reads it."""
        return f"mysql://{quote(user)}:{quote(password, safe='')}@127.0.0.1:{self.port}/records{more}"

    def kill(self) -> None:
        """Kill it, as a power cut does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(_PATIENCE)

    def stop(self) -> None:
        """Stop it for good."""
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        finally:
            self._process.kill()


@contextmanager
def mariadb(*settings: str) -> Iterator[MariaDb]:
    """Run one."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-mariadb-"))
    try:
        server = MariaDb(directory, settings)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _do(owner: Any, *statements: str, given: tuple[object, ...] = ()) -> None:
    with owner.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, given if "%s" in statement else None)


def _program(name: str) -> str:
    """Return where a program is, which an ordinary user's PATH need not have."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    assert found is not None, f"{name} is needed: apt-get install mariadb-server"
    return found
