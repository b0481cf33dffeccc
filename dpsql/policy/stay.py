"""How many periods of a budget somebody is in the data for: what renews is given out in each of them.

A budget renews at midnight UTC. A person who stays for T days stays T·24 hours, and comes and goes at any time
of a day. To be there in k periods in a row they must be there throughout the k − 2 in the middle, and for a moment of
the first and of the last. So k is possible if, and only if, some k − 2 periods in a row are shorter than T days
together: for days T + 1.
"""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import date
from functools import cache
from itertools import accumulate
from typing import assert_never

from dpsql.policy.model import Period

LONGEST_STAY = 36_525
"""The longest stay in days that is counted: a hundred years. A person who stays for longer stays for good."""

_WEEK = 7
_SHORTEST_MONTH = 28
_CYCLE = 400 * 12
"""After so many months the calendar repeats itself."""


def periods_touched(period: Period, days: int | None) -> int:
    """Return in how many periods, at the most, somebody is there who stays for `days`, or for good (None).

    Raises:
        ValueError: less than a day, more than `LONGEST_STAY`, or for good while the budget renews.
    """
    if days is not None and not 1 <= days <= LONGEST_STAY:
        raise ValueError(f"a stay of {days:,} days: it must be from 1 to {LONGEST_STAY:,} days, or for good")
    match period:
        case Period.NEVER:
            return 1
        case _ if days is None:
            raise ValueError(
                f"a budget that renews every {period} has no end for people who stay for good: "
                "say how long they stay, or let it never renew"
            )
        case Period.DAY:
            return days + 1
        case Period.WEEK:
            return 2 + (days - 1) // _WEEK
        case Period.MONTH:
            return _months(days, 1)
        case Period.QUARTER:
            return _months(days, 3)
        case _:
            assert_never(period)


def _months(days: int, each: int) -> int:
    """Return the largest k of which k − 2 periods of `each` so many months, in a row, may be shorter than `days`."""
    return bisect_left(range(LONGEST_STAY // (each * _SHORTEST_MONTH)), days, key=lambda k: _shortest(k, each)) + 1


@cache
def _shortest(periods: int, each: int) -> int:
    """Return the fewest days that so many periods of months in a row may have; a first one begins with a January."""
    ends = _month_ends()
    return min(ends[first + periods * each] - ends[first] for first in range(0, _CYCLE, each))


@cache
def _month_ends() -> Sequence[int]:
    """Return the days before each month, from a first one on, for more months than a stay and the cycle have."""
    lengths = [
        (date(year + (month == 12), month % 12 + 1, 1) - date(year, month, 1)).days
        for year in range(2000, 2000 + 400 + 110)
        for month in range(1, 13)
    ]
    return (0, *accumulate(lengths))
