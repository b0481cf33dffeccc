"""Processes that run the command `dpsql`, forked from one that has imported it: importing is most of what a start takes.

They differ from those that a user starts in nothing else. They are children of the process that forks them, which sends
the code that each has ended with.
"""

import atexit
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Protocol

from tests.support import clusters
from tests.support.mother import MESSAGE


class Running(Protocol):
    """What tests do with a server's process, however it was started."""

    pid: int
    stdout: IO[str] | None

    def poll(self) -> int | None:
        """Return the code that it has ended with; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, and return its code."""

    def send_signal(self, sig: int) -> None:
        """Send a signal."""

    def kill(self) -> None:
        """Kill it."""


class Forked:
    """A process that runs `dpsql` with some arguments; what it writes can be read, or goes to `log` where it is an error."""

    def __init__(
        self,
        arguments: list[str],
        log: IO[str] | None = None,
        before: str = "",
        modules: Sequence[str] = (),
        *,
        python: str = sys.executable,
        uid: int | None = None,
    ) -> None:
        """Start it, as if it were executed here and now, or as user `uid` of this machine, if that is given.

        `before` is run first, for which `modules` are imported once.
        """
        self._mother = _mother(python, uid)
        read, write = os.pipe()
        self.pid = self._mother.fork(arguments, before, modules, [write, 2 if log is None else log.fileno()])
        os.close(write)
        self.stdout: IO[str] | None = TextIOWrapper(os.fdopen(read, "rb"), encoding="utf-8")

    def poll(self) -> int | None:
        """Return the code that it has ended with; None while it runs."""
        return self._mother.ended(self.pid, 0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, and return its code.

        Raises:
            TimeoutExpired: it still runs after so many seconds.
        """
        code = self._mother.ended(self.pid, timeout)
        if code is None:
            raise subprocess.TimeoutExpired("dpsql", timeout or 0)
        return code

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended; it may have, before its code is known here."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


class Mother:
    """The process that has imported everything, or a child of its own that forks for us alone."""

    def __init__(self, talk: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._talk, self._process = talk, process
        self._codes: dict[int, int] = {}
        self._pids: list[int] = []

    def fork(self, arguments: list[str], before: str, modules: Sequence[str], files: Sequence[int]) -> int:
        """Begin a process with two files to write to; return its number."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        asked = json.dumps([arguments, before, list(modules), str(Path.cwd()), environment])
        socket.send_fds(self._talk, [asked.encode()], files)
        while not self._pids:
            self._take()
        return self._pids.pop()

    def ended(self, pid: int, timeout: float | None) -> int | None:
        """Return the code that a process has ended with, if it does in so many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while pid not in self._codes:
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            if not select.select([self._talk], [], [], left)[0]:
                return None
            self._take()
        return self._codes[pid]

    def end(self) -> None:
        """End it, and with it those of its children that still run."""
        with self._talk:
            self._talk.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while self._talk.recv(MESSAGE):
                    pass
        if self._process is not None:
            self._process.wait()

    def _take(self) -> None:
        said = self._talk.recv(MESSAGE)
        assert said, "the process that forks servers has ended"
        kind, pid, code = json.loads(said)
        if kind == "pid":
            self._pids.append(pid)
        else:
            self._codes[pid] = code


@cache
def _mother(python: str, uid: int | None) -> Mother:
    run = clusters.run()
    made = _own(python, uid) if run is None or uid is not None or python != sys.executable else _of_run(run)
    atexit.register(made.end)
    return made


def _own(python: str, uid: int | None) -> Mother:
    """Start one for us alone, as another user if need be."""
    talk, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with other:
        return Mother(talk, started(python, uid, other, f"alone({other.fileno()})"))


def _of_run(run: Path) -> Mother:
    """Connect to the one of this run of the tests, which the first who asks starts, and which ends with the run."""
    place = str(run / "mother")
    talk = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with (run / "mother.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not Path(place).exists():
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(place)
                listener.listen()
                call = f"shared({listener.fileno()}, {clusters.owner(run)})"
                started(sys.executable, None, listener, call).wait()
    talk.connect(place)
    return Mother(talk)


def started(python: str, uid: int | None, heard: socket.socket, call: str) -> subprocess.Popen[bytes]:
    """Start a process that calls something of `mother`, which hears us by a socket."""
    return subprocess.Popen(  # noqa: S603
        [python, "-c", f"from tests.support import mother; mother.{call}"],
        pass_fds=[heard.fileno()],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        user=uid,
        group=uid,
        extra_groups=None if uid is None else [],
    )
