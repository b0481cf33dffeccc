"""What the ledger charges, to whom, and what it keeps."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from dpsql.accounting.ledger import ChargeItem, Entry
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.accounting.zcdp import rho_of
from dpsql.errors import BudgetExhausted, InternalError
from dpsql.policy.model import Period, Privacy, RoleLimits
from tests.support.fix_ledger import Clock, account_of, ask, item_of, spent


def test_first_asker_pays_and_measures(ledger: SqlLedger) -> None:
    """A new question is charged to the role and to the data set, and is the asker's to measure."""
    with ledger.open_statement(account_of(), "SELECT 1", [item_of("a"), item_of("b", "0.2", "1e-7")]) as statement:
        assert statement.stored == {}
        assert statement.charge.keys == {"a", "b"}
        assert statement.charge.cost == Privacy(Fraction("0.6"), Fraction("1e-7"))
    assert spent(ledger, account_of()) == (Fraction("0.6"), Fraction("0.6"))


def test_stored_release_is_free_for_who_paid(ledger: SqlLedger) -> None:
    """The same question again costs nothing and returns the same bytes."""
    ask(ledger, account_of(), item_of("a"))
    for _ in range(3):
        assert ask(ledger, account_of(), item_of("a")) == {"a": b"release of a"}
    assert spent(ledger, account_of()) == (Fraction("0.4"), Fraction("0.4"))


def test_other_role_pays_its_own_account_only(ledger: SqlLedger) -> None:
    """A role that did not pay for a release pays in full, once; the data set is not charged again."""
    other = account_of("partner")
    ask(ledger, account_of(), item_of("a"))
    for _ in range(2):
        assert ask(ledger, other, item_of("a")) == {"a": b"release of a"}
    assert spent(ledger, other) == (Fraction("0.4"), Fraction("0.4"))
    assert [entry.measured for entry in ledger.entries(None, 9)] == [False, True]


def test_other_unit_kind_never_shares_a_release(ledger: SqlLedger) -> None:
    """Noise made for passengers is not enough for drivers, even if a key were the same."""
    drivers = account_of("fleet", protects="driver")
    ask(ledger, account_of(), item_of("a"))
    assert ask(ledger, drivers, item_of("a")) == {"a": None}
    assert spent(ledger, drivers) == (Fraction("0.4"), Fraction("0.4"))


def test_what_an_answer_was_read_off_stays(ledger: SqlLedger) -> None:
    """The first to be kept, for its role, until the epoch ends; what was told under a key is found by it."""
    account = account_of()
    ask(ledger, account, item_of("a"), item_of("b"))
    assert ledger.readings(account, ["x", "y"]) == {}
    assert ledger.keep_readings(account, {"x": ("a",), "y": ("a", "b")}) == {"x": ("a",), "y": ("a", "b")}
    assert ledger.keep_readings(account, {"x": ("b",)}) == {"x": ("a",)}
    assert ledger.readings(account, ["x", "y", "z"]) == {"x": ("a",), "y": ("a", "b")}
    assert ledger.readings(account_of("partner"), ["x"]) == {}
    assert ledger.told_under(account, ["a"]) == ()  # of a statement whose question is not kept
    with ledger.open_statement(account_of(total="9"), "SELECT 1", [item_of("c")], question="SELECT 1") as statement:
        statement.store("c", b"release of c")
    assert [told.question for told in ledger.told_under(account, ["c", "d"])] == ["SELECT 1"]
    assert ledger.told_under(account_of("partner"), ["c"]) == ()
    ledger.advance("new records")
    assert ledger.readings(account, ["x"]) == {}


def test_statement_is_paid_whole_or_not_at_all(ledger: SqlLedger) -> None:
    """Where the last item does not fit, the first is not charged either."""
    with pytest.raises(BudgetExhausted, match=r"ε = 1 left, the statement asks for ε = 1\.2"):
        ask(ledger, account_of(), item_of("a"), item_of("b"), item_of("c"))
    assert spent(ledger, account_of()) == (Fraction(0), Fraction(0))
    assert ledger.entries(None, 9) == ()


def test_measurements_of_a_day_are_counted_by_the_ledger(ledger: SqlLedger, clock: Clock) -> None:
    """Those of other days, of other roles and what was answered before do not count; a statement is taken whole."""
    account = account_of(total="90", dataset="900")
    account = replace(account, role=replace(account.role, limits=RoleLimits(runs=3)))
    ask(ledger, account, item_of("a"), item_of("b"))
    ask(ledger, account_of("partner"), item_of("other"))
    ask(ledger, account, item_of("a"))
    with pytest.raises(BudgetExhausted, match="3 measurements a day and has asked for 2"):
        ask(ledger, account, item_of("c"), item_of("d"))
    ask(ledger, account, item_of("c"))
    with pytest.raises(BudgetExhausted, match="measurements a day"):
        ask(ledger, account, item_of("d"))
    clock.now += timedelta(days=1)
    ask(ledger, account, item_of("d"))


def test_dataset_budget_binds_roles_together(ledger: SqlLedger) -> None:
    """Roles of one unit kind spend one budget; of another kind, another."""
    for role in ("analyst", "partner"):
        ask(ledger, account_of(role, dataset="1"), item_of(role))
    with pytest.raises(BudgetExhausted, match='data set\'s budget for privacy unit "passenger"'):
        ask(ledger, account_of("third", dataset="1"), item_of("third"))
    ask(ledger, account_of("fleet", dataset="1", protects="driver"), item_of("fleet"))


def test_stored_release_is_sold_past_the_datasets_end(ledger: SqlLedger) -> None:
    """When the data set's budget is spent, stored releases stay for sale."""
    ask(ledger, account_of(dataset="0.4"), item_of("a"))
    assert ask(ledger, account_of("partner", dataset="0.4"), item_of("a")) == {"a": b"release of a"}


def test_delta_is_charged(ledger: SqlLedger) -> None:
    """δ adds up like ε."""
    ask(ledger, account_of(), item_of("a", "0.1", "6e-7"))
    with pytest.raises(BudgetExhausted, match=r"δ = 4e-7 left, the statement asks for δ = 6e-7"):
        ask(ledger, account_of(), item_of("b", "0.1", "6e-7"))


def test_failed_measurement_stays_charged(ledger: SqlLedger) -> None:
    """Nothing is refunded: the data may have been read."""
    with pytest.raises(RuntimeError), ledger.open_statement(account_of(), "SELECT 1", [item_of("a")]):
        raise RuntimeError
    assert ask(ledger, account_of(), item_of("a")) == {"a": None}
    assert spent(ledger, account_of()) == (Fraction("0.8"), Fraction("0.8"))


@pytest.mark.parametrize(("period", "days"), [("day", 1), ("week", 5), ("month", 17)])
def test_role_budget_renews_with_its_period(ledger: SqlLedger, clock: Clock, period: str, days: int) -> None:
    """At midnight UTC of the next day, Monday or month the role can pay again; the data set's budget never renews."""
    account = account_of(total="0.4", period=period)
    ask(ledger, account, item_of("a"))
    clock.now = datetime(2024, 5, 15 + days - 1, 23, 59, 59, tzinfo=UTC)
    with pytest.raises(BudgetExhausted) as caught:
        ask(ledger, account, item_of("b"))
    clock.now += timedelta(seconds=1)
    assert f"wait until {clock.now.date()}" in (caught.value.hint or "")
    ask(ledger, account, item_of("b"))
    assert spent(ledger, account) == (Fraction("0.4"), Fraction("0.8"))


def test_days_are_utc_wherever_the_clock_is(ledger: SqlLedger, clock: Clock) -> None:
    """The evening in New York belongs to the next day in UTC."""
    account = account_of(total="0.4", period="day")
    clock.now = datetime.fromisoformat("2024-05-15T23:00:00-04:00")
    ask(ledger, account, item_of("a"))
    clock.now = datetime(2024, 5, 16, 12, tzinfo=UTC)
    with pytest.raises(BudgetExhausted):
        ask(ledger, account, item_of("b"))


def test_setting_the_clock_back_frees_nothing(ledger: SqlLedger, clock: Clock) -> None:
    """Charges dated in the future count in the present period."""
    account = account_of(total="0.4", period="day")
    ask(ledger, account, item_of("a"))
    clock.now -= timedelta(days=2)
    with pytest.raises(BudgetExhausted):
        ask(ledger, account, item_of("b"))


def test_changed_policy_keeps_what_was_spent(ledger: SqlLedger, clock: Clock) -> None:
    """Another period or total is applied to the old charges; another unit kind does not clear the role's account."""
    ask(ledger, account_of(period="day"), item_of("a"))
    clock.now += timedelta(days=3)
    assert spent(ledger, account_of(period="day"))[0] == 0
    assert spent(ledger, account_of(period="never"))[0] == Fraction("0.4")
    assert spent(ledger, account_of(protects="driver")) == (Fraction("0.4"), Fraction(0))
    assert ledger.balance(account_of(total="0.1")).role_left.epsilon == 0


def test_entries_tell_who_asked_what(ledger: SqlLedger, clock: Clock) -> None:
    """One line per measurement, newest first, of one role or of all."""
    ask(ledger, account_of(), item_of("a"))
    ask(ledger, replace(account_of("partner"), user="bo"), item_of("b"))
    cost = Privacy(Fraction("0.4"))
    expected = Entry(
        clock.now,
        "bo",
        "partner",
        "passenger",
        "SELECT …",
        "b",
        "count of trips",
        cost,
        measured=True,
        read=ReadDays.of_now(clock.now),
    )
    assert ledger.entries("partner", 9) == (expected,)
    assert [entry.key for entry in ledger.entries(None, 9)] == ["b", "a"]
    assert [entry.key for entry in ledger.entries(None, 1)] == ["b"]


def test_epoch_follows_the_schedule(ledger: SqlLedger, clock: Clock) -> None:
    """A new epoch begins with the first question of each period; never without a schedule."""
    assert [ledger.epoch(Period.DAY) for _ in range(2)] == [1, 1]
    clock.now += timedelta(days=9)
    assert ledger.epoch(Period.NEVER) == 1
    assert [ledger.epoch(Period.WEEK) for _ in range(2)] == [2, 2]
    clock.now -= timedelta(days=9)
    assert ledger.epoch(Period.DAY) == 2


def test_advance_begins_an_epoch_and_drops_its_releases(ledger: SqlLedger) -> None:
    """Releases of earlier epochs answer nothing any more; their charges stay."""
    assert ledger.epoch(Period.NEVER) == 1
    ask(ledger, account_of(), item_of("a"))
    assert ledger.advance("new data") == ledger.epoch(Period.NEVER) == 2
    assert ask(ledger, account_of(), item_of("a")) == {"a": None}
    assert spent(ledger, account_of())[0] == Fraction("0.8")


def test_a_reason_begins_one_epoch_only(ledger: SqlLedger) -> None:
    """Whoever serves a copy of the records says that its epoch has begun, each once more after a start."""
    assert [ledger.begin(reason) for reason in ("one", "one", "two", "two", "one")] == [1, 1, 2, 2, 3]
    assert ledger.epoch(Period.NEVER) == 3


def test_release_must_be_of_the_charge(ledger: SqlLedger) -> None:
    """What was not paid for can't be stored; nor can a key be asked for twice at once, nor for nothing."""
    with ledger.open_statement(account_of(), "SELECT 1", [item_of("a")]) as statement, pytest.raises(InternalError):
        statement.store("b", b"release")
    with pytest.raises(InternalError):
        ask(ledger, account_of(), item_of("b"), item_of("b"))
    with pytest.raises(InternalError):
        item_of("c", "0")


def test_a_line_holds_rho(ledger: SqlLedger) -> None:
    """As it was charged; a pure charge has none, and a budget that adds up ε can't pay for what has one."""
    account = account_of(total="5", dataset="5")
    concentrated = Fraction("1e-6")
    rho = Privacy(Fraction("0.1"), Fraction(0), rho_of(Fraction("0.1")))
    counting = replace(
        account,
        role=replace(account.role, budget=replace(account.role.budget, concentrated=concentrated)),
        dataset=replace(account.dataset, concentrated=concentrated),
    )
    ask(ledger, counting, item_of("pure"), ChargeItem("normal", rho, "sums with Gaussian noise"))
    assert {entry.key: entry.cost.rho for entry in ledger.entries(None, 5)} == {"normal": rho.rho, "pure": 0}
    with pytest.raises(InternalError):
        ask(ledger, account, ChargeItem("other", rho, "sums with Gaussian noise"))
    balance = ledger.balance(account)
    assert balance.role_left.epsilon == balance.dataset_left.epsilon == 0
    assert ledger.balance(counting).role_left.epsilon > 0
