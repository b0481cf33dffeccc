"""Single flight: of those in this process who ask for the same measurement at once, one measures and the rest wait."""

import threading
from collections.abc import Set as AbstractSet

from dpsql.interrupt import wait_for
from dpsql.question import Cancellation


class SingleFlight:
    """The measurements under way in this process, by key."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken: set[str] = set()

    def acquire(self, keys: AbstractSet[str], cancellation: Cancellation | None = None) -> "HeldKeys":
        """Wait until none of `keys` is under way, then take them all.

        Taking all or none keeps statements that share some keys from waiting for each other in a circle, provided that
        a thread has no more than one `HeldKeys` at a time.

        Raises:
            QueryCanceled: somebody has cancelled, and none is taken.
        """
        with self._changed:
            wait_for(self._changed, lambda: self._taken.isdisjoint(keys), cancellation)
            self._taken |= keys
        return HeldKeys(self, set(keys))

    def _release(self, keys: AbstractSet[str]) -> None:
        with self._changed:
            self._taken -= keys
            self._changed.notify_all()


class HeldKeys:
    """The keys that one statement has taken and not yet given back."""

    def __init__(self, single_flight: SingleFlight, keys: set[str]) -> None:
        self._single_flight = single_flight
        self._keys = keys

    def release(self, keys: AbstractSet[str]) -> None:
        """Give back those of `keys` that are still held, so that those who wait for them go on."""
        held = self._keys & keys
        self._keys -= held
        self._single_flight._release(held)  # noqa: SLF001  (the two classes are one thing)

    def release_all(self) -> None:
        """Give back all that is still held."""
        self.release(set(self._keys))
