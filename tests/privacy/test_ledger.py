"""What the ledger charges, to whom, and what it keeps."""

import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.errors import BudgetExhausted, ConfigError, InternalError
from dpsql.policy.model import Limits, Period, Privacy, Role, RoleBudget
from dpsql.privacy.balance import Account
from dpsql.privacy.ledger import Entry, Item, Ledger
from dpsql.privacy.sqlite_ledger import SqliteLedger


class Clock:
    """A clock that is set by hand; it starts on a Wednesday."""

    def __init__(self) -> None:
        self.now = datetime(2024, 5, 15, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return a clock."""
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[SqliteLedger]:
    """Open a new ledger."""
    with SqliteLedger(tmp_path / "ledger.db", clock) as opened:
        yield opened


def _account(
    role: str = "analyst", total: str = "1", *, dataset: str = "10", period: str = "never", protects: str = "passenger"
) -> Account:
    budget = RoleBudget(Privacy(Fraction(total), Fraction("1e-6")), Period(period))
    made = Role(role, protects, budget, per_query=Privacy(Fraction("0.4")))
    return Account("ana", made, Privacy(Fraction(dataset), Fraction("1e-6")))


def _item(key: str, epsilon: str = "0.4", delta: str = "0") -> Item:
    return Item(key, Privacy(Fraction(epsilon), Fraction(delta)), "count of trips")


def _ask(ledger: Ledger, account: Account, *items: Item, store: bool = True) -> dict[str, bytes | None]:
    """Open a statement, store what is to be measured, and return what was stored before, by key."""
    with ledger.open_statement(account, "SELECT …", items) as statement:
        for key in statement.charge.keys if store else ():
            statement.store(key, f"release of {key}".encode())
        return {item.key: statement.stored.get(item.key) for item in items}


def _spent(ledger: Ledger, account: Account) -> tuple[Fraction, Fraction]:
    """Return the ε that the role and the data set were charged."""
    balance = ledger.balance(account)
    return balance.role_spent.epsilon, balance.dataset_spent.epsilon


def test_first_asker_pays_and_measures(ledger: SqliteLedger) -> None:
    """A new question is charged to the role and to the data set, and is the asker's to measure."""
    with ledger.open_statement(_account(), "SELECT 1", [_item("a"), _item("b", "0.2", "1e-7")]) as statement:
        assert statement.stored == {}
        assert statement.charge.keys == {"a", "b"}
        assert statement.charge.cost == Privacy(Fraction("0.6"), Fraction("1e-7"))
    assert _spent(ledger, _account()) == (Fraction("0.6"), Fraction("0.6"))


def test_stored_release_is_free_for_who_paid(ledger: SqliteLedger) -> None:
    """The same question again costs nothing and returns the same bytes."""
    _ask(ledger, _account(), _item("a"))
    for _ in range(3):
        assert _ask(ledger, _account(), _item("a")) == {"a": b"release of a"}
    assert _spent(ledger, _account()) == (Fraction("0.4"), Fraction("0.4"))


def test_other_role_pays_its_own_account_only(ledger: SqliteLedger) -> None:
    """A role that did not pay for a release pays in full, once; the data set is not charged again."""
    other = _account("partner")
    _ask(ledger, _account(), _item("a"))
    for _ in range(2):
        assert _ask(ledger, other, _item("a")) == {"a": b"release of a"}
    assert _spent(ledger, other) == (Fraction("0.4"), Fraction("0.4"))
    assert [entry.measured for entry in ledger.entries(None, 9)] == [False, True]


def test_other_unit_kind_never_shares_a_release(ledger: SqliteLedger) -> None:
    """Noise made for passengers is not enough for drivers, even if a key were the same."""
    drivers = _account("fleet", protects="driver")
    _ask(ledger, _account(), _item("a"))
    assert _ask(ledger, drivers, _item("a")) == {"a": None}
    assert _spent(ledger, drivers) == (Fraction("0.4"), Fraction("0.4"))


def test_statement_is_paid_whole_or_not_at_all(ledger: SqliteLedger) -> None:
    """Where the last item does not fit, the first is not charged either."""
    with pytest.raises(BudgetExhausted, match=r"ε = 1 left, the statement asks for ε = 1\.2"):
        _ask(ledger, _account(), _item("a"), _item("b"), _item("c"))
    assert _spent(ledger, _account()) == (Fraction(0), Fraction(0))
    assert ledger.entries(None, 9) == ()


def test_measurements_of_a_day_are_counted_by_the_ledger(ledger: SqliteLedger, clock: Clock) -> None:
    """Those of other days, of other roles and what was answered before do not count; a statement is taken whole."""
    account = _account(total="90", dataset="900")
    account = replace(account, role=replace(account.role, limits=Limits(runs=3)))
    _ask(ledger, account, _item("a"), _item("b"))
    _ask(ledger, _account("partner"), _item("other"))
    _ask(ledger, account, _item("a"))
    with pytest.raises(BudgetExhausted, match="3 measurements a day and has asked for 2"):
        _ask(ledger, account, _item("c"), _item("d"))
    _ask(ledger, account, _item("c"))
    with pytest.raises(BudgetExhausted, match="measurements a day"):
        _ask(ledger, account, _item("d"))
    clock.now += timedelta(days=1)
    _ask(ledger, account, _item("d"))


def test_dataset_budget_binds_roles_together(ledger: SqliteLedger) -> None:
    """Roles of one unit kind spend one budget; of another kind, another."""
    for role in ("analyst", "partner"):
        _ask(ledger, _account(role, dataset="1"), _item(role))
    with pytest.raises(BudgetExhausted, match='data set\'s budget for privacy unit "passenger"'):
        _ask(ledger, _account("third", dataset="1"), _item("third"))
    _ask(ledger, _account("fleet", dataset="1", protects="driver"), _item("fleet"))


def test_stored_release_is_sold_past_the_datasets_end(ledger: SqliteLedger) -> None:
    """When the data set's budget is spent, stored releases stay for sale."""
    _ask(ledger, _account(dataset="0.4"), _item("a"))
    assert _ask(ledger, _account("partner", dataset="0.4"), _item("a")) == {"a": b"release of a"}


def test_delta_is_charged(ledger: SqliteLedger) -> None:
    """δ adds up like ε."""
    _ask(ledger, _account(), _item("a", "0.1", "6e-7"))
    with pytest.raises(BudgetExhausted, match=r"δ = 4e-7 left, the statement asks for δ = 6e-7"):
        _ask(ledger, _account(), _item("b", "0.1", "6e-7"))


def test_failed_measurement_stays_charged(ledger: SqliteLedger) -> None:
    """Nothing is refunded: the data may have been read."""
    with pytest.raises(RuntimeError), ledger.open_statement(_account(), "SELECT 1", [_item("a")]):
        raise RuntimeError
    assert _ask(ledger, _account(), _item("a")) == {"a": None}
    assert _spent(ledger, _account()) == (Fraction("0.8"), Fraction("0.8"))


@pytest.mark.parametrize(("period", "days"), [("day", 1), ("week", 5), ("month", 17)])
def test_role_budget_renews_with_its_period(ledger: SqliteLedger, clock: Clock, period: str, days: int) -> None:
    """At midnight UTC of the next day, Monday or month the role can pay again; the data set's budget never renews."""
    account = _account(total="0.4", period=period)
    _ask(ledger, account, _item("a"))
    clock.now = datetime(2024, 5, 15 + days - 1, 23, 59, 59, tzinfo=UTC)
    with pytest.raises(BudgetExhausted) as caught:
        _ask(ledger, account, _item("b"))
    clock.now += timedelta(seconds=1)
    assert f"wait until {clock.now.date()}" in (caught.value.hint or "")
    _ask(ledger, account, _item("b"))
    assert _spent(ledger, account) == (Fraction("0.4"), Fraction("0.8"))


def test_days_are_utc_wherever_the_clock_is(ledger: SqliteLedger, clock: Clock) -> None:
    """The evening in New York belongs to the next day in UTC."""
    account = _account(total="0.4", period="day")
    clock.now = datetime.fromisoformat("2024-05-15T23:00:00-04:00")
    _ask(ledger, account, _item("a"))
    clock.now = datetime(2024, 5, 16, 12, tzinfo=UTC)
    with pytest.raises(BudgetExhausted):
        _ask(ledger, account, _item("b"))


def test_setting_the_clock_back_frees_nothing(ledger: SqliteLedger, clock: Clock) -> None:
    """Charges dated in the future count in the present period."""
    account = _account(total="0.4", period="day")
    _ask(ledger, account, _item("a"))
    clock.now -= timedelta(days=2)
    with pytest.raises(BudgetExhausted):
        _ask(ledger, account, _item("b"))


def test_changed_policy_keeps_what_was_spent(ledger: SqliteLedger, clock: Clock) -> None:
    """Another period or total is applied to the old charges; another unit kind does not clear the role's account."""
    _ask(ledger, _account(period="day"), _item("a"))
    clock.now += timedelta(days=3)
    assert _spent(ledger, _account(period="day"))[0] == 0
    assert _spent(ledger, _account(period="never"))[0] == Fraction("0.4")
    assert _spent(ledger, _account(protects="driver")) == (Fraction("0.4"), Fraction(0))
    assert ledger.balance(_account(total="0.1")).role_left.epsilon == 0


def test_reopened_ledger_remembers(tmp_path: Path, clock: Clock) -> None:
    """Charges, releases, entitlements and the epoch are in the file."""
    path = tmp_path / "new directory" / "ledger.db"
    with SqliteLedger(path, clock) as first:
        _ask(first, _account(), _item("a", "1/3"))
    with SqliteLedger(path, clock) as second:
        assert _spent(second, _account()) == (Fraction(1, 3), Fraction(1, 3))
        assert _ask(second, _account(), _item("a", "1/3")) == {"a": b"release of a"}


def test_two_open_ledgers_agree(tmp_path: Path, clock: Clock) -> None:
    """What one process charges the other sees at once."""
    with SqliteLedger(tmp_path / "l.db", clock) as one, SqliteLedger(tmp_path / "l.db", clock) as two:
        for i in range(4):
            _ask((one, two)[i % 2], _account(total="2"), _item(str(i)))
            assert _spent(one, _account()) == _spent(two, _account()) == (Fraction(2 * (i + 1), 5),) * 2


def test_entries_tell_who_asked_what(ledger: SqliteLedger, clock: Clock) -> None:
    """One line per measurement, newest first, of one role or of all."""
    _ask(ledger, _account(), _item("a"))
    _ask(ledger, replace(_account("partner"), user="bo"), _item("b"))
    cost = Privacy(Fraction("0.4"))
    expected = Entry(clock.now, "bo", "partner", "passenger", "SELECT …", "b", "count of trips", cost, measured=True)
    assert ledger.entries("partner", 9) == (expected,)
    assert [entry.key for entry in ledger.entries(None, 9)] == ["b", "a"]
    assert [entry.key for entry in ledger.entries(None, 1)] == ["b"]


def test_epoch_follows_the_schedule(ledger: SqliteLedger, clock: Clock) -> None:
    """A new epoch begins with the first question of each period; never without a schedule."""
    assert [ledger.epoch(Period.DAY) for _ in range(2)] == [1, 1]
    clock.now += timedelta(days=9)
    assert ledger.epoch(Period.NEVER) == 1
    assert [ledger.epoch(Period.WEEK) for _ in range(2)] == [2, 2]
    clock.now -= timedelta(days=9)
    assert ledger.epoch(Period.DAY) == 2


def test_advance_begins_an_epoch_and_drops_its_releases(ledger: SqliteLedger) -> None:
    """Releases of earlier epochs answer nothing any more; their charges stay."""
    assert ledger.epoch(Period.NEVER) == 1
    _ask(ledger, _account(), _item("a"))
    assert ledger.advance("new data") == ledger.epoch(Period.NEVER) == 2
    assert _ask(ledger, _account(), _item("a")) == {"a": None}
    assert _spent(ledger, _account())[0] == Fraction("0.8")


def test_release_must_be_of_the_charge(ledger: SqliteLedger) -> None:
    """What was not paid for can't be stored; nor can a key be asked for twice at once, nor for nothing."""
    with ledger.open_statement(_account(), "SELECT 1", [_item("a")]) as statement, pytest.raises(InternalError):
        statement.store("b", b"release")
    with pytest.raises(InternalError):
        _ask(ledger, _account(), _item("b"), _item("b"))
    with pytest.raises(InternalError):
        _item("c", "0")


@pytest.mark.parametrize("table", ["charges", "statements"])
@pytest.mark.parametrize("change", ["DELETE FROM {}", "UPDATE {} SET id = id + 1"])
def test_lines_can_only_be_added(ledger: SqliteLedger, tmp_path: Path, table: str, change: str) -> None:
    """The file itself refuses to change or to lose a line."""
    _ask(ledger, _account(), _item("a"))
    connection = sqlite3.connect(tmp_path / "ledger.db")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(change.format(table))
    connection.close()


def test_file_is_private(ledger: SqliteLedger, tmp_path: Path) -> None:
    """Others on the machine can't read what was asked and answered."""
    ledger.epoch(Period.NEVER)
    assert stat.S_IMODE((tmp_path / "ledger.db").stat().st_mode) == 0o600


def test_other_files_are_refused(tmp_path: Path, clock: Clock) -> None:
    """Neither garbage nor the file of a later version is opened as a ledger, and a directory is none."""
    (tmp_path / "text").write_text("not a database, though longer than a header of one hundred bytes" * 9)
    connection = sqlite3.connect(tmp_path / "later")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for name, reason in (("text", "not a database"), ("later", "version 99"), ("", "opened")):
        with pytest.raises(ConfigError, match=reason):
            SqliteLedger(tmp_path / name, clock)


def test_twins_measure_once(ledger: SqliteLedger) -> None:
    """Of eight identical questions at once one measures and pays; the rest wait and have the same bytes for nothing."""
    together = threading.Barrier(8)

    def ask(_: int) -> bool:
        together.wait()
        with ledger.open_statement(_account(), "SELECT 1", [_item("a")]) as statement:
            for key in statement.charge.keys:
                statement.store(key, b"noisy")
            return bool(statement.charge.keys)

    with ThreadPoolExecutor(8) as pool:
        measured = list(pool.map(ask, range(8)))
    assert sum(measured) == 1
    assert _spent(ledger, _account()) == (Fraction("0.4"), Fraction("0.4"))


def _overtake(ledger: SqliteLedger, then: Callable[[], None]) -> dict[str, bytes | None]:
    """Ask for `a` while another thread measures it and ends with `then`; return what the second asker was given."""
    measuring, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with ledger.open_statement(_account(), "SELECT 1", [_item("a")]) as statement:
            measuring.set()
            go_on.wait()
            then()
            statement.store("a", b"noisy")

    with ThreadPoolExecutor(2) as pool:
        pool.submit(first)
        measuring.wait()
        follower = pool.submit(_ask, ledger, _account(), _item("a"))
        go_on.set()
        return follower.result()


def test_follower_is_given_the_leaders_release(ledger: SqliteLedger) -> None:
    """Who asks while the same is being measured waits for it."""
    assert _overtake(ledger, lambda: None) == {"a": b"noisy"}


def test_follower_measures_when_the_leader_fails(ledger: SqliteLedger) -> None:
    """A failure wakes who waits, who then pays and measures."""

    def fail() -> None:
        raise RuntimeError

    assert _overtake(ledger, fail) == {"a": None}


def test_refused_statement_leaves_nobody_waiting(ledger: SqliteLedger) -> None:
    """A statement that could not pay gives its keys back."""
    with pytest.raises(BudgetExhausted):
        _ask(ledger, _account(total="0.1"), _item("a"))
    assert _ask(ledger, _account(), _item("a")) == {"a": None}


def test_a_release_that_came_too_late_is_not_paid_twice_over(tmp_path: Path, clock: Clock) -> None:
    """Two processes measured at once: who paid for the release that was not kept may not have the other for nothing."""
    with SqliteLedger(tmp_path / "ledger.db", clock) as one, SqliteLedger(tmp_path / "ledger.db", clock) as two:
        first, second = _account("first"), _account("second")
        with one.open_statement(first, "", [_item("a")]) as kept, two.open_statement(second, "", [_item("a")]) as late:
            kept.store("a", b"kept")
            late.store("a", b"late")
        assert _spent(one, second) == (Fraction("0.4"), Fraction("0.8"))
        assert _ask(one, second, _item("a")) == {"a": b"kept"}
        assert _spent(one, second) == (Fraction("0.8"), Fraction("0.8"))
