"""The calendar in microseconds since 1970."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.rewrite.ir.calendar import UNITS, from_datetime, shift, step, to_datetime, truncate
from dpsql.rewrite.ir.expr import IntervalValue

MOMENTS = st.datetimes(dt.datetime(2, 1, 1), dt.datetime(7000, 12, 31)).map(from_datetime)  # noqa: DTZ001


def at(text: str) -> int:
    """Return a timestamp in microseconds."""
    return from_datetime(dt.datetime.fromisoformat(text))


@pytest.mark.parametrize(
    ("unit", "start"),
    [
        ("hour", "2019-08-15 17:00"),
        ("week", "2019-08-12"),
        ("quarter", "2019-07-01"),
        ("decade", "2010-01-01"),
        ("century", "2001-01-01"),
        ("millennium", "2001-01-01"),
    ],
)
def test_units_begin_where_postgresql_begins_them(unit: str, start: str) -> None:
    """Weeks on Monday, centuries in a year 1."""
    assert truncate(unit, at("2019-08-15 17:42:01")) == at(start)


@given(MOMENTS, st.sampled_from(UNITS))
def test_a_unit_holds_its_time(micros: int, unit: str) -> None:
    """It begins before, and the next one after."""
    start = truncate(unit, micros)
    assert start <= micros < step(unit, start)
    assert truncate(unit, start) == start


@given(MOMENTS)
def test_times_come_back(micros: int) -> None:
    """Python has microseconds too."""
    assert from_datetime(to_datetime(micros)) == micros


def test_months_end_where_they_end() -> None:
    """A month after 31 January is the end of February."""
    assert shift(at("2019-01-31 10:00"), IntervalValue(1, 0, 0)) == at("2019-02-28 10:00")
    assert shift(at("2020-02-29"), IntervalValue(12, 1, 1)) == at("2021-03-01") + 1
