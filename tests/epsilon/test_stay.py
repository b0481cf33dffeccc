"""In how many periods somebody is there: compared with a calendar that is walked through."""

from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise

import pytest

from dpsql.accounting.privacy_loss import first_day
from dpsql.epsilon.advising.rule import periods_of_stay
from dpsql.epsilon.numbers import BadInput
from dpsql.policy.model import LONGEST_STAY, Period

DAY = 86_400
"""Seconds."""


def numbered(period: Period) -> list[int]:
    """Return for each day of nine years the number of the period that it belongs to, counted as they come."""
    days = [datetime(1896, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(9 * 365)]
    firsts = [first_day(period, day) for day in days]
    return list(accumulate((day != other for day, other in pairwise(firsts)), initial=0))


def walked(period: Period, days: int) -> int:
    """Return the most periods that a stay touches which begins a moment before, at, or after any midnight."""
    number, most = numbered(period), 0
    for midnight in range(1, len(number) - days):
        for begin in (midnight * DAY - 1, midnight * DAY, midnight * DAY + 1):
            end = begin + days * DAY
            most = max(most, number[end // DAY] - number[begin // DAY] + 1)
    return most


@pytest.mark.parametrize("days", [1, 2, 6, 7, 8, 28, 29, 30, 31, 32, 59, 60, 61, 62, 90, 91, 92, 93, 181, 182, 183])
@pytest.mark.parametrize("period", [Period.DAY, Period.WEEK, Period.MONTH, Period.QUARTER])
def test_a_stay_touches_what_the_calendar_says(period: Period, days: int) -> None:
    """Nine years that include 1900, which had no 29th of February; the product's own first days of periods."""
    assert periods_of_stay(period, days) == walked(period, days)


@pytest.mark.parametrize(("days", "months"), [(365, 13), (366, 14), (LONGEST_STAY, 1202)])
def test_long_stays_in_months(days: int, months: int) -> None:
    """A year that begins and ends within months touches 13; a day more may hold 12 whole ones and both ends."""
    assert periods_of_stay(Period.MONTH, days) == months


def test_a_budget_that_never_renews_is_spent_once() -> None:
    """However long somebody stays."""
    assert periods_of_stay(Period.NEVER, None) == periods_of_stay(Period.NEVER, 900) == 1


@pytest.mark.parametrize(("period", "days"), [(Period.DAY, 0), (Period.NEVER, -1), (Period.WEEK, LONGEST_STAY + 1)])
def test_stays_without_sense_are_refused(period: Period, days: int) -> None:
    """With the limits."""
    with pytest.raises(BadInput, match="from 1 to"):
        periods_of_stay(period, days)


@pytest.mark.parametrize("period", [Period.DAY, Period.WEEK, Period.MONTH, Period.QUARTER])
def test_who_stays_for_good_outlives_every_period(period: Period) -> None:
    """So nothing that renews keeps a promise to them."""
    with pytest.raises(BadInput, match="stay for good"):
        periods_of_stay(period, None)
