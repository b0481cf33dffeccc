"""Several who ask the ledger for the same at once, in one process and in two."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.errors import BudgetExhausted
from tests.accounting.conftest import Opened
from tests.support.fix_ledger import account_of, ask, item_of, spent


def test_twins_measure_once(ledger: SqlLedger) -> None:
    """Of eight identical questions at once one measures and pays; the rest wait and have the same bytes for nothing."""
    together = threading.Barrier(8)

    def ask(_: int) -> bool:
        together.wait()
        with ledger.open_statement(account_of(), "SELECT 1", [item_of("a")]) as statement:
            for key in statement.charge.keys:
                statement.store(key, b"noisy")
            return bool(statement.charge.keys)

    with ThreadPoolExecutor(8) as pool:
        measured = list(pool.map(ask, range(8)))
    assert sum(measured) == 1
    assert spent(ledger, account_of()) == (Fraction("0.4"), Fraction("0.4"))


def _overtake(ledger: SqlLedger, then: Callable[[], None]) -> dict[str, bytes | None]:
    """Ask for `a` while another thread measures it and ends with `then`; return what the second asker was given."""
    measuring, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with ledger.open_statement(account_of(), "SELECT 1", [item_of("a")]) as statement:
            measuring.set()
            go_on.wait()
            then()
            statement.store("a", b"noisy")

    with ThreadPoolExecutor(2) as pool:
        pool.submit(first)
        measuring.wait()
        follower = pool.submit(ask, ledger, account_of(), item_of("a"))
        go_on.set()
        return follower.result()


def test_follower_is_given_the_leaders_release(ledger: SqlLedger) -> None:
    """Who asks while the same is being measured waits for it."""
    assert _overtake(ledger, lambda: None) == {"a": b"noisy"}


def test_follower_measures_when_the_leader_fails(ledger: SqlLedger) -> None:
    """A failure wakes who waits, who then pays and measures."""

    def fail() -> None:
        raise RuntimeError

    assert _overtake(ledger, fail) == {"a": None}


def test_refused_statement_leaves_nobody_waiting(ledger: SqlLedger) -> None:
    """A statement that could not pay gives its keys back."""
    with pytest.raises(BudgetExhausted):
        ask(ledger, account_of(total="0.1"), item_of("a"))
    assert ask(ledger, account_of(), item_of("a")) == {"a": None}


@pytest.mark.usefixtures("unclaimed")
def test_a_release_that_came_too_late_is_forgotten(opened: Opened) -> None:
    """Two processes measured at once: both are given the release that was stored first, and have paid for it once."""
    with opened() as early, opened() as two:
        first, second = account_of("first"), account_of("second")
        with (
            early.open_statement(first, "", [item_of("a")]) as kept,
            two.open_statement(second, "", [item_of("a")]) as late,
        ):
            assert kept.store("a", b"kept") == b"kept"
            assert late.store("a", b"late") == b"kept"
        assert spent(early, second) == (Fraction("0.4"), Fraction("0.8"))
        assert ask(early, second, item_of("a")) == {"a": b"kept"}
        assert spent(early, second) == (Fraction("0.4"), Fraction("0.8"))


@pytest.mark.usefixtures("unclaimed")
def test_what_depends_on_a_release_is_kept_beside_that_one_only(opened: Opened) -> None:
    """Numbers for keys that one process has found are never stored beside the keys that another has found."""
    with opened() as first, opened() as two:
        items, rich = [item_of("keys"), item_of("numbers")], account_of("second", total="9", dataset="90")
        with first.open_statement(account_of("first"), "", items) as slow:
            assert slow.store("keys", b"found by one") == b"found by one"
            first.advance("the epoch ends while it measures")
            with two.open_statement(rich, "", [item_of("keys")]) as other:
                other.store("keys", b"found by two")
            numbers = slow.store("numbers", b"for keys of one", ("keys", b"found by one"))
        assert numbers == b"for keys of one"
        assert ask(first, rich, *items, store=False) == {"keys": b"found by two", "numbers": None}
        with first.open_statement(rich, "", items) as statement:
            statement.store("numbers", b"for keys of two", ("keys", b"found by two"))
        assert ask(first, rich, *items)["numbers"] == b"for keys of two"


def test_who_waits_for_another_process_need_not_be_able_to_pay(opened: Opened) -> None:
    """The last ε is what the first has paid; the second is told the same, though there is none left."""
    account = account_of(total="0.4")
    with opened() as first, opened() as two, ThreadPoolExecutor(1) as pool:
        with first.open_statement(account, "", [item_of("a")]) as statement:
            other = pool.submit(ask, two, account, item_of("a"))
            with pytest.raises(BudgetExhausted):
                ask(two, account, item_of("b", "0.1"))
            with pytest.raises(TimeoutError):
                other.result(0.3)
            statement.store("a", b"of one")
        assert other.result(20) == {"a": b"of one"}
        with pytest.raises(BudgetExhausted):
            ask(two, account, item_of("b", "0.1"))
