"""A budget of a window that slides: what counts, when it is free again, and what a person loses at the most."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.composition import compose, left_of
from dpsql.accounting.ledger_clock import LedgerClock
from dpsql.accounting.sliding import READ_WITHIN, SlidingTotal, counts_for
from dpsql.policy.model import Privacy

START = datetime(2024, 5, 15, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
Charges = Sequence[tuple[datetime, Privacy]]
_STEPS = st.one_of(st.integers(0, 90), st.integers(0, 10**4), st.integers(0, 6 * 86_400))
"""Seconds until the next charge."""
_COSTS = st.builds(Privacy, st.integers(1, 9).map(lambda n: Fraction(n, 10)), st.integers(0, 3).map(Fraction))


@st.composite
def charges(draw: st.DrawFn) -> Charges:
    """Draw charges in their order, many of the same minute and others days apart."""
    at, made = START, []
    for step, cost in draw(st.lists(st.tuples(_STEPS, _COSTS), min_size=1, max_size=30)):
        at += step * SECOND
        made.append((at, cost))
    return made


def _total(made: Charges) -> SlidingTotal:
    total = SlidingTotal()
    for time, cost in made:
        total.enter(time, cost)
    return total


def _cost(made: Charges, since: datetime) -> Privacy:
    return compose(cost for time, cost in made if time >= since)


@given(charges(), st.integers(-10, 40 * 86_400))
def test_no_charge_leaves_before_its_time(made: Charges, seconds: int) -> None:
    """That of the very moment counts; those of a minute stay together until the last of them leaves, and no longer."""
    since, total = START + seconds * SECOND, _total(made)
    counted = total.since(since)
    assert left_of(_cost(made, since), counted) == compose(())
    assert left_of(counted, _cost(made, since - timedelta(minutes=1))) == compose(())
    assert total.whole == _cost(made, START)


@given(charges(), st.integers(0, 20), st.integers(0, 20))
def test_it_is_said_which_charge_has_to_leave(made: Charges, tenths: int, delta: int) -> None:
    """A moment later there is room, and a moment before there was not."""
    most, total = Privacy(Fraction(tenths, 10), Fraction(delta)), _total(made)
    last = total.room_after(most)
    assert last is not None  # once all are gone
    assert left_of(total.since(last + timedelta(microseconds=1)), most) == compose(())
    there = total.since(last)
    assert last == made[0][0] or there.epsilon > most.epsilon or there.delta > most.delta or total.since(START) == there


def test_what_is_older_than_what_came_before_it_counts_as_long() -> None:
    """Ledgers of a time in which the clock was set back have such lines."""
    total = _total([(START, Privacy(Fraction(1))), (START - timedelta(days=9), Privacy(Fraction(2)))])
    assert total.since(START) == Privacy(Fraction(3))


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


def test_a_charge_counts_for_the_window_and_as_long_as_its_measurement_may_take() -> None:
    """Who comes just before the records are read, and stays to the end of the last day, is there for all that counts."""
    assert counts_for(30) == timedelta(days=30) + READ_WITHIN
