"""What is stored is looked up while others write: nobody waits for a charge that is not theirs."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.policy.model import Period
from tests.support.fix_ledger import Clock, account_of, ask, item_of

SOON = 20
"""Seconds within which a thread has done what it does at once, however busy the machine is."""


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Give a thread."""
    with ThreadPoolExecutor(1) as threads:
        yield threads


def test_a_stored_answer_does_not_wait_for_a_charge(ledger: SqliteLedger, pool: ThreadPoolExecutor) -> None:
    """While a transaction goes on in the same process the epoch and the release are told all the same."""
    number = ledger.epoch(Period.NEVER)
    ask(ledger, account_of(), item_of("a"))
    known = {"a": b"release of a"}
    assert ledger.known(account_of(), [item_of("a")]) == known
    with ledger._file.write() as connection:
        connection.execute("INSERT INTO statements (time, user, role, kind, text) VALUES ('', '', '', '', '')")
        assert pool.submit(ledger.epoch, Period.NEVER).result(SOON) == number
        assert pool.submit(ledger.known, account_of(), [item_of("a")]).result(SOON) == known
        assert pool.submit(ledger.known, account_of("partner"), [item_of("a")]).result(SOON) is None


def test_an_answer_of_before_the_start_is_found(tmp_path: Path, clock: Clock) -> None:
    """It is in the file, though nobody has asked this process for it."""
    with SqliteLedger(tmp_path / "ledger.db", clock) as ledger:
        ask(ledger, account_of(), item_of("a"))
    with SqliteLedger(tmp_path / "ledger.db", clock) as ledger:
        assert ledger.known(account_of(), [item_of("a")]) == {"a": b"release of a"}
        assert ledger.known(account_of("partner"), [item_of("a")]) is None


def test_an_epoch_that_another_process_begins_is_seen_at_once(tmp_path: Path, clock: Clock) -> None:
    """Also where this one has just written; and what was stored is stored no more."""
    with SqliteLedger(tmp_path / "ledger.db", clock) as ledger, SqliteLedger(tmp_path / "ledger.db", clock) as other:
        number = ledger.epoch(Period.NEVER)
        ask(ledger, account_of(), item_of("a"))
        assert ledger.epoch(Period.NEVER) == number
        assert other.advance("refresh") == number + 1
        assert ledger.epoch(Period.NEVER) == number + 1
        assert ask(ledger, account_of(), item_of("a")) == {"a": None}


def test_the_epoch_is_told_while_another_process_begins_the_next(tmp_path: Path, ledger: SqliteLedger) -> None:
    """Nobody waits for it, and it is seen once it has begun."""
    number = ledger.epoch(Period.NEVER)
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("INSERT INTO epochs (began, reason) VALUES ('2100-01-01T00:00:00+00:00', 'refresh')")
        assert ledger.epoch(Period.NEVER) == number
        other.execute("COMMIT")
        assert ledger.epoch(Period.NEVER) == number + 1


@pytest.mark.usefixtures("without_log")
def test_without_a_log_the_epoch_is_waited_for(tmp_path: Path, clock: Clock, pool: ThreadPoolExecutor) -> None:
    """Whoever writes might begin the next one."""
    with SqliteLedger(tmp_path / "ledger.db", clock) as ledger:
        number = ledger.epoch(Period.NEVER)
        with closing(sqlite3.connect(f"file:{tmp_path}/ledger.db", isolation_level=None, uri=True)) as other:
            other.execute("BEGIN EXCLUSIVE")
            asked = pool.submit(ledger.epoch, Period.NEVER)
            assert ledger._file.epoch() is None
            assert not asked.done()
            other.execute("INSERT INTO epochs (began, reason) VALUES ('2100-01-01T00:00:00+00:00', 'refresh')")
            other.execute("COMMIT")
            assert asked.result(SOON) == number + 1
