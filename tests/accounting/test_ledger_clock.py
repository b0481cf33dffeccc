"""The ledger's clock never runs backwards, whatever is done to the system's."""

from datetime import UTC, datetime, timedelta

from dpsql.accounting.sql.ledger import LedgerClock

NOON = datetime(2024, 5, 18, 12, tzinfo=UTC)
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


class _Clocks:
    """The system's clock, which anybody sets, and the time that passes."""

    def __init__(self) -> None:
        self.now, self.passed = NOON, 0.0
        self.ours = LedgerClock(lambda: self.now, lambda: self.passed)

    def wait(self, time: timedelta) -> None:
        self.now += time
        self.passed += time.total_seconds()


def test_it_is_the_systems() -> None:
    """As long as that goes on, also by leaps."""
    clocks = _Clocks()
    assert clocks.ours.now() == NOON
    clocks.wait(DAY)
    assert clocks.ours.now() == NOON + DAY
    clocks.now += DAY
    assert clocks.ours.now() == NOON + 2 * DAY


def test_a_clock_that_is_set_back_goes_on_by_what_passes() -> None:
    """Nothing is freed twice, and nothing is kept for longer than it lasts."""
    clocks = _Clocks()
    assert clocks.ours.now() == NOON
    clocks.now -= 30 * DAY
    assert clocks.ours.now() == NOON
    for minutes in range(1, 5):
        clocks.wait(MINUTE)
        assert clocks.ours.now() == NOON + minutes * MINUTE


def test_it_is_never_before_what_is_written() -> None:
    """After a restart the last line is all that is known of what the clock said."""
    clocks = _Clocks()
    assert clocks.ours.now(NOON + DAY) == NOON + DAY
    clocks.wait(MINUTE)
    assert clocks.ours.now() == NOON + DAY + MINUTE
