"""Values between their text and Python's exact values."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.ir.expr import IntervalValue
from dpsql.rewrite.ir.literal import exact_number, format_value, parse_interval, parse_value, simplest


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("t", SqlType.BOOLEAN, True),
        (" OFF ", SqlType.BOOLEAN, False),
        ("-7", SqlType.BIGINT, -7),
        ("0.10", SqlType.NUMERIC, Fraction(1, 10)),
        ("2.0", SqlType.DOUBLE, 2),
        ("1e3", SqlType.DOUBLE, 1000),
        ("1970-01-02", SqlType.DATE, 1),
        ("1970-01-01 00:00:01.5", SqlType.TIMESTAMP, 1_500_000),
        ("1970-01-01 00:00:01+02", SqlType.TIMESTAMP, 1_000_000),
        ("it's", SqlType.TEXT, "it's"),
    ],
)
def test_texts_are_read_exactly(text: str, type_: SqlType, value: Value) -> None:
    """Decimals are fractions; a zone behind a timestamp is left off, as PostgreSQL leaves it."""
    assert parse_value(text, type_) == value


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("maybe", SqlType.BOOLEAN),
        ("NaN", SqlType.DOUBLE),
        ("Infinity", SqlType.NUMERIC),
        ("1e999999999", SqlType.NUMERIC),
        ("9" * 400, SqlType.NUMERIC),
        ("infinity", SqlType.DATE),
        ("1.5", SqlType.INTEGER),
    ],
)
def test_what_has_no_place_is_no_value(text: str, type_: SqlType) -> None:
    """And takes no time to find out."""
    with pytest.raises(ValueError, match=r".*"):
        parse_value(text, type_)


@given(st.integers(-719_162, 2_932_896))
def test_dates_come_back(days: int) -> None:
    """Written as PostgreSQL reads them."""
    assert parse_value(format_value(days, SqlType.DATE), SqlType.DATE) == days


@given(st.fractions(-1000, 1000, max_denominator=1000))
def test_equal_numbers_have_one_form(number: Fraction) -> None:
    """A whole number is an int."""
    assert type(simplest(number)) is (int if number.denominator == 1 else Fraction)
    assert exact_number(f"{number.numerator}") == number.numerator


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("P1Y2M3DT4H5M6.5S", IntervalValue(14, 3, (4 * 3600 + 5 * 60) * 10**6 + 6_500_000)),
        ("P-1W", IntervalValue(0, -7, 0)),
        ("PT0S", IntervalValue(0, 0, 0)),
    ],
)
def test_intervals_have_three_parts(text: str, value: IntervalValue) -> None:
    """Months and days have no length of their own."""
    assert parse_interval(text) == value


def test_other_intervals_are_not_read() -> None:
    """The shadow is told to print ISO 8601."""
    with pytest.raises(ValueError, match="1 day"):
        parse_interval("1 day")
