"""Failures in the ledger: which account they close, when, and what is kept of it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem, Failure, FailureKind, Ledger
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.errors import AccountClosed, InternalError
from dpsql.policy.model import RoleLimits
from tests.accounting.conftest import Opened
from tests.support.fix_ledger import Clock, account_of, ask, item_of, spent

ENGINE = Failure(FailureKind.ENGINE, "the engine could not run the statement")
BROKEN = Failure(FailureKind.BROKEN, "IndexError in privacy/exact.py, line 9")


def patient(failures: int, role: str = "analyst") -> Account:
    """Return an account that is closed by so many failures in a day."""
    account = account_of(role, total="90", dataset="900")
    return replace(account, role=replace(account.role, limits=RoleLimits(failures=failures)))


def fail(ledger: Ledger, account: Account, key: str, failure: Failure = ENGINE) -> None:
    """Pay for a measurement that fails."""
    with ledger.open_statement(account, f"SELECT {key}", [item_of(key)]) as statement:
        statement.fail(key, failure)


def test_failures_of_several_days_do_not_add_up(ledger: SqlLedger, clock: Clock) -> None:
    """The allowance is that of a day (UTC); on the day on which it is used up the account closes."""
    account = patient(2)
    for day in range(4):
        fail(ledger, account, f"of day {day}")
        clock.now += timedelta(days=1)
    fail(ledger, account, "a")
    assert not ledger.is_closed("analyst")
    fail(ledger, account, "b")
    assert ledger.is_closed("analyst")
    clock.now += timedelta(days=1)
    with pytest.raises(AccountClosed):
        ask(ledger, account, item_of("c"))


def test_what_took_too_long_counts_like_what_failed(ledger: SqlLedger) -> None:
    """How long a statement takes depends on rows."""
    account = patient(2)
    fail(ledger, account, "a", Failure(FailureKind.LATE, "the time limit was met"))
    fail(ledger, account, "b", ENGINE)
    assert ledger.is_closed("analyst")


def test_a_clock_that_is_set_back_forgives_no_failure(ledger: SqlLedger, clock: Clock) -> None:
    """Failures of days to come count."""
    account = patient(2)
    fail(ledger, account, "a")
    clock.now -= timedelta(days=3)
    fail(ledger, account, "b")
    assert ledger.is_closed("analyst")


def test_a_closed_account_pays_for_nothing(ledger: SqlLedger) -> None:
    """What is paid for and stored is free; others' accounts are open, and the failure is for sale to them."""
    account, other = patient(1), patient(1, "other")
    ask(ledger, account, item_of("stored"))
    fail(ledger, account, "a")
    before = spent(ledger, account)
    assert ask(ledger, account, item_of("stored")) == {"stored": b"release of stored"}
    with ledger.open_statement(account, "", [item_of("a"), item_of("never asked")]) as statement:
        assert (statement.failed, statement.charge.keys) == (FailureKind.ENGINE, frozenset())
    with pytest.raises(AccountClosed, match='"analyst" is closed') as caught:
        ask(ledger, account, item_of("b"))
    assert "dpsql unlock analyst" in (caught.value.hint or "")
    assert spent(ledger, account) == before
    assert ledger.balance(account).closed
    with ledger.open_statement(other, "", [item_of("a")]) as statement:
        assert statement.failed is FailureKind.ENGINE
    assert spent(ledger, other)[0] > 0
    assert not ledger.is_closed("other")


def test_unlocking_opens_the_account_and_is_written_down(opened: Opened) -> None:
    """In another process too; what failed stays failed, and the allowance begins anew."""
    with opened() as server, opened() as command:
        account = patient(2)
        fail(server, account, "a")
        fail(server, account, "b")
        what = [(event.what, event.cause, event.statement) for event in command.incidents("analyst")]
        assert what == [
            ("engine", ENGINE.cause, "SELECT a"),
            ("engine", ENGINE.cause, "SELECT b"),
            ("closed", ENGINE.cause, "SELECT b"),
        ]
        command.unlock("analyst")
        assert (server.is_closed("analyst"), server.incidents("analyst")) == (False, ())
        fail(server, account, "c")
        assert not server.is_closed("analyst")
        with server.open_statement(account, "", [item_of("a")]) as statement:
            assert statement.failed is FailureKind.ENGINE


def of_form(key: str, form: str) -> ChargeItem:
    """Return a measurement of a form."""
    return replace(item_of(key), form=lambda: form)


def breaks(ledger: Ledger, account: Account, item: ChargeItem) -> None:
    """Pay for a measurement that meets a bug."""
    with ledger.open_statement(account, "", [item]) as statement:
        statement.fail(item.key, BROKEN)


def test_a_bug_refuses_its_form_to_the_role_alone(opened: Opened) -> None:
    """In every process, until it is unlocked; what is stored stays to be had, and another form is measured."""
    with opened() as server, opened() as command:
        account, other = patient(9), patient(9, "other")
        ask(server, account, of_form("stored", "f"))
        ask(server, other, of_form("of another role", "f"))
        breaks(server, account, of_form("a", "f"))
        for ledger in (server, command):
            before = spent(ledger, account)
            with pytest.raises(AccountClosed, match="this form of statement is refused to role") as caught:
                ask(ledger, account, of_form("b", "f"), of_form("c", "g"))
            assert caught.value.because == "form-refused"
            assert spent(ledger, account) == before
            assert ask(ledger, account, of_form("stored", "f")) == {"stored": b"release of stored"}
        assert ask(server, account, of_form("of another role", "f")) == {
            "of another role": b"release of of another role"
        }
        with server.open_statement(account, "", [of_form("a", "f")]) as statement:
            assert statement.failed is FailureKind.BROKEN
        ask(server, account, of_form("d", "g"))
        ask(server, other, of_form("e", "f"))
        assert (server.balance(account).broken, server.balance(other).broken) == (frozenset({"f"}), frozenset())
        command.unlock("analyst")
        ask(server, account, of_form("b", "f"))


def test_a_second_bug_closes_the_account(opened: Opened) -> None:
    """Of another form; or of the same one, whose measurement was under way when the first broke."""
    account = patient(9)
    with opened() as ledger:
        breaks(ledger, account, of_form("a", "f"))
        assert not ledger.is_closed("analyst")
        breaks(ledger, account, of_form("b", "g"))
        assert ledger.is_closed("analyst")
        ledger.unlock("analyst")
        assert not ledger.balance(account).broken
    with opened() as first, opened() as second:
        with (
            first.open_statement(account, "", [of_form("c", "h")]) as one,
            second.open_statement(account, "", [of_form("d", "h")]) as two,
        ):
            one.fail("c", BROKEN)
            two.fail("d", BROKEN)
        assert first.is_closed("analyst")


@pytest.mark.usefixtures("unclaimed")
def test_what_failed_is_no_release_of_another(opened: Opened) -> None:
    """Of two processes that measured at once one failed: the release of the other is what everybody has from then on."""
    with opened() as first, opened() as two:
        items = [item_of("a")]
        with first.open_statement(patient(9), "", items) as good, two.open_statement(patient(9, "b"), "", items) as bad:
            good.store("a", b"noisy")
            bad.fail("a", ENGINE)
        assert ask(first, patient(9, "b"), *items) == {"a": b"noisy"}
        with (
            first.open_statement(patient(9), "", [item_of("c")]) as good,
            two.open_statement(patient(9, "b"), "", [item_of("c")]) as bad,
        ):
            bad.fail("c", ENGINE)
            assert good.store("c", b"noisy") == b"noisy"
        with first.open_statement(patient(9), "", [item_of("c")]) as statement:
            assert (statement.failed, statement.stored) == (FailureKind.ENGINE, {})


def test_only_what_was_charged_can_fail(ledger: SqlLedger) -> None:
    """Any other key is a mistake of ours."""
    with ledger.open_statement(account_of(), "", [item_of("a")]) as statement, pytest.raises(InternalError):
        statement.fail("b", ENGINE)
