"""What is stored is looked up while others write: nobody waits for a charge that is not theirs."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.accounting.sql.lines import enter_statement
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.policy.model import Period
from tests.accounting.conftest import Opened
from tests.support.fix_ledger import account_of, ask, item_of

SOON = 20
"""Seconds within which a thread has done what it does at once, however busy the machine is."""


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Give a thread."""
    with ThreadPoolExecutor(1) as threads:
        yield threads


def test_a_stored_answer_does_not_wait_for_a_charge(ledger: SqlLedger, pool: ThreadPoolExecutor) -> None:
    """While a transaction goes on in the same process the epoch and the release are told all the same."""
    number = ledger.epoch(Period.NEVER)
    ask(ledger, account_of(), item_of("a"))
    releases = {"a": b"release of a"}
    assert ledger.stored_releases(account_of(), [item_of("a")]) == releases
    with ledger._store.write() as connection:
        enter_statement(connection, datetime.now(UTC), "", ("", ""), "")
        assert pool.submit(ledger.epoch, Period.NEVER).result(SOON) == number
        assert pool.submit(ledger.stored_releases, account_of(), [item_of("a")]).result(SOON) == releases
        assert pool.submit(ledger.stored_releases, account_of("partner"), [item_of("a")]).result(SOON) is None


def test_an_answer_of_before_the_start_is_found(opened: Opened) -> None:
    """It is in the file, though nobody has asked this process for it."""
    with opened() as ledger:
        ask(ledger, account_of(), item_of("a"))
    with opened() as ledger:
        assert ledger.stored_releases(account_of(), [item_of("a")]) == {"a": b"release of a"}
        assert ledger.stored_releases(account_of("partner"), [item_of("a")]) is None


def test_an_epoch_that_another_process_begins_is_seen_at_once(opened: Opened) -> None:
    """Also where this one has just written; and what was stored is stored no more."""
    with opened() as ledger, opened() as other:
        number = ledger.epoch(Period.NEVER)
        ask(ledger, account_of(), item_of("a"))
        assert ledger.epoch(Period.NEVER) == number
        assert other.advance("refresh") == number + 1
        assert ledger.epoch(Period.NEVER) == number + 1
        assert ask(ledger, account_of(), item_of("a")) == {"a": None}


def test_what_is_at_hand_is_told_at_once(ledger: SqlLedger, pool: ThreadPoolExecutor) -> None:
    """Releases that were looked up before, of this epoch, with nothing beside them; a server would have to be asked."""
    number = ledger.epoch(Period.NEVER)
    ask(ledger, account_of(), item_of("a"))

    def at_hand(role: str = "analyst", keys: str = "a", names: str = "") -> object:
        return ledger.at_hand(account_of(role), keys, names, Period.NEVER)

    assert at_hand() is None
    ledger.stored_releases(account_of(), [item_of("a")])
    if not isinstance(ledger, SqliteLedger):
        assert at_hand() is None
        return
    there = (number, {"a": b"release of a"})
    assert at_hand() == there
    assert at_hand("partner") is None
    assert at_hand(keys="ab") is None
    with ledger._store.write():
        assert pool.submit(at_hand).result(SOON) == there
    with ledger._file._looking:  # another thread looks: nobody waits for it
        assert pool.submit(at_hand).result(SOON) is None
    ledger.keep_readings(account_of(), {"n": ["b"]})
    assert at_hand(names="m") == there
    assert at_hand(names="mn") is None
    assert ledger.at_hand(account_of(), "a", "", Period.DAY) == there
    ledger._clock = lambda: datetime.now(UTC) + timedelta(days=2)
    assert ledger.at_hand(account_of(), "a", "", Period.DAY) is None
    ledger.advance("new records")
    assert at_hand() != there


@pytest.mark.usefixtures("without_log")
def test_nothing_is_at_hand_on_a_network(tmp_path: Path) -> None:
    """Each look at such a file may take the network's time; who does not mind waiting is told."""
    with SqliteLedger(tmp_path / "ledger.db", lambda: datetime.now(UTC)) as ledger:
        ask(ledger, account_of(), item_of("a"))
        assert ledger.stored_releases(account_of(), [item_of("a")]) == {"a": b"release of a"}
        assert ledger.at_hand(account_of(), "a", "", Period.NEVER) is None
