"""Several processes that serve one address: started one after another, begun anew when they die, told what we are told.

One interpreter keeps one core busy. Each process is a whole server, with an engine, a shadow and sessions of its own; they
share the address and the ledger, which lets nobody spend what another has spent. The one that watches over them has no
threads, and forks.
"""

import contextlib
import logging
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from dpsql.control import notify
from dpsql.policy.config import Listen
from dpsql.private_files import Scratch
from dpsql.wire.server.acceptor import Sockets, listen, port_of
from dpsql.wire.server.siblings import ProcessSlot

_LOG = logging.getLogger("dpsql.server")
_STOP = (signal.SIGINT, signal.SIGTERM)
_HEARD = (*_STOP, signal.SIGHUP, signal.SIGCHLD)
_PAUSE = 5.0
"""Seconds until another process takes the place of one that has died."""
# A socket's path may have 108 bytes (sun_path), of which a name within the directory needs some.
_LONGEST = 80
"""Bytes of a directory in which sockets can have their names."""
_READ = 4096


@dataclass(frozen=True, slots=True)
class Worker:
    """The place of one of the processes."""

    post: ProcessSlot
    first: bool
    """Whether it is the first of all that was started."""
    lifeline: int
    """A descriptor that is readable once nobody watches over it any more."""
    ready: int
    """Where it says that it serves."""

    def announce(self, pages: str | None) -> None:
        """Say that it serves, and where its pages are."""
        os.write(self.ready, f"{self.post.number} {pages or ''}\n".encode())


@dataclass(slots=True)
class _Child:
    """One of the processes, as we see it."""

    process: int | None = None
    ready: bool = False
    hung_up: bool = False
    """Whether it missed a hang-up while it started."""
    not_before: float = field(default=0.0)
    """When another may take its place."""


Serve = Callable[[Worker], int]
"""The work of a process until it is told to stop; returns its exit code."""


class Supervisor:
    """Starts the processes of one address and watches over them."""

    def __init__(self, address: Listen, work: Serve, serving: Callable[[int, str | None], None]) -> None:
        """`serving` is called once all are ready, with the port and the pages' address.

        Raises:
            OSError: the address can't be listened on.
        """
        self._work, self._serving = work, serving
        self._children = [_Child() for _ in range(address.processes)]
        self._sockets: Sockets = listen(address.host, address.port)
        self._doors: tuple[Path, ...] = ()
        self._first = True
        self._all_ready = False
        self._pages: str | None = None
        self._code = 0
        # Three pipes: signals to ourselves, words of the processes to us, and one that nobody ever writes into. Of the last
        # we alone hold the end for writing: when we die, even by SIGKILL, the others can read its end, and stop.
        (self._woken, self._wakes), (self._heard, self._says), (self._lifeline, self._holds) = (
            os.pipe() for _ in "123"
        )
        for end in (self._woken, self._wakes, self._heard):
            os.set_blocking(end, False)

    def run(self) -> int:
        """Serve until a signal says stop, or none could start; return the exit code."""
        # A signal writes its number into a pipe, and all waiting is one `select` on that and on what processes say. Handlers
        # do nothing, so that nothing is interrupted in between.
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        for heard in _HEARD:
            signal.signal(heard, lambda *_: None)
        place = None if len(os.fsencode(tempfile.gettempdir())) < _LONGEST else Path("/tmp")  # noqa: S108 # a place with a short name
        with Scratch("dpsql-doors-", place) as doors:
            self._doors = tuple(doors.path / str(number) for number in range(len(self._children)))
            while self._goes_on():
                self._start_what_is_due()
                self._wait()
            self._end()
        return self._code

    def _goes_on(self) -> bool:
        """Do what signals and processes have said since; return whether to go on."""
        for number in _drained(self._woken):
            if number in _STOP:
                return False
            if number == signal.SIGHUP:
                self._hang_up()
        self._hear()
        return self._reap()

    def _start_what_is_due(self) -> None:
        """Start processes; the first alone, because it makes what the others find."""
        for number, child in enumerate(self._children):
            if child.process is None and time.monotonic() >= child.not_before:
                self._start(number, child)
            if self._first and not child.ready:
                return

    def _start(self, number: int, child: _Child) -> None:
        post = ProcessSlot(number, self._sockets, self._doors)
        worker = Worker(post, self._first and number == 0, self._lifeline, self._says)
        child.ready = child.hung_up = False
        # A signal that comes now waits until the new process has its own ways with signals; ours would tell it to us.
        signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
        try:
            child.process = os.fork()
            if child.process == 0:
                self._become(worker)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)

    def _become(self, worker: Worker) -> NoReturn:
        """Serve as one of the processes, and end."""
        code = 1
        try:
            os.setpgid(0, 0)  # what is typed at the terminal is for the one that watches
            signal.set_wakeup_fd(-1)
            for heard in _HEARD:
                signal.signal(heard, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # which is said again once it can be heard
            # `_holds` above all: who keeps it open would be kept alive by its own lifeline.
            for end in (self._woken, self._wakes, self._heard, self._holds):
                os.close(end)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
            code = self._work(worker)
        except BaseException:  # noqa: BLE001 # it must not go on as the one that watches
            sys.excepthook(*sys.exc_info())
        finally:
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            # Nothing of the parent's is run at the end: its `atexit` functions, and the `with` blocks that it stands in.
            os._exit(code)

    def _wait(self) -> None:
        """Wait for signals, for words, and until the next may start."""
        due = [child.not_before for child in self._children if child.process is None and child.not_before]
        seconds = max(0.0, min(due) - time.monotonic()) if due else None
        select.select([self._woken, self._heard], [], [], seconds)

    def _hear(self) -> None:
        """Note who is ready."""
        # Lines of several processes don't mix: what is shorter than PIPE_BUF (4,096 bytes) is written as a whole.
        for said in _drained(self._heard).decode().splitlines():
            number, _, pages = said.partition(" ")
            child = self._children[int(number)]
            child.ready, self._first = True, False
            self._pages = self._pages or pages or None
            if child.hung_up and child.process is not None:
                os.kill(child.process, signal.SIGHUP)
        if not self._all_ready and all(child.ready for child in self._children):
            self._all_ready = True
            self._serving(port_of(self._sockets), self._pages)

    def _reap(self) -> bool:
        """Note who has died; return whether to go on, which ends when one can't even start."""
        for number, child in enumerate(self._children):
            if child.process is None:
                continue
            ended, status = os.waitpid(child.process, os.WNOHANG)
            if not ended:
                continue
            child.process, child.ready = None, False
            # Before all have served once, a death is a mistake in the configuration, and ends everything. Later it is an
            # accident.
            if not self._all_ready:
                self._code = max(1, os.waitstatus_to_exitcode(status))
                return False
            child.not_before = time.monotonic() + _PAUSE
            _LOG.error(
                "process %d of %d has ended with %d; another takes its place in %g seconds",
                *(number + 1, len(self._children), os.waitstatus_to_exitcode(status), _PAUSE),
            )
        return True

    def _hang_up(self) -> None:
        for child in self._children:
            if child.ready and child.process is not None:
                os.kill(child.process, signal.SIGHUP)
            else:
                child.hung_up = True

    def _end(self) -> None:
        """Tell all to stop, and wait for them."""
        notify(STOPPING="1", STATUS="stopping")
        there = [child.process for child in self._children if child.process is not None]
        for process in there:
            os.kill(process, signal.SIGTERM)
        for process in there:
            os.waitpid(process, 0)


def _drained(end: int) -> bytes:
    """Return what can be read at once."""
    said = b""
    with contextlib.suppress(BlockingIOError):
        while part := os.read(end, _READ):
            said += part
    return said
