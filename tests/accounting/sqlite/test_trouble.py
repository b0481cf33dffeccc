"""A ledger that can't be used is told as what it is, and nothing is charged that could not be kept."""

import logging
import shutil
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

from dpsql.accounting.ledger import DataSet, OpeningWay
from dpsql.accounting.sql import opening
from dpsql.accounting.sqlite import ledger as sqlite_ledger
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import ConfigError, DpsqlError, LedgerBusy, LedgerFailed, LedgerFull
from tests.support.fix_ledger import Clock, account_of, ask, item_of, spent

LONG = "x" * 2**20


class Usage(NamedTuple):
    """What `shutil.disk_usage` returns."""

    total: int
    used: int
    free: int


def told(ledger: SqliteLedger, text: str = "SELECT 1") -> DpsqlError:
    """Return the error that a new question ends with."""
    with pytest.raises(DpsqlError) as caught, ledger.open_statement(account_of(), text, [item_of("new")]):
        pass
    return caught.value


def test_a_full_disk_is_told_before_anything_is_charged(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """There has to be room for the release too; what is stored is answered as ever."""
    ask(ledger, account_of(), item_of("a"))
    with monkeypatch.context() as little, caplog.at_level(logging.ERROR, "dpsql.ledger"):
        little.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 10**6))
        assert isinstance(told(ledger), LedgerFull)
    assert "1000000 bytes are free" in caplog.text
    assert spent(ledger, account_of())[0] == item_of("a").cost.epsilon
    assert ask(ledger, account_of(), item_of("a")) == {"a": b"release of a"}


def test_a_disk_that_fills_up_meanwhile(ledger: SqliteLedger) -> None:
    """SQLite's own word is told likewise, and the transaction leaves nothing."""
    ask(ledger, account_of(), item_of("a"))
    with ledger._file.read() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    assert isinstance(told(ledger, LONG), LedgerFull)
    assert len(ledger.entries(None, 9)) == 1


def test_a_locked_ledger_is_told(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for another process that does not end hears so; afterwards all is well."""
    monkeypatch.setattr(sqlite_ledger, "_PATIENCE", 0.05)
    with SqliteLedger(tmp_path / "ledger.db", clock) as ledger:
        other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        assert isinstance(told(ledger), LedgerBusy)
        other.execute("ROLLBACK")
        other.close()
        assert ask(ledger, account_of(), item_of("new")) == {"new": None}


def test_who_waits_for_the_lock_keeps_nobody_waiting(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight who ask while another process holds it hear so after the time that one waits, not eight times of it."""
    monkeypatch.setattr(sqlite_ledger, "_PATIENCE", 1.0)
    with SqliteLedger(tmp_path / "ledger.db", clock) as ledger, ThreadPoolExecutor(8) as pool:
        with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            begun = time.monotonic()
            heard = list(pool.map(lambda _: type(told(ledger)), range(8)))
            assert time.monotonic() - begun < 7.5  # one after the other would take eight
        assert heard == [LedgerBusy] * 8


def test_a_long_look_at_the_ledger_delays_no_charge(ledger: SqliteLedger, tmp_path: Path) -> None:
    """While another process reads, this one writes; the other sees what there was."""
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN")
        count = "SELECT count(*) FROM charges"
        assert other.execute(count).fetchone() == (0,)
        assert ask(ledger, account_of(), item_of("a")) == {"a": None}
        assert ledger.balance(account_of()).role_spent.epsilon == item_of("a").cost.epsilon
        assert other.execute(count).fetchone() == (0,)
        other.execute("ROLLBACK")
        assert other.execute(count).fetchone() == (1,)


@pytest.mark.usefixtures("without_log")
def test_without_a_log_a_long_look_delays_a_charge(tmp_path: Path, clock: Clock) -> None:
    """While another process reads nothing can be written, and what was not is tried again."""
    with (
        SqliteLedger(tmp_path / "ledger.db", clock) as ledger,
        closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other,
        ThreadPoolExecutor() as pool,
    ):
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM charges").fetchall()
        asked = pool.submit(ask, ledger, account_of(), item_of("a"))
        time.sleep(0.2)
        assert ledger.balance(account_of()).role_spent.epsilon == 0
        assert not asked.done()
        other.execute("ROLLBACK")
        assert asked.result(20) == {"a": None}


def test_a_damaged_ledger_is_told(ledger: SqliteLedger, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The cause is in the operator's log."""
    ask(ledger, account_of(), item_of("a"))
    file = tmp_path / "ledger.db"
    with ledger._file._lock, ledger._file._looking:
        ledger._file._eye.close()
        ledger._file._connection.close()
        with file.open("r+b") as raw:
            raw.seek(4096)
            raw.write(b"\xff" * (file.stat().st_size - 4096))
        ledger._file._connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        log, ledger._file._log = ledger._file._log, None
    assert log is not None
    log.close()
    assert isinstance(told(ledger), LedgerFailed)
    assert "malformed" in caplog.text


@pytest.mark.parametrize("way", ["removed", "moved", "replaced", "without its log"])
def test_a_ledger_that_is_taken_away_is_told(ledger: SqliteLedger, tmp_path: Path, way: str) -> None:
    """What would be written to the old file nobody would ever read."""
    ask(ledger, account_of(), item_of("a"))
    file, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    shutil.copy(file, copy)
    match way:
        case "removed":
            file.unlink()
        case "moved":
            file.rename(tmp_path / "elsewhere.db")
        case "without its log":
            Path(f"{file}-wal").unlink()
        case _:
            copy.replace(file)
    assert isinstance(told(ledger), LedgerFailed)


@pytest.mark.parametrize("left", [None, b""], ids=["removed", "emptied"])
def test_a_ledger_that_is_gone_is_not_made_anew(tmp_path: Path, clock: Clock, left: bytes | None) -> None:
    """With it what was spent would be forgotten; whoever says so on purpose starts with nothing spent."""
    file = tmp_path / "ledger.db"
    with SqliteLedger(file, clock) as ledger:
        ask(ledger, account_of(), item_of("a"))
    file.unlink()
    if left is not None:
        file.write_bytes(left)
    for _ in range(2):
        with pytest.raises(ConfigError, match="is gone") as caught:
            SqliteLedger(file, clock)
        assert "dpsql serve --new-ledger" in (caught.value.hint or "")
    with SqliteLedger(file, clock, way=OpeningWay.ANEW) as ledger:
        assert spent(ledger, account_of())[0] == Fraction(0)
    SqliteLedger(file, clock).close()


def back_up(file: Path, copy: Path) -> None:
    """Copy a ledger as `sqlite3 ledger.db ".backup copy.db"` does."""
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def test_a_copy_of_the_file_alone_is_noticed(tmp_path: Path, clock: Clock) -> None:
    """It lacks what stands in the log only, but is a ledger."""
    file, old = tmp_path / "ledger.db", tmp_path / "old.db"
    with SqliteLedger(file, clock) as ledger:
        ask(ledger, account_of(), item_of("a"))
        shutil.copy(file, old)
    shutil.copy(old, file)
    with pytest.raises(ConfigError, match="is an older copy: 1 charges are missing"):
        SqliteLedger(file, clock)


@pytest.mark.parametrize("kept", [True, False])
def test_a_log_that_was_left_by_a_kill_belongs_to_the_ledger(tmp_path: Path, clock: Clock, *, kept: bool) -> None:
    """With it nothing is lost; a ledger that was moved without it is noticed."""
    place = tmp_path / "place"
    with SqliteLedger(tmp_path / "ledger.db", clock) as ledger:
        ask(ledger, account_of(), item_of("a"))
        place.mkdir()
        for name in ("ledger.db", "ledger.db.mark", *(["ledger.db-wal"] if kept else [])):
            shutil.copy(tmp_path / name, place / name)
    if kept:
        with SqliteLedger(place / "ledger.db", clock) as ledger:
            assert spent(ledger, account_of())[0] == item_of("a").cost.epsilon
    else:
        with pytest.raises(ConfigError, match="is an older copy: 1 charges are missing"):
            SqliteLedger(place / "ledger.db", clock)


def test_an_older_copy_is_noticed(tmp_path: Path, clock: Clock) -> None:
    """As is a ledger that was made elsewhere; the newest copy is welcome."""
    file, old, new = tmp_path / "ledger.db", tmp_path / "old.db", tmp_path / "new.db"
    with SqliteLedger(file, clock) as ledger:
        ask(ledger, account_of(), item_of("a"))
        back_up(file, old)
        ask(ledger, account_of(), item_of("b"))
        back_up(file, new)
    shutil.copy(old, file)
    with pytest.raises(ConfigError, match="is an older copy: 1 charges are missing"):
        SqliteLedger(file, clock)
    shutil.copy(new, file)
    SqliteLedger(file, clock).close()
    SqliteLedger(tmp_path / "foreign.db", clock).close()
    shutil.copy(tmp_path / "foreign.db", file)
    with pytest.raises(ConfigError, match="is not the one that was here"):
        SqliteLedger(file, clock)
    for _ in range(2):
        with SqliteLedger(file, clock, way=OpeningWay.ANEW) as ledger:
            ask(ledger, account_of(), item_of("a"))
    SqliteLedger(file, clock).close()
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT reason FROM owners").fetchall() == [("made",), ("--new-ledger",)]
    connection.close()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"ledger": 1}'])
def test_a_damaged_mark_stops_nobody(tmp_path: Path, clock: Clock, damage: bytes) -> None:
    """A power cut may leave half of it; it is written again."""
    file = tmp_path / "ledger.db"
    with SqliteLedger(file, clock, DataSet("taxi")) as ledger:
        ask(ledger, account_of(), item_of("a"))
    opening.mark_path(file).write_bytes(damage)
    SqliteLedger(file, clock, DataSet("taxi")).close()
    marked = opening.read_mark(file)
    assert marked is not None
    assert (marked.dataset, marked.lines) == ("taxi", 1)


def test_any_text_can_be_read_again(ledger: SqliteLedger) -> None:
    """A statement with bytes that SQL, UTF-8 or a page can't show does not hide the others."""
    with ledger.open_statement(account_of(), "SELECT '\0\ud800'", [item_of("a")]):
        pass
    with ledger._file.write() as connection:
        connection.execute("INSERT INTO statements VALUES (9, '2024-05-15', 'ana', 'analyst', 'p', ?)", ("x\0y",))
        connection.execute("INSERT INTO charges VALUES (9, 9, 'k', 'count', '1', '0', 1, NULL, NULL, NULL)")
    assert [entry.statement for entry in ledger.entries(None, 9)] == ["x\ufffdy", "SELECT '\ufffd\ufffd'"]
