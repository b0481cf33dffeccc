"""Whether the shadow heard a cancel: some of PostgreSQL's functions don't look."""

from dpsql.shadow.watch.processes import SeenProcess, see
from dpsql.wire.backend.backend import Backend

_DEAF = 1.0
"""Seconds of the processor that the shadow may work on for after a cancel, and after another one."""


class UnheardCancel:
    """The cancels of one statement that were sent to a session: the first, and another."""

    def __init__(self) -> None:
        self._sent: tuple[float, SeenProcess] | None = None
        self._again = False

    def note(self, backend: Backend | None) -> None:
        """Hear that the shadow was asked to cancel what it works on."""
        if backend is not None and backend.replies.is_working and (seen := see(backend.number)) is not None:
            same = self._sent is not None and self._sent[0] == backend.replies.since
            if not (same and self._again):
                self._sent, self._again = (backend.replies.since, seen), same

    def is_of(self, backend: Backend | None) -> bool:
        """Return whether the shadow works on, long after it was asked."""
        if backend is None or self._sent is None or not backend.replies.is_working:
            return False
        (since, seen), now = self._sent, see(backend.number)
        return since == backend.replies.since and now is not None and now.worked > seen.worked + _DEAF

    @property
    def is_sure(self) -> bool:
        """Return whether it was asked more than once: the first may have come before the statement, and so for nothing."""
        return self._again
