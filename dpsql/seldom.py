"""Log lines that strangers can cause: one of a kind in a minute, which says how many there were."""

import logging
import threading
import time
from collections.abc import Callable

_EVERY = 60.0  # seconds


class Seldom:
    """Warns, and of what comes again within a minute counts only how often."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._told: dict[str, float] = {}
        self._untold: dict[str, int] = {}

    def warning(self, message: str, *args: object) -> None:
        """Log `message` with its `args`, which only the code may choose; `args` may be anybody's."""
        with self._lock:
            now = self._clock()
            if now - self._told.get(message, -_EVERY) < _EVERY:
                self._untold[message] = self._untold.get(message, 0) + 1
                return
            self._told[message] = now
            more = self._untold.pop(message, 0)
        self._log.warning(message + (f" (and {more} times more since the last line like this)" if more else ""), *args)
