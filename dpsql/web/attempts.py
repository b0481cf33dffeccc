"""How often somebody may try to log in: a sliding window for each address and for each name.

The limit of a name is wider than that of an address, so that a stranger can slow down guesses at a name from many places but
one stranger can't lock its owner out.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

WINDOW = 300.0
"""Seconds after which an attempt is forgotten."""
PER_ADDRESS = 10
PER_NAME = 50
_MOST = 10_000
"""How many addresses and names are remembered; beyond that everybody waits until the window has passed."""


@dataclass(slots=True)
class Attempts:
    """The attempts of the last minutes that have not succeeded."""

    clock: Callable[[], float]
    _times: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def begin(self, address: str, name: str) -> float:
        """Count an attempt and return 0, or return the seconds to wait and count nothing."""
        now = self.clock()
        self._forget(now)
        keys = (("address", address), ("name", name))
        wait = max(self._wait(key, most, now) for key, most in zip(keys, (PER_ADDRESS, PER_NAME), strict=True))
        if not wait:
            for key in keys:
                self._times.setdefault(key, []).append(now)
        return wait

    def succeed(self, address: str, name: str) -> None:
        """Forget the attempts of somebody who has come in."""
        self._times.pop(("address", address), None)
        self._times.pop(("name", name), None)

    def _wait(self, key: tuple[str, str], most: int, now: float) -> float:
        times = self._times.get(key, [])
        if len(times) >= most:
            return times[-most] + WINDOW - now
        return WINDOW if not times and len(self._times) >= _MOST else 0.0

    def _forget(self, now: float) -> None:
        for key in list(self._times):
            kept = [time for time in self._times[key] if time + WINDOW > now]
            if kept:
                self._times[key] = kept
            else:
                del self._times[key]
