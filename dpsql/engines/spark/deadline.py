"""How long calls to a Spark server may last, also of one that takes a call and never says anything."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LONGEST = 600.0
"""Seconds for a call of which nobody says how long it may last: the files of a large table take a while to be listed."""
_UNTIL: ContextVar[float] = ContextVar("_UNTIL", default=math.inf)


@contextmanager
def answered_within(seconds: float) -> Iterator[None]:
    """Let what this thread asks of a server fail when it has not been answered after so many seconds in all."""
    token = _UNTIL.set(min(_UNTIL.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _UNTIL.reset(token)


def seconds_left() -> float:
    """Return how long the next call may last."""
    return min(max(_UNTIL.get() - time.monotonic(), 0.0), _LONGEST)
