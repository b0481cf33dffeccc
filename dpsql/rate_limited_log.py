"""Warnings that anybody can cause: one of a kind in a minute, which says how many were left out."""

import logging
import threading
import time
from collections.abc import Callable

_EVERY = 60.0  # seconds


class RateLimitedLog:
    """Logs a warning once a minute, and counts the others."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def warning(self, message: str, *args: object) -> None:
        """Log `message` with its `args`, a constant of the code; `args` may come from clients."""
        # The key is the message without its arguments. Those are strangers', who could fill the dictionary with them.
        with self._lock:
            now = self._clock()
            if now - self._last.get(message, -_EVERY) < _EVERY:
                self._left_out[message] = self._left_out.get(message, 0) + 1
                return
            self._last[message] = now
            more = self._left_out.pop(message, 0)
        self._log.warning(message + (f" (and {more} times more since the last line like this)" if more else ""), *args)
