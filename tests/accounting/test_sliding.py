"""A budget of a window that slides: what counts, when it is free again, and what a person loses at the most."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.privacy_loss import compose, covers
from dpsql.accounting.sliding import ReadDays, SlidingTotal
from dpsql.accounting.sql.ledger import LedgerClock
from dpsql.errors import InternalError
from dpsql.policy.model import Privacy

START = datetime(2024, 5, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)
TODAY = START.date()
Charges = Sequence[tuple[ReadDays, Privacy]]
_COSTS = st.builds(Privacy, st.integers(1, 9).map(lambda n: Fraction(n, 10)), st.integers(0, 3).map(Fraction))
_READ = st.builds(
    lambda first, days: ReadDays(TODAY + first * DAY, TODAY + (first + days) * DAY),
    st.integers(-20, 3),
    st.one_of(st.integers(0, 1), st.integers(0, 9)),
)
_CHARGES = st.lists(st.tuples(_READ, _COSTS), max_size=20)


def _total(made: Charges) -> SlidingTotal:
    total = SlidingTotal()
    for read, cost in made:
        total.enter(read, cost)
    return total


def _stays(made: Charges, read: ReadDays, window: int) -> Iterator[Privacy]:
    """Yield what is charged to whoever is there from some day on, and on one of the days of `read`."""
    for number in range((read.last - read.first).days + window + 1):
        begin = read.first + (number - window) * DAY
        end = begin + window * DAY
        yield compose(cost for days, cost in made if days.first <= end and days.last >= begin)


@given(_CHARGES, _READ, st.integers(1, 12))
def test_the_fullest_window_is_the_fullest_of_all_stays(made: Charges, read: ReadDays, window: int) -> None:
    """Of those that meet what is read: the copies may be of any days, and in any order."""
    stays, total = list(_stays(made, read, window)), _total(made)
    assert total.fullest(read, window) == Privacy(max(s.epsilon for s in stays), max(s.delta for s in stays))
    assert total.whole == compose(cost for _, cost in made)


@given(_CHARGES, st.integers(0, 20), st.integers(0, 20), st.integers(1, 12))
def test_it_is_said_from_which_day_on_there_is_room(made: Charges, tenths: int, delta: int, window: int) -> None:
    """On that day there is, and before it there was not."""
    most, total = Privacy(Fraction(tenths, 10), Fraction(delta)), _total(made)
    day = total.free_from(most, window, TODAY)
    assert covers(most, total.fullest(ReadDays(day, day), window))
    before = (TODAY + number * DAY for number in range((day - TODAY).days))
    assert not any(covers(most, total.fullest(ReadDays(each, each), window)) for each in before)


def test_days_are_in_their_order() -> None:
    """Others are a mistake of ours."""
    with pytest.raises(InternalError):
        ReadDays(TODAY, TODAY - DAY)


def test_what_is_read_now_is_read_within_an_hour() -> None:
    """Shortly before midnight that is on two days: who comes after midnight is there, too."""
    assert ReadDays.of_now(START) == ReadDays(TODAY, TODAY)
    late = START.replace(hour=23, minute=30)
    assert ReadDays.of_now(late) == ReadDays(TODAY, TODAY + DAY)


def test_the_clock_goes_on_where_it_was_set_back() -> None:
    """By the time that passes, until the system's is as far; what is written already is a bound, too."""
    told, passed = [START], [100.0]
    clock = LedgerClock(lambda: told[0], lambda: passed[0])
    assert clock.now() == START
    told[0], passed[0] = START - timedelta(days=3), 160.0
    assert clock.now() == START + timedelta(minutes=1)
    told[0], passed[0] = START - timedelta(days=3) + timedelta(hours=1), 160.0 + 3600
    assert clock.now() == START + timedelta(hours=1, minutes=1)
    told[0] = START + timedelta(days=1)
    assert clock.now() == START + timedelta(days=1)
    assert clock.now(START + timedelta(days=2)) == START + timedelta(days=2)
    assert LedgerClock(lambda: START).now(START + timedelta(days=2)) == START + timedelta(days=2)


def test_a_stay_of_exactly_a_window_touches_both_its_days() -> None:
    """Weekly copies beside a window of a week: who is there from one to the next is in both, and has one budget."""
    weekly = [(ReadDays(date(2024, 5, day), date(2024, 5, day)), Privacy(Fraction(1))) for day in (1, 8, 15)]
    total = _total(weekly)
    assert total.fullest(ReadDays(date(2024, 5, 8), date(2024, 5, 8)), 7) == Privacy(Fraction(2))
    assert total.fullest(ReadDays(date(2024, 5, 22), date(2024, 5, 22)), 7) == Privacy(Fraction(1))
    assert total.fullest(ReadDays(date(2024, 5, 23), date(2024, 5, 23)), 7) == Privacy(Fraction(0))
