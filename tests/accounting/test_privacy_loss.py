"""Amounts, periods, and the proof of payment."""

import re
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsql
from dpsql.accounting.privacy_loss import Charge, first_day, issue, renewal, show_down, show_up
from dpsql.errors import InternalError
from dpsql.policy.model import Period, Privacy

moments = st.integers(0, 2**32).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@pytest.mark.parametrize(
    ("period", "first", "next_first"),
    [
        (Period.DAY, date(2024, 2, 29), date(2024, 3, 1)),
        (Period.WEEK, date(2024, 2, 26), date(2024, 3, 4)),
        (Period.MONTH, date(2024, 2, 1), date(2024, 3, 1)),
        (Period.QUARTER, date(2024, 1, 1), date(2024, 4, 1)),
        (Period.NEVER, date.min, None),
    ],
)
def test_periods_in_utc(period: Period, first: date, next_first: date | None) -> None:
    """Weeks begin on Monday, months on their first day; a leap day is a day."""
    now = datetime(2024, 2, 29, 23, 59, tzinfo=UTC)
    assert first_day(period, now) == first
    assert renewal(period, now) == next_first


@given(now=moments, period=st.sampled_from([Period.DAY, Period.WEEK, Period.MONTH, Period.QUARTER]))
def test_periods_join_without_gap(now: datetime, period: Period) -> None:
    """Now lies in the current period, and the next begins with the day that `renewal` names."""
    first, then = first_day(period, now), renewal(period, now)
    assert then is not None
    assert first <= now.date() < then
    assert first_day(period, datetime(then.year, then.month, then.day, tzinfo=UTC)) == then


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(100), "100"),
        (Fraction("0.1"), "0.1"),
        (Fraction("1.50"), "1.5"),
        (Fraction(2, 3), "0.666666666666"),
        (Fraction("1e-6"), "1e-6"),
        (Fraction("0.0001"), "0.0001"),
    ],
)
def test_amounts_are_shown_in_decimals(amount: Fraction, text: str) -> None:
    """Exact where it fits, else rounded down: what is left is never overstated."""
    assert show_down(amount) == text
    assert Fraction(show_down(amount)) <= amount <= Fraction(show_up(amount))


def test_charge_is_not_made_by_hand() -> None:
    """Only `issue` makes a charge."""
    cost = Privacy(Fraction(1))
    with pytest.raises(InternalError):
        Charge(frozenset({"k"}), cost, object())
    assert issue(frozenset({"k"}), cost).keys == frozenset({"k"})


def test_only_ledgers_issue_charges() -> None:
    """No other module of the product calls `issue` of privacy_loss.py."""
    package = Path(dpsql.__file__).parent
    calls = re.compile(r"(?<!def )\bissue\(")
    issuing = {str(path.relative_to(package)) for path in package.rglob("*.py") if calls.search(path.read_text())}
    assert issuing == {"accounting/sql/ledger.py"}
