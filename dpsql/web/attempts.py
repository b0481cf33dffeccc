"""How often somebody may try to log in: a sliding window for each place, and for each name tried from one place.

Attempts from other places never count against anybody, so that a stranger can't lock a user out. Nor do those by other
names from a place where a user has logged in.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from dpsql.wire.server.limits import place_of

WINDOW = 300.0
"""Seconds after which an attempt is forgotten."""
PER_PLACE = 50
PER_NAME = 10
_MOST = 10_000
"""How many places and names are remembered; beyond that the oldest are forgotten."""

_Key = tuple[str, str | None]


@dataclass(slots=True)
class Attempts:
    """The attempts of the last minutes that have not succeeded."""

    clock: Callable[[], float]
    _times: OrderedDict[_Key, list[float]] = field(default_factory=OrderedDict)
    _at_home: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)
    """Places and the names that have logged in from them, those who did so last at the end."""

    def begin(self, address: str, name: str) -> float:
        """Count an attempt and return 0, or return the seconds to wait and count nothing."""
        now, place = self.clock(), place_of(address)
        keys: tuple[_Key, ...] = ((place, name),) if (place, name) in self._at_home else ((place, name), (place, None))
        wait = max(self._wait(key, most, now) for key, most in zip(keys, (PER_NAME, PER_PLACE), strict=False))
        if wait:
            return wait
        for key in keys:
            self._times[key] = [time for time in self._times.get(key, []) if time + WINDOW > now] + [now]
            self._times.move_to_end(key)
        while len(self._times) > _MOST:
            self._times.popitem(last=False)
        return 0.0

    def succeed(self, address: str, name: str) -> None:
        """Forget the attempts of somebody who has logged in: the name's, and as many of the place's."""
        place = place_of(address)
        self._at_home[place, name] = None
        self._at_home.move_to_end((place, name))
        if len(self._at_home) > _MOST:
            self._at_home.popitem(last=False)
        times = self._times.pop((place, name), [])
        kept = list(self._times.pop((place, None), []))
        for time in times:
            if time in kept:
                kept.remove(time)
        if kept:
            self._times[place, None] = kept

    def _wait(self, key: _Key, most: int, now: float) -> float:
        times = self._times.get(key, [])
        return max(times[-most] + WINDOW - now, 0.0) if len(times) >= most else 0.0
