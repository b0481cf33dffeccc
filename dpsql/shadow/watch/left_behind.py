"""Sessions of the shadow that nobody waits for any more, and which may not have heard of it: counted, and ended.

Most of PostgreSQL looks now and then whether it is to stop. Some functions do not, for any arguments (`LIKE`, for
one), and to kill the process of one would end everybody's session, because the shadow starts anew where a process
dies. But PostgreSQL takes SIGFPE for an error in its arithmetic, and raises that wherever it is, at once: the
transaction is rolled back, and the session, which was told to end before, does.

Promise: a session that was left behind ends within seconds of the processor, and until then its user has no other in its
place.
"""

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Collection
from dataclasses import dataclass

from dpsql.shadow.watch.processes import SeenProcess, see

_LOG = logging.getLogger("dpsql.shadow")
_DEAF = 0.2
"""Seconds of the processor after which who was told to end, and has not ended, does not look: the others take a twentieth."""
_TIDYING = 10.0
"""Seconds likewise where there are temporary tables: thousands of them are dropped at the end, and would stay."""


@dataclass(slots=True)
class _Left:
    whose: str
    seen: SeenProcess
    told: bool = False
    """Whether it was told to end, when it was seen last."""


class LeftBehind:
    """The sessions; any thread may add some and ask, the warden looks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[int, _Left] = {}

    def add(self, process: int, whose: str) -> None:
        """Leave a session, known by its process, of a user; again and again, if need be."""
        seen = see(process)
        with self._lock:
            earlier = self._left.get(process)
            if seen is not None and (earlier is None or earlier.seen.began != seen.began):
                self._left[process] = _Left(whose, seen)

    def of(self, user: str) -> int:
        """Return how many of a user's have not ended yet."""
        return sum(left.whose == user for left in self._still())

    @property
    def number(self) -> int:
        """Return how many of all have not ended yet."""
        return len(self._still())

    def look(self, keeping: Collection[int] = ()) -> None:
        """Tell those to end that are still there, and stop those wherever they are that have not listened.

        `keeping` are the processes that have temporary tables.
        """
        self._still()
        stopped = 0
        with self._lock:
            for process, left in self._left.items():
                now = see(process)
                if now is None or now.began != left.seen.began:
                    continue
                if not left.told:
                    left.told, left.seen = True, now
                    _signal(process, signal.SIGTERM)
                elif now.worked > left.seen.worked + (_TIDYING if process in keeping else _DEAF):
                    left.seen = now
                    _signal(process, signal.SIGFPE)
                    stopped += 1
        if stopped:
            _LOG.warning("sessions of the shadow that did not listen were stopped where they were: %d", stopped)

    def _still(self) -> tuple[_Left, ...]:
        with self._lock:
            for process, left in tuple(self._left.items()):
                now = see(process)
                if now is None or now.began != left.seen.began:
                    del self._left[process]
            return tuple(self._left.values())


def _signal(process: int, kind: signal.Signals) -> None:
    with contextlib.suppress(OSError):  # it has just ended, or we may not: it goes on to count
        os.kill(process, kind)
