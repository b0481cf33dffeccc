"""How often a log-in may fail: as one user from one place, and from one place as anybody.

A place is an IPv4 address, or the 64 bits of an IPv6 address that a network gives to one customer. Whoever has logged in
from one is counted by themselves there: strangers behind the same router, or the same proxy, bar them by no other name.
"""

import ipaddress
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

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
