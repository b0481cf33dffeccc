"""The ledger's own clock: the system's, but that it never runs backwards."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from dpsql.clock import Clock


class LedgerClock:
    """Where the system's clock was set back, it goes on from where it was by the time that passes."""

    def __init__(self, clock: Clock, passing: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._passing = clock, passing
        self._last = datetime.min.replace(tzinfo=UTC)
        self._passed = passing()

    def now(self, written: datetime | None = None) -> datetime:
        """Return the time in UTC: none earlier than it has told before, nor than what is `written` already."""
        now, passed = self._clock().astimezone(UTC), self._passing()
        if now < self._last:
            now = self._last + timedelta(seconds=passed - self._passed)
        self._last = now if written is None else max(now, written)
        self._passed = passed
        return self._last
