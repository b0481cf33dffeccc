"""Lets sessions of a user who keeps the shadow's processors busy stand back behind those of others.

PostgreSQL gives every session a process, and the system every process its turn: whoever has a hundred sessions that compute
would let another wait for a hundred turns. With the lowest priority they have what others leave, and lose nothing else.
"""

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from dpsql.shadow.watch.processes import see

_LOWEST = 19
_MOST = 0.5
"""Processors that the sessions of one user may keep busy before they stand back."""


class Priorities:
    """Looks now and then; what was told to stand back does so for as long as it lasts."""

    def __init__(self) -> None:
        self._worked: Mapping[int, float] = {}
        self._at = 0.0

    def look(self, sessions: Iterable[tuple[int, str]], now: float) -> frozenset[str]:
        """Let those stand back that have worked too much since the last look; return whose they are.

        `sessions` are the processes with the names of their users, `now` is in seconds.
        """
        users = dict(sessions)
        worked = {process: found.worked for process in users if (found := see(process)) is not None}
        spent: defaultdict[str, float] = defaultdict(float)
        for process, seconds in worked.items():
            spent[users[process]] += seconds - self._worked.get(process, seconds)
        busy = frozenset(user for user, seconds in spent.items() if seconds > _MOST * max(now - self._at, 0.1))
        self._worked, self._at = worked, now
        for process in worked:
            if users[process] in busy:
                _stand_back(process)
        return busy


def _stand_back(process: int) -> None:
    """Give a process the lowest priority, and its group, which is its own: where Linux makes groups, only theirs count."""
    with contextlib.suppress(OSError):  # it has just ended
        os.setpriority(os.PRIO_PROCESS, process, _LOWEST)
    with contextlib.suppress(OSError):  # there are none, or too many were told just now: then at the next look
        Path(f"/proc/{process}/autogroup").write_text(str(_LOWEST), encoding="ascii")
