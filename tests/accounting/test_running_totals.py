"""Running totals are what the lines add up to, whatever is asked of them and when."""

from datetime import UTC, date, datetime
from fractions import Fraction

from dpsql.accounting.ledger import Entry
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sql.balances import RunningTotals
from dpsql.policy.model import Privacy

NOTHING = Privacy(Fraction(0))


def _entry(day: int, role: str, cost: str, *, measured: bool = True) -> Entry:
    time = datetime(2024, 5, day, 12, tzinfo=UTC)
    return Entry(
        time, "ana", role, "passenger", "SELECT 1", "k", "", Privacy(Fraction(cost)), measured, ReadDays.of_now(time)
    )


def test_what_a_role_spent_since_a_day() -> None:
    """Days to come count too, so that a clock that was set back frees nothing; other roles do not."""
    totals = RunningTotals()
    for number, entry in enumerate((_entry(1, "a", "0.1"), _entry(3, "a", "0.2"), _entry(9, "b", "0.4")), 1):
        totals.enter(number, entry)
    assert totals.by_role("a", date(2024, 5, 1)) == Privacy(Fraction("0.3"))
    assert totals.by_role("a", date(2024, 5, 2)) == Privacy(Fraction("0.2"))
    assert totals.by_role("a", date(2024, 5, 4)) == NOTHING == totals.by_role("c", date.min)
    assert (totals.lines("a", date(2024, 5, 1)), totals.lines("a", date(2024, 5, 2)), totals.last) == (2, 1, 3)


def test_what_was_measured_of_a_kind() -> None:
    """What a role bought of another's release costs the role alone."""
    totals = RunningTotals()
    totals.enter(1, _entry(1, "a", "0.1"))
    totals.enter(2, _entry(1, "b", "0.1", measured=False))
    assert totals.on_kind("passenger").whole == Privacy(Fraction("0.1"))
    assert totals.on_kind("driver").whole == NOTHING
