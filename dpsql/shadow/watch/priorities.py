"""Lets sessions of a user who keeps the shadow's processors busy stand back behind those of others.

PostgreSQL gives every session a process, and the system every process its turn: a user with a hundred sessions that
compute would let another wait for a hundred turns. With the lowest priority they have what others leave, and lose
nothing else.
"""

import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from dpsql.shadow.watch.processes import see

_LOWEST = 19
_MOST = 0.5
"""Processors that the sessions of one user may keep busy before they stand back."""
_BEGINNING = 0.1
"""Seconds of the processor that a session may take to begin, and more than it does: many may begin at once."""
_STAYS = 30.0
"""Seconds for which new sessions of who kept them busy stand back from their beginning: they begin all at once, if one
that ends is replaced by another."""


class Priorities:
    """Looks now and then; what was told to stand back does so for as long as it lasts. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worked: Mapping[int, float] = {}
        self._at = 0.0
        self._busy: dict[str, float] = {}
        """Until when new sessions of a user stand back."""

    def begin(self, process: int, user: str, now: float) -> None:
        """Hear of a new session before it has done anything."""
        with self._lock:
            back = now < self._busy.get(user, 0.0)
        if back:
            _stand_back(process)

    def look(self, sessions: Iterable[tuple[int, str]], now: float) -> frozenset[str]:
        """Let those stand back that have worked too much since the last look; return whose they are.

        `sessions` are the processes with the names of their users, `now` is in seconds.
        """
        users = dict(sessions)
        worked = {process: work.worked for process in users if (work := see(process)) is not None}
        spent: defaultdict[str, float] = defaultdict(float)
        for process, seconds in worked.items():
            before = self._worked.get(process, min(seconds, _BEGINNING) if self._at else seconds)
            spent[users[process]] += seconds - before
        busy = frozenset(user for user, seconds in spent.items() if seconds > _MOST * max(now - self._at, 0.1))
        self._worked, self._at = worked, now
        with self._lock:
            self._busy = {user: until for user, until in self._busy.items() if until > now}
            self._busy |= dict.fromkeys(busy, now + _STAYS)
            back = frozenset(self._busy)
        for process in worked:
            if users[process] in back:
                _stand_back(process)
        return busy


def _stand_back(process: int) -> None:
    """Give a process the lowest priority, and its group, which is its own: where Linux makes groups, only theirs count.

    One processor is left to others, where there are several: a hundred processes of the lowest priority still let who
    wakes up wait for tenths of a second.
    """
    with contextlib.suppress(OSError):
        first, *more = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(process, more or {first})
    with contextlib.suppress(OSError):  # it has just ended
        os.setpriority(os.PRIO_PROCESS, process, _LOWEST)
    with contextlib.suppress(OSError):  # there are none, or too many were told just now: then at the next look
        Path(f"/proc/{process}/autogroup").write_text(str(_LOWEST), encoding="ascii")
