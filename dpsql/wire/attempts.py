"""How often a log-in may fail: as one user from one address, and from one address as anybody."""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

_MOST_KNOWN = 10_000  # whoever tries from many addresses must not fill the memory


class Attempts:
    """Counts failures; who has too many of them within the window is barred until they are old.

    A user is barred from one address only, so that nobody can lock somebody else out.
    """

    def __init__(self, per_user: int, per_address: int, window: float, clock: Callable[[], float]) -> None:
        """Bar after so many failures within `window` seconds of `clock`."""
        self._per_user = per_user
        self._per_address = per_address
        self._window = window
        self._clock = clock
        self._failures: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def barred(self, user: str, address: str) -> bool:
        """Say whether nothing more is to be tried."""
        return self._recent((user, address)) >= self._per_user or self._recent(address) >= self._per_address

    def failed(self, user: str, address: str) -> None:
        """Note a failure."""
        for key, limit in (((user, address), self._per_user), (address, self._per_address)):
            self._failures.setdefault(key, deque(maxlen=limit)).append(self._clock())
            self._failures.move_to_end(key)
        while len(self._failures) > _MOST_KNOWN:
            self._failures.popitem(last=False)

    def succeeded(self, user: str, address: str) -> None:
        """Forget that the user failed."""
        self._failures.pop((user, address), None)

    def _recent(self, key: Hashable) -> int:
        times = self._failures.get(key, deque())
        while times and times[0] <= self._clock() - self._window:
            times.popleft()
        return len(times)
