"""A process that is killed while it measures a standing question: its accounts are there, or nothing was released."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from dpsql.accounting.ledger import LastMeasurement
from dpsql.engines.snapshot.accounts import AccountStore, HeldAccounts
from dpsql.policy.config import Resources
from dpsql.question import Cancellation
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.emit.emitter import Emitter
from tests.standing.histories import Copies, day_of, standing, table

CHILD = """
import sys
from pathlib import Path
from dpsql.engines.snapshot.accounts import HeldAccounts
from tests.standing.test_killed import measured

def wait(*_):
    print("now", flush=True)
    sys.stdin.read()

right = HeldAccounts._add
if sys.argv[2] == "in the transaction":
    HeldAccounts._add = lambda *given: (right(*given), wait())
measured(Path(sys.argv[1]), 1)
wait()
"""


def _store(directory: Path) -> AccountStore:
    return AccountStore(directory / "accounts", directory / "records.duckdb", Resources(), b"key")


def measured(directory: Path, number: int) -> list[int]:
    """Measure one more day, the first of which is 1; return what its cells count."""
    part = standing(table(1, ["a", "b"]), 3)
    with _store(directory).held(Cancellation()) as held:
        copies = Copies(
            held._connection, Emitter(DUCKDB, DeclaredFacts({}), lambda name: f'records.main."{name}"'), number - 1
        )
        return [cell[0] for cell in copies.measured(part, "q", [number - 1]).values()]


def _left(directory: Path) -> tuple[LastMeasurement, dict[str, int]]:
    with _store(directory).held(Cancellation()) as held:
        stands = held.stands("q")
        used = _used(held) if stands.number else {}
    return stands, used


def _used(held: HeldAccounts) -> dict[str, int]:
    return dict(held._connection.execute('SELECT unit, used FROM standing.main."accounts q"').fetchall())


@pytest.mark.parametrize("when", ["in the transaction", "after it"])
def test_accounts_are_written_or_not(tmp_path: Path, when: str) -> None:
    """Whatever the next process finds says which; what it measures then is what is left of C."""
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute('CREATE TABLE t (who VARCHAR, "at" DATE, tag VARCHAR, x DOUBLE)')
        for who, day in (("a", 0), ("b", 0), ("a", 1)):
            connection.execute("INSERT INTO t VALUES (?, ?, ?, 8)", [who, day_of(day), who])
    run = [sys.executable, "-c", CHILD, str(tmp_path), when]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        assert child.stdout is not None
        assert child.stdout.readline() == "now\n"
        child.kill()
    stands, used = _left(tmp_path)
    full = standing(table(1, ["a", "b"]), 3).asked.bound.mass
    if when == "after it":
        assert (stands, used) == (LastMeasurement(1, "claim 1"), {"a": full, "b": full})
        assert measured(tmp_path, 2) == [0, 0]
    else:
        assert (stands, used) == (LastMeasurement(), {})
        assert max(measured(tmp_path, 1)) > 0
        assert measured(tmp_path, 2) == [0, 0]
