"""A data set's budget of a window in the ledger: nobody loses more than it, whenever they come and whoever asks."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem
from dpsql.accounting.sliding import READ_WITHIN, ReadDays
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import BudgetExhausted
from dpsql.policy.model import Privacy
from tests.accounting.conftest import Opened
from tests.support.fix_ledger import Clock, account_of, ask, item_of, spent
from tests.support.quick_ledger import quick_directory

WINDOW = 3
TOTAL = Fraction(2)
ROLES = (("daily", "0.5", "day"), ("weekly", "1.5", "week"), ("once", "2", "never"), ("much", "2", "day"))


def _accounts(window: int | None = WINDOW) -> tuple[Account, ...]:
    return tuple(account_of(name, each, dataset="2", period=period, window=window) for name, each, period in ROLES)


@dataclass(frozen=True)
class Step:
    """What happens next: somebody waits, and some roles ask at once, through one of two open ledgers."""

    hours: int
    minutes: int
    roles: Sequence[int]
    tenths: int
    ledger: int
    delay: int
    """Seconds from the charge to the moment at which the records are read."""
    copy: int | None
    """How many days ago the copy was begun that is read; None: the records themselves are."""
    copying: int
    """Hours that it took to copy them, and into which of these the moment falls."""
    restart: bool


_STEPS = st.builds(
    Step,
    hours=st.one_of(st.integers(0, 3), st.integers(20, 26), st.integers(70, 75), st.integers(0, 200)),
    minutes=st.sampled_from([0, 0, 0, 1, 59]),
    roles=st.lists(st.integers(0, len(ROLES) - 1), min_size=1, max_size=8),
    tenths=st.integers(1, 4),
    ledger=st.integers(0, 1),
    delay=st.integers(0, int(READ_WITHIN.total_seconds())),
    copy=st.one_of(st.none(), st.integers(0, 12)),
    copying=st.integers(0, 30),
    restart=st.booleans(),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(st.lists(_STEPS, min_size=1, max_size=14))
def test_nobody_loses_more_than_the_budget_of_a_window(steps: list[Step]) -> None:
    """Roles save up and spend at once, on the records and on copies of any age, which two servers need not have in order.

    Every stay as long as the window is added up, both ends included.
    """
    clock, reads, keys = Clock(), list[tuple[datetime, Fraction]](), count()
    with quick_directory() as directory, ExitStack() as until:
        path = directory / "ledger.db"
        opened = [until.enter_context(SqliteLedger(path, clock)) for _ in range(2)]
        for step in steps:
            clock.now += timedelta(hours=step.hours, minutes=step.minutes)
            if step.restart:
                opened[step.ledger].close()
                opened[step.ledger] = until.enter_context(SqliteLedger(path, clock))
            days, read = None, clock.now + timedelta(seconds=step.delay)
            if step.copy is not None:
                begun = clock.now - timedelta(days=step.copy)
                days = ReadDays(begun.date(), (begun + timedelta(hours=step.copying)).date())
                read = begun + step.delay / READ_WITHIN.total_seconds() * timedelta(hours=step.copying)
            for role in step.roles:
                cost = Fraction(step.tenths, 10)
                try:
                    item = replace(item_of(str(next(keys)), str(cost)), read=days)
                    ask(opened[step.ledger], _accounts()[role], item)
                except BudgetExhausted:
                    continue
                reads.append((read, cost))
    stays = [(read, read + timedelta(days=WINDOW)) for read, _ in reads]
    assert all(sum(cost for read, cost in reads if begin <= read <= end) <= TOTAL for begin, end in stays)


def of_copy(key: str, first: datetime, hours: int = 0) -> ChargeItem:
    """Return a measurement on a copy."""
    return replace(item_of(key), read=ReadDays(first.date(), (first + timedelta(hours=hours)).date()))


def test_an_old_copy_counts_for_who_was_there_then(ledger: SqlLedger, clock: Clock) -> None:
    """While the source is down the copy answers on: who was there for a day is in each answer, however late it is given."""
    account, taken = _accounts()[3], clock.now
    for day in range(5):
        clock.now = taken + timedelta(days=4 * day)
        ask(ledger, account, of_copy(str(day), taken))
    clock.now += timedelta(days=40)
    with pytest.raises(BudgetExhausted, match="data set's budget") as caught:
        ask(ledger, account, of_copy("more", taken))
    assert (caught.value.hint or "").startswith(
        "It is shared by all roles, and each charge counts for 3 days from the day of the copy of the records that it reads: "
        f"ε = 0.4 is free by a copy that is made from {clock.now.date()} (UTC) on"
    )
    ask(ledger, account, of_copy("another copy", clock.now))
    assert ledger.balance(account, None, ReadDays(taken.date(), taken.date())).dataset_spent.epsilon == 2
    assert ledger.balance(
        account, None, ReadDays(clock.now.date(), clock.now.date())
    ).dataset_spent.epsilon == Fraction("0.4")


def test_copies_of_two_servers_need_not_be_in_order(opened: Opened, clock: Clock) -> None:
    """An older one is charged later, and counts with what was charged for the days around it."""
    account, taken = _accounts()[3], clock.now
    with opened() as first, opened() as second:
        for number in range(3):
            ask(first, account, of_copy(f"new {number}", taken))
        for number in range(2):
            ask(second, account, of_copy(f"old {number}", taken - timedelta(days=3)))
        for days, allowed in ((3, False), (4, True), (1, False), (-3, True), (-2, True)):
            read = ReadDays(taken.date() - timedelta(days=days), taken.date() - timedelta(days=days))
            left = 2 - second.balance(account, None, read).dataset_spent.epsilon
            assert (left >= Fraction("0.4")) is allowed, days


def test_a_copy_is_of_all_days_on_which_it_was_made(ledger: SqlLedger, clock: Clock) -> None:
    """Begun before midnight and finished after it; what is read of the records themselves likewise."""
    account = _accounts()[3]
    late = clock.now.replace(hour=23, minute=30)
    ask(ledger, account, of_copy("a", late, 2))
    clock.now = late
    ask(ledger, account, item_of("b"))
    days = [(entry.read.first.day, entry.read.last.day) for entry in ledger.entries(None, 9)]
    assert days == [(15, 16), (15, 16)]
    for day, cost in ((12, "0.8"), (11, "0"), (19, "0.8"), (20, "0")):
        read = ReadDays(late.replace(day=day).date(), late.replace(day=day).date())
        assert ledger.balance(account, None, read).dataset_spent.epsilon == Fraction(cost), day


def test_roles_that_save_up_can_not_spend_at_once(ledger: SqlLedger, clock: Clock) -> None:
    """What each has left of its own is no use; after the window, by whole days, there is room."""
    daily, weekly, once, much = _accounts()
    for number in range(5):
        ask(ledger, once, item_of(f"a{number}"))
    clock.now += timedelta(days=2)
    for role in (daily, weekly, much):
        with pytest.raises(BudgetExhausted, match="data set's budget") as caught:
            ask(ledger, role, item_of("b"))
        assert "each charge counts for 3 days: ε = 0.4 is free from 2024-05-19 (UTC) on" in (caught.value.hint or "")
    clock.now = datetime(2024, 5, 18, 23, 59, 59, tzinfo=UTC)
    assert spent(ledger, much)[1] == 2
    clock.now += timedelta(seconds=1)
    assert spent(ledger, much)[1] == 0
    ask(ledger, much, item_of("b"))


def test_it_is_said_when_enough_is_free(ledger: SqlLedger, clock: Clock) -> None:
    """Of charges one after another only so many have to leave; owners hear what is left; more than all is never free."""
    account = _accounts()[2]
    for number in range(4):
        ask(ledger, account, item_of(str(number)))
        clock.now += timedelta(hours=24 * (number % 2))
    asks = replace(account, role=replace(account.role, name="other", owner=True, per_query=Privacy(Fraction(2))))
    for epsilon, when in (("0.7", "2024-05-19"), ("0.9", "2024-05-19"), ("2", "2024-05-20")):
        with pytest.raises(BudgetExhausted, match=f"has ε = 0.4 left, the statement asks for ε = {epsilon}") as caught:
            ask(ledger, asks, item_of("x", epsilon))
        assert f"ε = {epsilon} is free from {when} (UTC) on" in (caught.value.hint or "")
    balance = ledger.balance(asks)
    assert balance.room_from(Privacy(Fraction("0.4"))) is None
    assert balance.room_from(Privacy(Fraction("2.1"))) is None


def test_a_clock_that_is_set_back_frees_nothing_and_dates_nothing_back(opened: Opened, clock: Clock) -> None:
    """What is charged then counts from the latest time that the ledger knows, also in another process."""
    account, began = _accounts()[3], clock.now
    with opened() as first:
        ask(first, account, item_of("a"), item_of("b"))
    clock.now -= timedelta(days=30)
    with opened() as second:
        assert spent(second, account)[1] == Fraction("0.8")
        ask(second, account, item_of("c"), item_of("d"))
        assert min(entry.time for entry in second.entries(None, 9)) == began
        clock.now = began + timedelta(days=WINDOW)
        assert spent(second, account)[1] == Fraction("1.6")
        clock.now += timedelta(days=1)
        assert spent(second, account)[1] == 0


def test_a_ledger_of_before_counts_with_its_times(opened: Opened, clock: Clock) -> None:
    """A policy may be given a window, a longer one, and none again: what counts are the lines."""
    with opened() as ledger:
        ask(ledger, _accounts(window=None)[2], item_of("old"))
        clock.now += timedelta(days=5)
        ask(ledger, _accounts(window=None)[2], item_of("new"))
    with opened() as ledger:
        sums = [spent(ledger, _accounts(window=window)[2])[1] for window in (WINDOW, 5, None)]
        assert sums == [Fraction("0.4"), Fraction("0.8"), Fraction("0.8")]
        assert ledger.identity == ledger.identity
