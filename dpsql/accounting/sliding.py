"""Charges within a window that slides: each counts for as long as a person whose records it reads may be in the data.

Promise: a person who is in the data for at most W days, both ends included, loses at most the budget of a window of W
days.

Proof. Each charge has the days (UTC) on which the records that it reads were read: of the records themselves the day of the
charge and that of an hour later (`READ_WITHIN`), of a copy those on which it was begun and finished. It touches only people
who were there then. Who is there from a to b ≤ a + W is there on no more than the W + 1 days from a's on. So the charges
that touch somebody have days among some W + 1 that follow each other. Before each charge the ledger sees that for all such
W + 1 days the charges that have one of them, this one included, are no more than the budget. Any of them is the last one for
some charge of the person's, and nothing that is charged is ever taken back. It does not matter which user asked, from which
budget of their own, in which order copies were made, and on which machine.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import accumulate
from typing import Self

from dpsql.accounting.privacy_loss import compose, covers, remaining
from dpsql.errors import InternalError
from dpsql.policy.model import Privacy

READ_WITHIN = timedelta(hours=1)
"""How long after its charge a measurement may still read records; each ends within five minutes."""
_NOTHING = compose(())


@dataclass(frozen=True, slots=True)
class ReadDays:
    """The days (UTC) on which the records were read that a charge is for, both included."""

    first: date
    last: date

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise InternalError

    @classmethod
    def of_now(cls, charged: datetime) -> Self:
        """Return the days of what is read of the records themselves after a charge."""
        return cls(charged.date(), (charged + READ_WITHIN).date())

    @classmethod
    def of_all(cls, days: "Iterable[ReadDays]") -> "ReadDays":
        """Return the days from the first to the last of several."""
        every = list(days)
        return ReadDays(min(each.first for each in every), max(each.last for each in every))


@dataclass(slots=True)
class _Sums:
    """What was charged up to a day, by the day of each charge."""

    days: list[int] = field(default_factory=list)
    each: list[Privacy] = field(default_factory=list)
    sums: list[Privacy] = field(default_factory=list)

    def enter(self, day: int, cost: Privacy) -> None:
        """Add a charge: nearly always at the end."""
        place = bisect_left(self.days, day)
        if place == len(self.days) or self.days[place] != day:
            self.days.insert(place, day)
            self.each.insert(place, _NOTHING)
        self.each[place] = compose((self.each[place], cost))
        before = self.sums[place - 1] if place else _NOTHING
        self.sums[place:] = list(accumulate(self.each[place:], lambda a, b: compose((a, b)), initial=before))[1:]

    def through(self, day: int) -> Privacy:
        """Return what was charged up to a day, that day included."""
        place = bisect_right(self.days, day)
        return self.sums[place - 1] if place else _NOTHING


class SlidingTotal:
    """Charges by the days on which records were read for them, in any order."""

    def __init__(self) -> None:
        self._begun, self._ended = _Sums(), _Sums()
        """By the first and by the last of a charge's days."""

    def enter(self, read: ReadDays, cost: Privacy) -> None:
        """Add a charge."""
        self._begun.enter(read.first.toordinal(), cost)
        self._ended.enter(read.last.toordinal(), cost)

    @property
    def whole(self) -> Privacy:
        """Return what was ever charged."""
        return self._begun.sums[-1] if self._begun.sums else _NOTHING

    def fullest(self, read: ReadDays, window: int) -> Privacy:
        """Return the most that counts in any days that a stay may have which meets these: most ε, and most δ.

        Of those W + 1 days that meet a charge's own, what is most counts before it is made.
        """
        first, last = read.first.toordinal() - window, read.last.toordinal()
        # Where one more begins to count: between two of these there is only less.
        some, more = (bisect_right(self._begun.days, day + window) for day in (first, last))
        begins = self._begun.days[some:more]
        counts = [self._within(day, window) for day in (first, *(begin - window for begin in begins))]
        return Privacy(*(max(amounts) for amounts in zip(*((c.epsilon, c.delta, c.rho) for c in counts), strict=True)))

    def free_from(self, most: Privacy, window: int, today: date) -> date:
        """Return the first day, today or later, on which no more than `most` counts for what is read on it alone."""
        now = today.toordinal()
        leaving = (last + window + 1 for last in self._ended.days[bisect_left(self._ended.days, now - window) :])
        days = (date.fromordinal(day) for day in (now, *(day for day in leaving if day > now)))
        return next(day for day in days if covers(most, self.fullest(ReadDays(day, day), window)))

    def _within(self, first: int, window: int) -> Privacy:
        """Return what has one of the days from the `first` on: all that has begun by the last but what had ended before."""
        return remaining(self._begun.through(first + window), self._ended.through(first - 1))
