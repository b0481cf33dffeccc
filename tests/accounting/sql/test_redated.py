"""A clock that was ahead once: what was written then counts until that day, or until the operator says that it was wrong."""

from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import pytest

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem, Failure, FailureKind
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.errors import AccountClosed, BudgetExhausted
from dpsql.policy.model import Period, Privacy
from tests.accounting.conftest import Opened
from tests.support.fix_ledger import Clock, account_of, ask, item_of, spent

BEFORE, JUMP, NOW = (datetime(year, month, 15, 12, tzinfo=UTC) for year, month in ((2024, 5), (2025, 6), (2024, 6)))
"""The last charge before, what the clock said then, and when it was right again."""
MONTHLY = account_of(total="1", period="month", window=10, dataset="2")


def _jumped(ledger: SqlLedger, clock: Clock, account: Account = MONTHLY) -> None:
    """Pay in May, then by a clock that is a year ahead; then it is June."""
    clock.now = BEFORE
    ask(ledger, account, item_of("before", "0.1"))
    clock.now = JUMP
    ask(ledger, account, item_of("ahead", "0.4"), item_of("too", "0.3"))
    clock.now = NOW


def test_what_lies_ahead_is_told(ledger: SqlLedger, clock: Clock) -> None:
    """Until then it counts in each of the role's periods, and so does all that is charged after it."""
    assert ledger.ahead(Period.MONTH) is None
    _jumped(ledger, clock)
    assert ledger.ahead(Period.MONTH) == JUMP
    assert spent(ledger, MONTHLY)[0] == Fraction("0.7")
    with pytest.raises(BudgetExhausted):
        ask(ledger, MONTHLY, item_of("next", "0.4"))
    clock.now = NOW + timedelta(days=60)
    assert spent(ledger, MONTHLY)[0] == Fraction("0.7")


def test_what_lies_ahead_is_dated_up_to_now(opened: Opened, clock: Clock) -> None:
    """It counts in the role's present period and in none after it, for all who have the ledger open, and after a restart."""
    with ExitStack() as until:
        ledger, other = (until.enter_context(opened()) for _ in range(2))
        _jumped(ledger, clock)
        assert spent(other, MONTHLY)[0] == Fraction("0.7")
        redated = ledger.redate(Period.MONTH)
        assert redated is not None
        assert (redated.begin, redated.day, redated.lines) == (BEFORE.date(), NOW.date(), 2)
        restarted = until.enter_context(opened())
        for each in (ledger, other, restarted):
            assert each.ahead(Period.MONTH) is None
            assert spent(each, MONTHLY)[0] == Fraction("0.7")
        assert ledger.redate(Period.MONTH) is None
        ask(ledger, MONTHLY, item_of("now", "0.3"))
        assert ledger.entries(MONTHLY.role.name, 1)[0].time == NOW
        assert {entry.time for entry in other.entries(MONTHLY.role.name, 9)} == {BEFORE, JUMP, NOW}
        clock.now = datetime(2024, 7, 1, tzinfo=UTC)
        assert [spent(each, MONTHLY)[0] for each in (ledger, other, restarted)] == [Fraction(0)] * 3


def test_nobody_who_may_have_been_there_loses_more(ledger: SqlLedger, clock: Clock) -> None:
    """A window has what was read on any day between the last charge before and now."""
    _jumped(ledger, clock)
    ledger.redate(Period.MONTH)
    assert spent(ledger, MONTHLY)[1] == Fraction("0.7")
    clock.now = NOW + timedelta(days=10)
    assert spent(ledger, MONTHLY)[1] == Fraction("0.7")
    clock.now = NOW + timedelta(days=11)
    assert spent(ledger, MONTHLY)[1] == 0
    of_may = ReadDays(BEFORE.date(), BEFORE.date())
    assert ledger.balance(MONTHLY, read=of_may).dataset_spent.epsilon == Fraction("0.8")


def test_copies_of_that_time_may_be_older(ledger: SqlLedger, clock: Clock) -> None:
    """Which was the last charge before says nothing of them; of a copy that was begun before the end alone is moved."""
    clock.now = BEFORE
    ask(ledger, MONTHLY, item_of("before", "0.1"))
    day, ahead = BEFORE.date(), JUMP.date()
    for number, read in enumerate((ReadDays(ahead, ahead), ReadDays(day, ahead))):
        ask(ledger, MONTHLY, ChargeItem(f"copy {number}", Privacy(Fraction("0.2")), "count", read=read))
    clock.now = BEFORE + timedelta(days=1)
    redated = ledger.redate(Period.NEVER)
    assert redated is not None
    long_ago, after = day - timedelta(days=40), day + timedelta(days=12)

    def on(which: date) -> Fraction:
        return ledger.balance(MONTHLY, read=ReadDays(which, which)).dataset_spent.epsilon

    assert [on(long_ago), on(day), on(after)] == [Fraction("0.2"), Fraction("0.5"), 0]


def test_periods_begin_again(ledger: SqlLedger, clock: Clock) -> None:
    """An epoch that has begun ahead would last until then; one that has no end stays."""
    clock.now = BEFORE
    assert ledger.epoch(Period.MONTH) == 1
    clock.now = JUMP
    assert ledger.epoch(Period.MONTH) == 2
    clock.now = NOW
    assert ledger.ahead(Period.NEVER) is None
    assert ledger.redate(Period.NEVER) is None
    assert ledger.ahead(Period.MONTH) == JUMP
    assert ledger.redate(Period.MONTH) is not None
    assert ledger.epoch(Period.MONTH) == 3
    clock.now = datetime(2024, 7, 1, tzinfo=UTC)
    assert ledger.epoch(Period.MONTH) == 4


def _fail(ledger: SqlLedger, number: int) -> None:
    with ledger.open_statement(MONTHLY, "SELECT …", [item_of(f"failing {number}", "0.01")]) as statement:
        statement.fail(f"failing {number}", Failure(FailureKind.ENGINE, "x"))


def test_failures_and_grants_are_dated_too(ledger: SqlLedger, clock: Clock) -> None:
    """They count on the day of the repair, and on no other."""
    limit = MONTHLY.role.limits.failures
    clock.now = JUMP
    for number in range(limit - 1):
        _fail(ledger, number)
    ledger.grant(MONTHLY.role.name, Privacy(Fraction(3)), "more")
    clock.now = NOW
    ledger.redate(Period.MONTH)
    assert ledger.balance(MONTHLY).role_total.epsilon == 4
    clock.now = NOW + timedelta(days=1)
    _fail(ledger, limit)
    assert not ledger.is_closed(MONTHLY.role.name)
    clock.now = datetime(2024, 7, 1, tzinfo=UTC)
    assert ledger.balance(MONTHLY).role_total.epsilon == 1


def test_on_the_day_of_the_repair_failures_count(ledger: SqlLedger, clock: Clock) -> None:
    """Those that were too many close the account as before."""
    clock.now = JUMP
    for number in range(MONTHLY.role.limits.failures - 1):
        _fail(ledger, number)
    clock.now = NOW
    ledger.redate(Period.MONTH)
    _fail(ledger, 99)
    with pytest.raises(AccountClosed):
        _fail(ledger, 100)


@pytest.mark.parametrize("passed", [timedelta(minutes=50), timedelta(0)])
def test_a_clock_that_is_set_back_a_little_is_not_ahead(ledger: SqlLedger, clock: Clock, passed: timedelta) -> None:
    """The ledger's own goes on by itself."""
    ask(ledger, MONTHLY, item_of("one", "0.1"))
    clock.now -= passed
    assert ledger.ahead(Period.MONTH) is None
    assert ledger.redate(Period.MONTH) is None


def test_what_was_dated_before_is_no_beginning(ledger: SqlLedger, clock: Clock) -> None:
    """A line that lay in the future and was dated is as old as that says, also once its day has come."""
    _jumped(ledger, clock)
    ledger.redate(Period.MONTH)
    clock.now = JUMP + timedelta(days=600)
    ask(ledger, MONTHLY, item_of("again", "0.2"))
    clock.now = JUMP + timedelta(days=100)
    redated = ledger.redate(Period.MONTH)
    assert redated is not None
    assert redated.begin == NOW.date()


def test_it_happens_twice(opened: Opened, clock: Clock) -> None:
    """Each time what was written since is dated, and what was dated before stays as it is."""
    with opened() as ledger:
        _jumped(ledger, clock)
        first = ledger.redate(Period.MONTH)
        clock.now = JUMP
        ask(ledger, MONTHLY, item_of("again", "0.2"))
        clock.now = NOW + timedelta(days=40)
        second = ledger.redate(Period.MONTH)
    assert first is not None
    assert second is not None
    assert (second.begin, second.day, second.lines) == (NOW.date(), (NOW + timedelta(days=40)).date(), 1)
    with opened() as ledger:
        assert spent(ledger, MONTHLY) == (Fraction("0.2"), Fraction("0.2"))
