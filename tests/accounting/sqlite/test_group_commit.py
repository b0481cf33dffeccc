"""A charge is on the disk before anybody asks the engine, and those who charge at the same time wait for one sync."""

import errno
import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from dpsql.accounting.sqlite.ledger import GroupCommit, SqliteLedger
from dpsql.errors import LedgerFailed
from tests.support.fix_ledger import Clock, account_of, ask, item_of, spent

ASKERS = 16


class Disk:
    """A slow disk that remembers how much of the log it was asked to keep."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, delay: float = 0) -> None:
        self.kept: list[int] = []
        self.broken = False
        self._delay = delay
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, file: int) -> None:
        if self.broken:
            raise OSError(errno.EIO, "Input/output error")
        size = os.fstat(file).st_size
        time.sleep(self._delay)
        self._fsync(file)
        self.kept.append(size)


def test_a_charge_is_kept_before_it_is_known(
    ledger: SqliteLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is in the log once the charge was made the disk was asked to keep; the release it keeps when it likes."""
    disk = Disk(monkeypatch)
    log = tmp_path / "ledger.db-wal"
    with ledger.open_statement(account_of(), "SELECT 1", [item_of("a")]) as statement:
        assert disk.kept == [log.stat().st_size]
        statement.store("a", b"release")
    assert len(disk.kept) == 1
    assert log.stat().st_size > disk.kept[0]


def test_charges_at_the_same_time_share_a_sync(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes while the disk is at work waits for its next sync, with all who came meanwhile."""
    disk = Disk(monkeypatch, 0.1)
    together = threading.Barrier(ASKERS)

    def pay(number: int) -> None:
        together.wait()
        ask(ledger, account_of(total="100", dataset="100"), item_of(f"{number}"), store=False)

    with ThreadPoolExecutor(ASKERS) as pool:
        list(pool.map(pay, range(ASKERS)))
    assert len(ledger.entries(None, 99)) == ASKERS
    assert 1 <= len(disk.kept) < ASKERS


def test_nobody_returns_before_what_was_written_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many writers finds, when it may go on, that a sync began after it had written."""
    file = tmp_path / "log"
    file.touch()
    disk, group, turn = Disk(monkeypatch, 0.002), GroupCommit(file), threading.Lock()

    def write(_: int) -> bool:
        with turn, file.open("ab") as log:
            log.write(b"x")
            mine = log.tell()
        group.sync()
        return max(disk.kept) >= mine

    with ThreadPoolExecutor(ASKERS) as pool:
        assert all(pool.map(write, range(500)))
    group.close()
    assert len(disk.kept) < 500


@pytest.mark.parametrize("error", [OSError(errno.EIO, "no"), KeyboardInterrupt()])
def test_who_waits_for_a_sync_that_ends_otherwise_is_not_told_that_it_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Whatever ended it."""
    (tmp_path / "log").touch()
    group, begun, waiting = GroupCommit(tmp_path / "log"), threading.Event(), threading.Event()

    def end(_: int) -> None:
        begun.set()
        waiting.wait(20)
        raise error

    monkeypatch.setattr(os, "fsync", end)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(group.sync)
        begun.wait(20)
        second = pool.submit(group.sync)
        while group._asked < 2:
            time.sleep(0.001)
        waiting.set()
        assert {type(first.exception(20)), type(second.exception(20))} == {type(error), OSError}
    group.close()


def test_what_is_bought_is_told_once_the_charge_lasts(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not while the disk is at work on it, to another session of the role, nor after it has failed."""
    ask(ledger, account_of(), item_of("a"))
    told: list[object] = []

    def look(_: int) -> None:
        told.append(ledger.stored_releases(account_of("partner"), [item_of("a")]))
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", look)
    with pytest.raises(LedgerFailed):
        ask(ledger, account_of("partner"), item_of("a"))
    assert [*told, ledger.stored_releases(account_of("partner"), [item_of("a")])] == [None, None]


def test_a_disk_that_failed_is_never_trusted_again(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After a failed sync a later one may succeed though the pages are gone; what was charged stays charged."""
    disk = Disk(monkeypatch)
    for broken in (True, False):
        disk.broken = broken
        with pytest.raises(LedgerFailed):
            ask(ledger, account_of(total="9"), item_of(f"{broken}"))
    assert spent(ledger, account_of(total="9"))[0] == 2 * item_of("").cost.epsilon
    assert "its disk has failed" in caplog.text


def test_a_ledger_with_a_rollback_journal_is_taken_over(tmp_path: Path, clock: Clock) -> None:
    """What was charged before there was a log counts."""
    file = tmp_path / "ledger.db"
    with SqliteLedger(file, clock) as ledger:
        ask(ledger, account_of(), item_of("a"))
    with closing(sqlite3.connect(file)) as old:
        assert old.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    with SqliteLedger(file, clock) as ledger:
        assert (tmp_path / "ledger.db-wal").exists()
        assert spent(ledger, account_of())[0] == item_of("a").cost.epsilon


def test_the_log_is_private_and_goes_with_its_ledger(ledger: SqliteLedger, tmp_path: Path) -> None:
    """It has what the ledger has; once nobody uses it all is in one file."""
    ask(ledger, account_of(), item_of("a"))
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    ledger.close()
    assert {path.name for path in tmp_path.iterdir()} == {"ledger.db", "ledger.db.mark"}
