"""What lies between two times, and bins."""

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.keys import domain
from dpsql.rewrite.functions.temporal import bin_start, whole_months
from dpsql.rewrite.ir.calendar import from_datetime
from dpsql.rewrite.ir.expr import Bins, TimeField
from tests.rewrite.refs import DAY, DROPPED, ENV, HOUR, NUMERIC, PICKED, TIMESTAMP, apply

TIMES = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)).map(from_datetime)  # noqa: DTZ001


def test_elapsed_time_is_exact() -> None:
    """In microseconds, either way."""
    most = 3 * DAY - 1
    assert facts(apply("elapsed", DROPPED, PICKED), ENV).interval == Interval.of(-most, most)


def test_an_age_within_three_days_has_no_months() -> None:
    """Its days are up to a whole month in general, since AGE borrows them from one."""
    age = [
        facts(apply("age", DROPPED, PICKED, type_=NUMERIC, option=TimeField(f)), ENV).interval
        for f in ("year", "month")
    ]
    assert age == [Interval.of(0, 0), Interval.of(-11, 11)]


@given(TIMES, TIMES, TIMES)
def test_whole_months_never_fall_as_time_goes_on(a: int, b: int, c: int) -> None:
    """So the ends of intervals give the ends of ages."""
    early, late = sorted((a, b))
    assert whole_months(early, c) <= whole_months(late, c)
    assert whole_months(c, early) >= whole_months(c, late)
    assert whole_months(a, b) == -whole_months(b, a)


@given(TIMES, st.integers(1, 400 * DAY), TIMES)
def test_a_bin_holds_its_time(at: int, size: int, origin: int) -> None:
    """It begins before, at a whole number of bins from the origin, and ends after; also before the origin."""
    start = bin_start(at, Bins(size, origin))
    assert start <= at < start + size
    assert (start - origin) % size == 0


def test_every_bin_is_a_group() -> None:
    """From the one that holds the least time to the one that holds the greatest."""
    bins = apply("date_bin", PICKED, type_=TIMESTAMP, option=Bins(18 * HOUR, HOUR))
    assert list(domain(bins, ENV, 10)) == [-17 * HOUR, HOUR, 19 * HOUR, 37 * HOUR, 55 * HOUR]
