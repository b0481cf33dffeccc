"""The judge of the chaos test: it sees each thing that must not be, and nothing where all is well."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.chaos.fleet import FRESH, Done
from tests.faults.chaos.saboteur import Fault
from tests.faults.chaos.verdict import of_clients, of_ledger, of_log

GOOD = Done(1, "ask", f"{FRESH} 20.5", began=100.0, took=1.0, value="1920")
LOST = replace(GOOD, value=None, sqlstate="08006", failed="the connection to the engine broke")
KILLED = Fault("kill_engine", 99.0, 101.0)


def test_good_answers_are_no_complaint() -> None:
    """Neither are errors that something explains."""
    assert list(of_clients([GOOD, LOST], [KILLED])) == []


@pytest.mark.parametrize(
    "done",
    [
        replace(GOOD, took=10.1),
        replace(GOOD, value="1919"),
        replace(LOST, began=200.0),
        replace(LOST, sqlstate=None),
        replace(LOST, sqlstate="XX000"),
        replace(LOST, what="connect", sqlstate="28P01"),
    ],
)
def test_what_clients_should_not_live_through_is_seen(done: Done) -> None:
    """Waits, wrong answers, and errors that nothing explains."""
    assert len(list(of_clients([done], [KILLED]))) == 1


def test_who_rested_is_told_late_that_their_session_ended() -> None:
    """Who has asked since is not."""
    died = [Fault("kill_shadow", 99.5, 100.5)]
    told = replace(GOOD, began=108.0, value=None, sqlstate="57P01", failed="the session ended")
    assert list(of_clients([GOOD, told], died)) == []
    assert len(list(of_clients([GOOD, replace(GOOD, began=105.0), told], died))) == 1


def _ledger(path: Path, *, charges: int, stored: bool) -> Path:
    with closing(sqlite3.connect(path)) as ledger, ledger:
        ledger.execute("CREATE TABLE statements (id INTEGER, text TEXT)")
        ledger.execute("CREATE TABLE charges (statement INTEGER, key TEXT)")
        ledger.execute("CREATE TABLE releases (key TEXT)")
        ledger.execute("INSERT INTO statements VALUES (1, ?)", (GOOD.statement,))
        ledger.executemany("INSERT INTO charges VALUES (1, 'k')", [()] * charges)
        ledger.execute("INSERT INTO releases SELECT 'k' WHERE ?", (stored,))
    return path


@pytest.mark.parametrize(
    ("charges", "stored", "done", "count"),
    [
        (1, True, GOOD, 0),
        (1, False, LOST, 0),
        (0, True, GOOD, 2),
        (1, False, GOOD, 1),
        (2, True, GOOD, 1),
        (1, True, replace(LOST, failed="it is away; nothing was charged"), 1),
        (1, True, replace(GOOD, statement="another"), 1),
    ],
)
def test_a_charge_and_an_answer_go_together(tmp_path: Path, charges: int, stored: bool, done: Done, count: int) -> None:
    """Whichever is there without the other."""
    assert len(list(of_ledger(_ledger(tmp_path / "ledger", charges=charges, stored=stored), [done], [KILLED]))) == count


def test_a_death_that_is_not_logged_is_seen() -> None:
    """So is a traceback."""
    death = Fault("kill_shadow", 1.0, 2.0)
    logged = "the shadow died or was left half made, and is made again\n"
    assert list(of_log(logged, [death])) == []
    assert len(list(of_log(logged, [death, death]))) == 1
    assert len(list(of_log(logged + "Traceback (most recent call last):\n  File x\nKeyError\n", [death]))) == 1
