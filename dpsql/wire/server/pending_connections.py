"""Connections that have not logged in: a limit for all and one for each place; the oldest is closed first.

Real clients log in at once. So when there is no more room the oldest connection is closed for the new one, unless it
is too young for that; and a place with many connections loses its own.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from dpsql.wire.server.login_throttle import place_of

_GRACE = 1.0  # seconds in which a connection is not closed for another


class PendingConnection(Protocol):
    """A connection that may be closed to make room."""

    @property
    def may_go(self) -> bool:
        """Return whether nothing is lost when it is closed."""

    def abort(self) -> None:
        """Hang up at once."""


_C = TypeVar("_C", bound=PendingConnection)


class PendingConnections(Generic[_C]):
    """Connections by place, oldest first."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        """Hold `most` connections, half of them from one place."""
        self._most = most
        self._of_place = max(most // 2, 1)
        self._clock = clock
        self._places: dict[str, dict[_C, float]] = {}
        self._of: dict[_C, str] = {}

    def __len__(self) -> int:
        """Return how many are there."""
        return len(self._of)

    def admit(self, connection: _C, address: str) -> bool:
        """Admit a connection, closing another if need be; return False where there is no room."""
        place = place_of(address)
        theirs = self._places.get(place, {})
        if len(theirs) >= self._of_place:
            full = theirs
        elif len(self._of) >= self._most:
            full = max(self._places.values(), key=len)
        else:
            full = None
        if full is not None and not self._make_room(full):
            return False
        self._places.setdefault(place, {})[connection] = self._clock()
        self._of[connection] = place
        return True

    def remove(self, connection: _C) -> None:
        """Stop counting a connection; it may have been removed before."""
        place = self._of.pop(connection, None)
        if place is not None:
            del self._places[place][connection]
            if not self._places[place]:
                del self._places[place]

    def _make_room(self, among: dict[_C, float]) -> bool:
        late = self._clock() - _GRACE
        oldest = next((connection for connection, since in among.items() if since <= late and connection.may_go), None)
        if oldest is None:
            return False
        self.remove(oldest)
        oldest.abort()
        return True
