"""Periods and terms of the calendar."""

from datetime import UTC, date, datetime

import pytest

from dpsql.policy.growth import Every, Grows, TermLength


@pytest.mark.parametrize(
    ("length", "day", "first", "end", "named"),
    [
        (TermLength.MONTH, date(2024, 2, 29), date(2024, 2, 1), date(2024, 3, 1), "2024-02"),
        (TermLength.MONTH, date(2025, 12, 31), date(2025, 12, 1), date(2026, 1, 1), "2025-12"),
        (TermLength.QUARTER, date(2025, 11, 3), date(2025, 10, 1), date(2026, 1, 1), "2025 Q4"),
        (TermLength.QUARTER, date(2025, 3, 31), date(2025, 1, 1), date(2025, 4, 1), "2025 Q1"),
        (TermLength.YEAR, date(2025, 1, 1), date(2025, 1, 1), date(2026, 1, 1), "2025"),
    ],
)
def test_a_day_is_in_one_term(length: TermLength, day: date, first: date, end: date, named: str) -> None:
    """From its first day up to the first one after it."""
    term = Grows("t", Every.DAY, 1, length, 30).term_of(day)
    assert (term.first, term.end, str(term)) == (first, end, named)


@pytest.mark.parametrize("every", Every)
@pytest.mark.parametrize("length", TermLength)
def test_periods_divide_terms(every: Every, length: TermLength) -> None:
    """They follow each other without a gap; a quarter alone divides no month."""
    grows = Grows("t", every, 1, length, 30)
    term = grows.term_of(date(2024, 8, 15))
    if (every, length) == (Every.QUARTER, TermLength.MONTH):
        return
    periods = list(grows.periods(term.first, term.end))
    assert periods[0] == term.first
    assert [grows.end_of(period) for period in periods] == [*periods[1:], term.end]
    assert all(grows.is_boundary(period) for period in periods)


def test_a_period_closes_some_days_after_its_end() -> None:
    """To the second; and the last moment of a term is the grace after its last close."""
    grows = Grows("t", Every.DAY, 2, TermLength.MONTH, 10)
    closes = datetime(2024, 3, 3, tzinfo=UTC)
    assert grows.closes(date(2024, 2, 29)) == closes
    assert grows.is_closed(date(2024, 2, 29), closes)
    assert not grows.is_closed(date(2024, 2, 29), datetime(2024, 3, 2, 23, 59, 59, tzinfo=UTC))
    assert grows.last_moment(grows.term_of(date(2024, 2, 5))) == datetime(2024, 3, 13, tzinfo=UTC)
