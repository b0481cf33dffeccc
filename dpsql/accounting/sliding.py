"""Charges within a window that slides: each counts for as long as a person whom it touched may be in the data.

Promise: a person who is in the data for at most W days, both ends included, loses at most the budget of a window of W
days.

Proof. A charge touches the people who are there when its measurement reads the records, within `READ_WITHIN` of the
charge. So the charges that touch somebody who is there from a to b ≤ a + W are made between a − `READ_WITHIN` and b.
Count, at each charge, all since W + `READ_WITHIN` before it, that moment included: at the last of these charges all of
them count, and what counts is never more than the budget. It does not matter which user asked, and from which budget
of their own.
"""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta

from dpsql.accounting.composition import compose, covers, left_of
from dpsql.policy.model import Privacy

READ_WITHIN = timedelta(hours=1)
"""How long after its charge a measurement may still read records; each ends within five minutes."""
_GRAIN = timedelta(minutes=1)
"""Charges of so short a time are one, at the time of the last."""
_NOTHING = compose(())


def counts_for(days: int) -> timedelta:
    """Return for how long a charge counts in a window of so many days."""
    return timedelta(days=days) + READ_WITHIN


class SlidingTotal:
    """Charges by time, which does not run backwards: what comes later counts as made no earlier."""

    def __init__(self) -> None:
        self._times: list[datetime] = []
        self._sums: list[Privacy] = []
        """All charges up to each time, added up."""
        self._began = datetime.min.replace(tzinfo=UTC)

    def enter(self, time: datetime, cost: Privacy) -> None:
        """Add the next charge."""
        whole = compose((self.whole, cost))
        time = max(time, self._times[-1]) if self._times else time
        if self._times and time - self._began < _GRAIN:
            self._times[-1], self._sums[-1] = time, whole
        else:
            self._began = time
            self._times.append(time)
            self._sums.append(whole)

    @property
    def whole(self) -> Privacy:
        """Return what was ever charged."""
        return self._sums[-1] if self._sums else _NOTHING

    def since(self, moment: datetime) -> Privacy:
        """Return what was charged from a moment on, that moment included, with what is yet to come."""
        return left_of(self.whole, self._before(bisect_left(self._times, moment)))

    def room_after(self, most: Privacy) -> datetime | None:
        """Return the time of the last charge that must leave the window so that no more than `most` is in it."""

        def is_enough(place: int) -> bool:
            return covers(most, left_of(self.whole, self._before(place + 1)))

        first_enough = bisect_left(range(len(self._times)), True, key=is_enough)
        return self._times[first_enough] if first_enough < len(self._times) else None

    def _before(self, place: int) -> Privacy:
        return self._sums[place - 1] if place else _NOTHING
