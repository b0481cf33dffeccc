"""The ledger among racing threads and processes, and after a kill at any moment."""

import random
import signal
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import BudgetExhausted
from dpsql.policy.model import DatasetBudget, Privacy, Role, RoleBudget
from tests.support.forked import Forked

COST = Privacy(Fraction(1, 10))


def _now() -> datetime:
    return datetime(2024, 5, 15, tzinfo=UTC)


def _account(total: int) -> Account:
    role = Role("analyst", "passenger", RoleBudget(Privacy(Fraction(total))), COST)
    return Account("ana", role, DatasetBudget(Privacy(Fraction(10**6))))


def _charge(ledger: SqliteLedger, account: Account, key: str) -> bool:
    """Ask a new question; say whether it could be paid."""
    try:
        with ledger.open_statement(account, "SELECT 1", [ChargeItem(key, COST, "count")]) as statement:
            statement.store(key, b"noisy" * 200)
    except BudgetExhausted:
        return False
    return True


CHILD = """
import signal
from pathlib import Path
from tests.accounting.test_faults import SqliteLedger, _account, _charge, _now
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
with SqliteLedger(Path({path!r}), _now) as ledger:
    print("ready", flush=True)
    signal.sigwait([signal.SIGUSR1])
    {body}
raise SystemExit
"""
ONE_QUESTION = 'print(_charge(ledger, _account(1), "of " + {name!r}), flush=True)'
QUESTIONS_FOR_EVER = """
    for i in range(10**9):
        _charge(ledger, _account(10**6), "of {name} " + str(i))
        print(i, flush=True)
"""


def _start(path: Path, body: str) -> Forked:
    return Forked([], before=CHILD.format(path=str(path), body=body), modules=["tests.accounting.test_faults"])


def _go(child: Forked) -> None:
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGUSR1)


def _read_lines(child: Forked, n: int) -> int:
    assert child.stdout
    for _ in range(n):
        child.stdout.readline()
    return n


def _rest(child: Forked) -> str:
    """Return what else the child has written, and let it go."""
    assert child.stdout
    with child.stdout:
        text = child.stdout.read()
    child.wait()
    return text


def test_one_of_fifty_threads_wins_the_last_question(tmp_path: Path) -> None:
    """When the budget suffices for one more question, exactly one of fifty that ask at once is answered."""
    together = threading.Barrier(50)
    with SqliteLedger(tmp_path / "ledger.db", _now) as ledger, ThreadPoolExecutor(50) as pool:
        for i in range(9):
            assert _charge(ledger, _account(1), f"before {i}")

        def ask(i: int) -> bool:
            together.wait()
            return _charge(ledger, _account(1), f"at once {i}")

        assert sum(pool.map(ask, range(50))) == 1
        assert ledger.balance(_account(1)).role_spent == Privacy(Fraction(1))


def test_one_of_eight_processes_wins_the_last_question(tmp_path: Path) -> None:
    """The same among processes."""
    path = tmp_path / "ledger.db"
    with SqliteLedger(path, _now) as ledger:
        for i in range(9):
            assert _charge(ledger, _account(1), f"before {i}")
    children = [_start(path, ONE_QUESTION.format(name=name)) for name in "abcdefgh"]
    for child in children:
        _go(child)
    answers = [_rest(child) for child in children]
    assert sorted(answers) == ["False\n"] * 7 + ["True\n"]
    with SqliteLedger(path, _now) as ledger:
        assert ledger.balance(_account(1)).role_spent == Privacy(Fraction(1))


@pytest.mark.parametrize("seed", range(6))
def test_kill_loses_no_acknowledged_charge(tmp_path: Path, seed: int) -> None:
    """Of two processes that charge without pause and are killed at some moment, every acknowledged charge is there.

    The file is whole, and has at most one charge of each that was not acknowledged.
    """
    path = tmp_path / "ledger.db"
    children = [_start(path, QUESTIONS_FOR_EVER.format(name=name)) for name in "ab"]
    for child in children:
        _go(child)
    heard = [_read_lines(children[0], random.Random(seed).randrange(1, 40)), 0]  # noqa: S311  (any moment will do)
    for child in children:
        child.kill()
    acknowledged = [before + _rest(child).count("\n") for before, child in zip(heard, children, strict=True)]
    with SqliteLedger(path, _now) as ledger:
        charged = {entry.key for entry in ledger.entries(None, 10**6)}
    for name, count in zip("ab", acknowledged, strict=True):
        assert {f"of {name} {i}" for i in range(count)} <= charged
    assert len(charged) <= sum(acknowledged) + 2
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_killed_in_the_middle_of_a_transaction(tmp_path: Path) -> None:
    """A charge that was written but not committed is gone, and the next asker is not locked out."""
    path = tmp_path / "ledger.db"
    body = """
    with ledger._file.write() as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("INSERT INTO statements VALUES (1, '', 'analyst', '', '', hex(zeroblob(1000000)))")
        print("written", flush=True)
        signal.pause()
"""
    child = _start(path, body)
    _go(child)
    assert child.stdout
    assert child.stdout.readline() == "written\n"
    child.kill()
    _rest(child)
    with SqliteLedger(path, _now) as ledger:
        assert _charge(ledger, _account(1), "after")
        assert [entry.key for entry in ledger.entries(None, 9)] == ["after"]
