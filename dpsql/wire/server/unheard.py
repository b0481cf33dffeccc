"""Whether the shadow heard a cancel: some of PostgreSQL's functions don't look."""

from dpsql.shadow.watch.processes import SeenProcess, see
from dpsql.wire.backend.backend import Backend

_DEAF = 2.0
"""Seconds of the processor that the shadow may work on for after a cancel."""


class UnheardCancel:
    """The last cancel that was sent to one session."""

    def __init__(self) -> None:
        self._sent: tuple[float, SeenProcess] | None = None

    def note(self, backend: Backend | None) -> None:
        """Hear that the shadow was asked to cancel what it works on."""
        if backend is not None and backend.replies.is_working and (seen := see(backend.number)) is not None:
            self._sent = backend.replies.since, seen

    def is_of(self, backend: Backend | None) -> bool:
        """Return whether the shadow works on, long after it was asked."""
        if backend is None or self._sent is None or not backend.replies.is_working:
            return False
        (since, seen), now = self._sent, see(backend.number)
        return since == backend.replies.since and now is not None and now.worked > seen.worked + _DEAF
