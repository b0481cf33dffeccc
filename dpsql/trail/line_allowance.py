"""How many bytes of lines that cost nothing a user has: a bucket that fills by time, and what is counted once it is empty."""

import time
from collections import Counter
from collections.abc import Callable, Iterator

BUCKET = 32 * 2**20
"""Bytes that a full bucket has: thousands of statements of a dashboard, or of a tool that reads a catalogue."""
A_SECOND = 4 * 2**10
"""Bytes by which it fills: a third of a gigabyte a day."""
UNTIL_TOLD = 60.0
"""Seconds until a count is written, so that counts take a line a minute."""
Whose = tuple[str, str]
"""A user, and the role."""


class LineAllowance:
    """The buckets of all users of one process, and what was counted; its caller has the lock."""

    def __init__(self, passing: Callable[[], float] = time.monotonic) -> None:
        self._passing = passing
        self._taken: dict[str, tuple[float, float]] = {}
        """For each user who took something: bytes that the bucket lacked, and when."""
        self._counts: dict[Whose, Counter[str]] = {}
        self._since = 0.0

    def admits(self, user: str) -> bool:
        """Return whether a user's bucket has something left."""
        return self._lacking(user) < BUCKET

    def take(self, user: str, size: int) -> None:
        """Take the bytes of a line that was written, also where so many were not left."""
        lacking = self._lacking(user) + size
        self._taken[user] = (lacking, self._passing())

    def count(self, whose: Whose, verdict: str) -> None:
        """Count a line that is not written."""
        if not self._counts:
            self._since = self._passing()
        self._counts.setdefault(whose, Counter())[verdict] += 1

    def due(self, *, now: bool = False) -> Iterator[tuple[Whose, str]]:
        """Yield, once a minute or `now`, what is to be written of what was counted, which is forgotten then."""
        if not self._counts or not (now or self._passing() >= self._since + UNTIL_TOLD):
            return
        counts, self._counts = self._counts, {}
        for whose, verdicts in counts.items():
            each = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(verdicts.items()))
            yield whose, f"… and {verdicts.total():,} more: {each}"

    def _lacking(self, user: str) -> float:
        lacking, since = self._taken.get(user, (0.0, 0.0))
        lacking -= (self._passing() - since) * A_SECOND
        if lacking <= 0:
            self._taken.pop(user, None)
        return max(lacking, 0.0)
