"""Single flight: of those in this process who ask for the same measurement at once, one measures and the rest wait."""

import threading
from collections.abc import Set as AbstractSet

from dpsql.interrupt import wait_for
from dpsql.question import Cancellation


class Flights:
    """The measurements under way in this process, by key."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._aloft: set[str] = set()

    def board(self, keys: AbstractSet[str], cancellation: Cancellation | None = None) -> "Flight":
        """Wait until none of `keys` is under way, then take them all.

        Taking all or none keeps statements that share some keys from waiting for each other in a circle, provided that
        a thread has no more than one flight at a time.

        Raises:
            QueryCanceled: somebody has cancelled, and none is taken.
        """
        with self._changed:
            wait_for(self._changed, lambda: self._aloft.isdisjoint(keys), cancellation)
            self._aloft |= keys
        return Flight(self, set(keys))

    def _land(self, keys: AbstractSet[str]) -> None:
        with self._changed:
            self._aloft -= keys
            self._changed.notify_all()


class Flight:
    """The keys that one statement has taken and not yet given back."""

    def __init__(self, flights: Flights, keys: set[str]) -> None:
        self._flights = flights
        self._keys = keys

    def land(self, keys: AbstractSet[str]) -> None:
        """Give back those of `keys` that are still held, so that who waits for them goes on."""
        held = self._keys & keys
        self._keys -= held
        self._flights._land(held)  # noqa: SLF001  (the two classes are one thing)

    def land_all(self) -> None:
        """Give back whatever is still held."""
        self.land(set(self._keys))
