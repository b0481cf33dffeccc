"""Stop a statement that is cancelled or takes too long, on engines that are told to stop by a call."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dpsql.question import Cancellation

_AGAIN = 0.05
"""Seconds between calls: one that comes before the engine has begun is lost."""


@contextmanager
def stopping_when_cancelled(
    stop: Callable[[], None], timeout: float, cancellation: Cancellation
) -> Iterator[threading.Event]:
    """Call `stop` again and again when `timeout` seconds are over or somebody cancels, until the block ends.

    Yields the event that says whether it was called. After the block it never is, so that what ran the statement may
    run the next one.
    """
    stopped, wake, over = threading.Event(), threading.Event(), threading.Event()

    def watch() -> None:
        wake.wait(timeout)
        while not over.is_set():
            stopped.set()
            stop()
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
