"""The end of what runs on an engine: statements that are cancelled or take too long, and engines that are replaced in use.

One thread keeps the time of all statements. Only one that has to be stopped gets a thread, in which its engine is told so:
where that takes long, no other waits.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from dpsql.errors import EngineAway
from dpsql.question import Cancellation

_AGAIN = 0.05
"""Seconds between calls: one that comes before the engine has begun is lost."""
_PATIENCE = 10.0
"""Seconds that an engine may take to stop."""


@contextmanager
def stopping_when_cancelled(
    stop: Callable[[], None], timeout: float, cancellation: Cancellation, hang_up: Callable[[], None] | None = None
) -> Iterator[threading.Event]:
    """Call `stop` again and again when `timeout` seconds are over or somebody cancels, until the block ends.

    Where that does not help, `hang_up` is called, which ends the wait for an engine that does not answer.

    Yields the event that says whether it was called. After the block it never is, so that what ran the statement may
    run the next one.
    """
    stopping = _Stopping(stop, hang_up)
    _ALARMS.set(stopping, time.monotonic() + timeout)
    cancellation.on_cancel(stopping.begin)
    try:
        yield stopping.stopped
    finally:
        _ALARMS.forget(stopping)
        stopping.end()


class _Stopping:
    """The calls that stop one statement."""

    def __init__(self, stop: Callable[[], None], hang_up: Callable[[], None] | None) -> None:
        self._stop, self._hang_up = stop, hang_up
        self._lock, self._over, self.stopped = threading.Lock(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Begin to stop it, unless that has begun, or it is over."""
        with self._lock:
            # Under the lock: after `end` no thread begins any more, and a late cancel can't hit the next statement on
            # the connection.
            if self._thread is None and not self._over.is_set():
                thread = threading.Thread(target=self._again, daemon=True)
                thread.start()
                self._thread = thread

    def end(self) -> None:
        """Return when it is not stopped any more, and never will be."""
        with self._lock:
            self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _again(self) -> None:
        until = time.monotonic() + _PATIENCE
        while not self._over.is_set():
            # Before the call: an error of the engine's may come at once, and whoever gets it asks here whether it was
            # stopped.
            self.stopped.set()
            self._stop()
            if self._hang_up is not None and time.monotonic() > until:
                self._hang_up()
            self._over.wait(_AGAIN)


class _Alarms:
    """The times at which statements are to be stopped, and the thread that waits for them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._at: dict[_Stopping, float] = {}
        self._next = float("inf")
        """Until when the thread waits."""
        self._thread: threading.Thread | None = None

    def set(self, stopping: _Stopping, at: float) -> None:
        """Begin to stop a statement at a time, unless it is forgotten before."""
        with self._changed:
            self._at[stopping] = at
            if self._thread is None or not self._thread.is_alive():  # a forked process has none
                self._thread = threading.Thread(target=self._run, name="dpsql-alarms", daemon=True)
                self._thread.start()
            # Statements mostly end long before their time, and the thread sleeps on. It is woken only for an earlier
            # one.
            elif at < self._next:
                self._changed.notify()

    def forget(self, stopping: _Stopping) -> None:
        """Let a statement be; the thread hears of it when it wakes."""
        with self._changed:
            self._at.pop(stopping, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._next = min(self._at.values(), default=float("inf"))
                left = self._next - time.monotonic()
                if left > 0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                due = [watched for watched, at in self._at.items() if at <= time.monotonic()]
                for overdue in due:
                    del self._at[overdue]
            for overdue in due:
                try:
                    overdue.begin()
                except RuntimeError:  # the system has no thread to give: it is tried again
                    self._later(overdue)

    def _later(self, overdue: _Stopping) -> None:
        with self._changed:
            self._at[overdue] = time.monotonic() + _AGAIN


_ALARMS = _Alarms()
os.register_at_fork(after_in_child=_ALARMS.__init__)  # type: ignore[misc]  # statements of the parent are its own


# An engine that is closed while somebody still uses it: a reload replaces it under measurements that are paid.

_LOG = logging.getLogger("dpsql.engine")


class Use:
    """Counts who still uses something that has ended; when the last one has gone, its remains are removed, once."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Callable[[], None] | None = remove
        self._lock = threading.Lock()
        self._users = 0
        self._over = False

    def __enter__(self) -> None:
        with self._lock:
            if self._over:
                _LOG.error("the engine has been closed")
                raise EngineAway
            self._users += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._users -= 1
            self._tidy()

    def end(self) -> None:
        """Take in nobody any more."""
        with self._lock:
            self._over = True
            self._tidy()

    @property
    def is_over(self) -> bool:
        """Return whether nobody is taken in any more."""
        return self._over

    def _tidy(self) -> None:
        if self._over and not self._users and self._remove is not None:
            # Forgotten before it is called: whoever comes next finds nothing to remove.
            remove, self._remove = self._remove, None
            remove()
