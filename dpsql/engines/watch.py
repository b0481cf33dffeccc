"""Stop a statement that is cancelled or takes too long, on engines that are told to stop by a call."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
    stopped, wake, over = threading.Event(), threading.Event(), threading.Event()

    def watch() -> None:
        wake.wait(timeout)
        until = time.monotonic() + _PATIENCE
        while not over.is_set():
            stopped.set()
            stop()
            if hang_up is not None and time.monotonic() > until:
                hang_up()
            over.wait(_AGAIN)

    watcher = threading.Thread(target=watch, daemon=True)
    cancellation.on_cancel(wake.set)
    watcher.start()
    try:
        yield stopped
    finally:
        over.set()
        wake.set()
        watcher.join()
