"""Processes that run the command `dpsql`, forked from one that has imported it: importing is most of what a start takes.

They differ from those that a user starts in nothing else. They are children of the process that forks them, which sends
the code that each has ended with.
"""

import atexit
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import IO, NoReturn, Protocol

from typer.main import get_command

_MAIN = "import sys; from tests.support.forked import main; main(int(sys.argv[1]))"
_MESSAGE = 2**20


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
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        asked = json.dumps([arguments, before, list(modules), str(Path.cwd()), environment])
        errors = 2 if log is None else log.fileno()
        socket.send_fds(self._mother.talk, [asked.encode()], [write, errors])
        os.close(write)
        self.pid = self._mother.begun()
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


class _Mother:
    """The process that has imported everything."""

    def __init__(self, python: str, uid: int | None) -> None:
        self.talk, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(  # noqa: S603
            [python, "-c", _MAIN, str(other.fileno())],
            pass_fds=[other.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
        other.close()
        self._codes: dict[int, int] = {}
        self._pids: list[int] = []

    def begun(self) -> int:
        """Return the number of the process that was asked for last."""
        while not self._pids:
            self._take()
        return self._pids.pop()

    def ended(self, pid: int, timeout: float | None) -> int | None:
        """Return the code that a process has ended with, if it does in so many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while pid not in self._codes:
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            if not select.select([self.talk], [], [], left)[0]:
                return None
            self._take()
        return self._codes[pid]

    def end(self) -> None:
        """End it, and with it those of its children that still run."""
        self.talk.close()
        self._process.wait()

    def _take(self) -> None:
        said = self.talk.recv(_MESSAGE)
        assert said, "the process that forks servers has ended"
        kind, pid, code = json.loads(said)
        if kind == "pid":
            self._pids.append(pid)
        else:
            self._codes[pid] = code


@cache
def _mother(python: str, uid: int | None) -> _Mother:
    made = _Mother(python, uid)
    atexit.register(made.end)
    return made


def main(number: int) -> None:
    """Import `dpsql` and build its command line, then run it in a child whenever somebody asks for one."""
    from dpsql.cli.main import app  # noqa: PLC0415  (nobody else needs it)
    from dpsql.policy.load import load  # noqa: PLC0415

    command = get_command(app)
    load(Path(__file__).parents[2] / "config.yaml")  # so that its regular expressions are compiled
    gc.freeze()  # so that no child copies what it only looks through
    child = _children(socket.socket(fileno=number))
    if child is not None:
        arguments, before = child
        sys.argv = ["dpsql", *arguments]
        _leave(before, command)


def _leave(before: str, run: Callable[[], object]) -> NoReturn:
    """Run both, and leave as Python does, but for taking apart what was imported: that takes longer than to stop a server."""
    code: object = None
    try:
        exec(before, {})  # noqa: S102  (the tests' own)
        run()
    except SystemExit as ended:
        code = ended.code
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as every end of Python
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def _children(talk: socket.socket) -> tuple[list[str], str] | None:
    """Fork until nobody asks any more; return in each child with what it is to run, and at last here with None."""
    running: dict[int, int] = {}
    while True:
        for ready in select.select([talk.fileno(), *running], [], [])[0]:
            if ready in running:
                pid = running.pop(ready)
                os.close(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                talk.send(json.dumps(["code", pid, code]).encode())
                continue
            said, files, _, _ = socket.recv_fds(talk, _MESSAGE, 2)
            if not said:
                for pid in running.values():
                    os.kill(pid, signal.SIGKILL)
                return None
            asked = json.loads(said)
            for module in asked[2]:
                importlib.import_module(module)
            pid = os.fork()
            if not pid:
                for inherited in (talk.detach(), *running):
                    os.close(inherited)
                return _begin(asked, files)
            for file in files:
                os.close(file)
            running[os.pidfd_open(pid)] = pid
            talk.send(json.dumps(["pid", pid, 0]).encode())


def _begin(asked: tuple[list[str], str, list[str], str, dict[str, str]], files: list[int]) -> tuple[list[str], str]:
    """Become what was asked for; return its arguments, and what it runs before."""
    arguments, before, _, directory, environment = asked
    for file, place in zip(files, (1, 2), strict=True):
        os.dup2(file, place)
        os.close(file)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    return arguments, before
