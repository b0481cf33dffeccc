"""A server that goes away, and whoever charges without pause: no charge is lost, and none is made twice."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from dpsql.accounting.balance import Account
from dpsql.accounting.postgres import ledger as postgres_ledger
from dpsql.accounting.postgres import session
from dpsql.accounting.postgres.ledger import PostgresLedger
from dpsql.errors import LedgerBusy, LedgerFailed, LedgerFull
from tests.support.fix_ledger import Clock, account_of, ask, item_of
from tests.support.plain_server import PlainServer, running_server

CHARGERS = 6


@pytest.fixture
def server() -> Iterator[PlainServer]:
    """A server that may be killed."""
    with running_server() as running:
        yield running


def _rich() -> Account:
    return account_of(total="1000000", dataset="10000000")


def test_kinds_of_trouble(caplog: pytest.LogCaptureFixture) -> None:
    """Each has its error; a mistake of ours stays what it is."""
    kinds = {
        psycopg.errors.DiskFull(): LedgerFull,
        psycopg.errors.LockNotAvailable(): LedgerBusy,
        psycopg.errors.AdminShutdown(): LedgerFailed,
        psycopg.errors.ReadOnlySqlTransaction(): LedgerFailed,
        psycopg.errors.InsufficientPrivilege(): LedgerFailed,
    }
    for error, kind in kinds.items():
        assert isinstance(session.trouble_of(error), kind)
    mistake = psycopg.errors.UndefinedColumn()
    assert session.trouble_of(mistake) is mistake
    assert len(caplog.records) == len(kinds)


def test_a_restart_is_waited_for_and_an_outage_is_told(
    server: PlainServer, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is measured meanwhile; what is stored under a charge of before is kept."""
    with PostgresLedger(server.dsn(), tmp_path / "l", clock) as ledger:
        with ledger.open_statement(_rich(), "", [item_of("a")]) as statement:
            server.kill()
            later = threading.Timer(1, server.start)
            later.start()
            assert statement.store("a", b"noisy") == b"noisy"
            later.join()
        assert ask(ledger, _rich(), item_of("a")) == {"a": b"noisy"}
        server.kill()
        monkeypatch.setattr(postgres_ledger, "_AWAY", 0.5)
        measured: list[object] = []
        with pytest.raises(LedgerFailed), ledger.open_statement(_rich(), "", [item_of("b")], measured.append):
            pass
        assert measured == []
        server.start()
        assert ask(ledger, _rich(), item_of("b")) == {"b": None}


def test_a_server_that_answers_nothing_keeps_nobody_for_ever(
    server: PlainServer, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who wait hear of it together, nothing is measured, and whatever was charged then is charged once."""
    monkeypatch.setattr(session, "_SILENT", 0.5)
    monkeypatch.setattr(postgres_ledger, "_AWAY", 0.5)
    measured, heard = list[object](), Counter[str]()

    def wait(name: str) -> None:
        try:
            with ledger.open_statement(_rich(), "", [item_of(name)], measured.append):
                pass
        except LedgerFailed:
            heard[name] += 1

    with PostgresLedger(make_conninfo(server.dsn(), connect_timeout=2), tmp_path / "l", clock) as ledger:
        ask(ledger, _rich(), item_of("before"))
        askers = [threading.Thread(target=wait, args=(str(number),), daemon=True) for number in range(CHARGERS)]
        with server.stopped():
            for asker in askers:
                asker.start()
            for asker in askers:
                asker.join(30)
            assert (len(heard), measured) == (CHARGERS, [])
        monkeypatch.setattr(postgres_ledger, "_AWAY", 20.0)  # it is tried again soon
        for number in range(CHARGERS):
            ask(ledger, _rich(), item_of(str(number)))
        assert set(Counter(entry.key for entry in ledger.entries(None, 100)).values()) == {1}


def _charge(ledger: PostgresLedger, name: str, over: threading.Event, heard: Counter[str]) -> None:
    """Ask new questions, each once; remember those that were answered."""
    number = 0
    while not over.is_set():
        key = f"{name} {number}"
        number += 1
        try:
            ask(ledger, _rich(), item_of(key, "1/1000"))
        except LedgerFailed:
            continue
        heard[key] += 1


@pytest.mark.parametrize("seed", range(2))
def test_kills_of_the_server_lose_no_charge_and_double_none(
    server: PlainServer, tmp_path: Path, clock: Clock, seed: int
) -> None:
    """Of two that charge on and on while it is killed and started again every acknowledged charge is there, once."""
    over, heard, chance = threading.Event(), Counter[str](), random.Random(seed)  # noqa: S311 # any moment will do
    with (
        closing(PostgresLedger(server.dsn(), tmp_path / "a", clock)) as first,
        closing(PostgresLedger(server.dsn(), tmp_path / "b", clock)) as two,
    ):
        askers = [
            threading.Thread(target=_charge, args=((first, two)[n % 2], str(n), over, heard)) for n in range(CHARGERS)
        ]
        for asker in askers:
            asker.start()
        try:
            for _ in range(4):
                time.sleep(chance.uniform(0.2, 0.8))
                server.kill()
                server.start()
            before, deadline = len(heard), time.monotonic() + 60
            while len(heard) < before + CHARGERS:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            over.set()
            for asker in askers:
                asker.join()
        charged = Counter(entry.key for entry in first.entries(None, 10**6))
    assert set(heard) <= set(charged)
    assert set(charged.values()) == {1}
    assert len(charged) - len(heard) <= 4 * CHARGERS
