"""A cache with a limit in bytes: what was used least recently is forgotten first."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")
_EACH = 300
"""Bytes that an entry takes beside its key and its value."""


class ByteLimitedCache(Generic[V]):
    """Values by key; any thread may use it."""

    def __init__(self, most: int, weigh: Callable[[object], int]) -> None:
        """Keep values of at most `most` bytes together, their keys included, as `weigh` weighs them."""
        self._most = most
        self._weigh = weigh
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self.size = 0
        """The bytes that are taken."""

    def get(self, key: Hashable) -> V | None:
        """Return the value of a key, None if it is not remembered."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def keep(self, key: Hashable, value: V) -> None:
        """Remember a value, unless it is larger than the whole cache."""
        # Weighed before the lock is taken: to walk through a large value takes longer than all that is done below.
        size = self._weigh(key) + self._weigh(value) + _EACH
        with self._lock:
            # First, so that a value which is too large leaves no older one behind under its key.
            self._forget(key)
            if size > self._most:
                return
            # It ends: once nothing is left, `size` alone has room.
            while self.size + size > self._most:
                self._forget(next(iter(self._entries)))
            self._entries[key] = value, size
            self.size += size

    def forget(self, key: Hashable) -> None:
        """Forget the value of a key."""
        with self._lock:
            self._forget(key)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self.size = 0

    def _forget(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size -= entry[1]
