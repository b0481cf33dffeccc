"""An engine that is closed while somebody still uses it: a reload replaces it under measurements that are paid."""

import logging
import threading
from collections.abc import Callable
from types import TracebackType

from dpsql.errors import EngineAway

_LOG = logging.getLogger("dpsql.engine")


class Use:
    """Counts who still uses something that has ended; when the last one has gone, its remains are removed, once."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Callable[[], None] | None = remove
        self._lock = threading.Lock()
        self._users = 0
        self._over = False

    def __enter__(self) -> None:
        with self._lock:
            if self._over:
                _LOG.error("the engine has been closed")
                raise EngineAway
            self._users += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._users -= 1
            self._tidy()

    def end(self) -> None:
        """Take in nobody any more."""
        with self._lock:
            self._over = True
            self._tidy()

    @property
    def is_over(self) -> bool:
        """Return whether nobody is taken in any more."""
        return self._over

    def _tidy(self) -> None:
        if self._over and not self._users and self._remove is not None:
            remove, self._remove = self._remove, None
            remove()
