"""Limits for those who have not logged in: connections, the oldest of which is closed first, and log-ins that fail.

A place is an IPv4 address, or the 64 bits of an IPv6 address that a network gives to one customer. Whoever has logged in
from one is counted by themselves there: strangers behind the same router, or the same proxy, bar them by no other name.
"""

import ipaddress
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

_MOST_KNOWN = 10_000  # attempts from many places must not fill the memory, nor users who come from many
_NETWORK = 64  # bits


class LoginThrottle:
    """Counts failures; too many within the window bar a user and place until they are older than that.

    A user is barred from one place only, so that nobody can lock somebody else out. While many places are counted those
    that failed longest ago are forgotten; nobody is barred because of others.
    """

    def __init__(self, per_user: int, per_address: int, window: float, clock: Callable[[], float]) -> None:
        """Bar after so many failures within `window` seconds of `clock`."""
        self._per_user = per_user
        self._per_address = per_address
        self._window = window
        self._clock = clock
        self._failures: OrderedDict[Hashable, deque[float]] = OrderedDict()
        self._at_home: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Users and the places from which they have logged in, those who did so last at the end."""

    def barred(self, user: str, address: str) -> bool:
        """Return whether no further attempt is allowed now."""
        place = place_of(address)
        if self._recent((user, place)) >= self._per_user:
            return True
        return (user, place) not in self._at_home and self._recent(place) >= self._per_address

    def failed(self, user: str, address: str) -> None:
        """Note a failure."""
        place = place_of(address)
        for key, limit in (((user, place), self._per_user), (place, self._per_address)):
            self._failures.setdefault(key, deque(maxlen=limit)).append(self._clock())
            self._failures.move_to_end(key)
        while len(self._failures) > _MOST_KNOWN:
            self._failures.popitem(last=False)

    def succeeded(self, user: str, address: str) -> None:
        """Forget the failures of a user from a place, and remember that they were there."""
        at_home = (user, place_of(address))
        self._failures.pop(at_home, None)
        self._at_home[at_home] = None
        self._at_home.move_to_end(at_home)
        if len(self._at_home) > _MOST_KNOWN:
            self._at_home.popitem(last=False)

    def _recent(self, key: Hashable) -> int:
        times = self._failures.get(key, deque())
        while times and times[0] <= self._clock() - self._window:
            times.popleft()
        return len(times)


def place_of(address: str) -> str:
    """Return the place of an address: itself, or its network where a client may choose among many."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _NETWORK), strict=False))


# Connections that have not logged in: a limit for all and one for each place; the oldest is closed first.
#
# Real clients log in at once. So when there is no more room the oldest connection is closed for the new one, unless it
# is too young for that; and a place with many connections loses its own.

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
