"""Whose statement is tried when: a trial costs its user nothing, so that few run at once, and one of each user."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dpsql.interrupt import stop_if_cancelled
from dpsql.question import Cancellation

_AT_ONCE = 2
_LOOK = 0.1
"""Seconds between two looks at whether somebody who waits has cancelled."""


class TrialTurns:
    """Lets in some at once, for any number of threads."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._free, self._users = threading.Condition(), set[str]()

    @contextmanager
    def of(self, user: str, cancellation: Cancellation) -> Iterator[None]:
        """Wait for a turn of the user's, and hold it.

        Raises:
            QueryCanceled: somebody has cancelled meanwhile.
        """
        with self._free:
            while user in self._users or len(self._users) >= _AT_ONCE:
                self._free.wait(_LOOK)
                stop_if_cancelled(cancellation)
            self._users.add(user)
        try:
            yield
        finally:
            with self._free:
                self._users.discard(user)
                self._free.notify_all()
