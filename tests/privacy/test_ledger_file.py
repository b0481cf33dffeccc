"""The ledger's file: what is in it after a restart, what it refuses, and whose it is."""

import sqlite3
import stat
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.errors import ConfigError
from dpsql.policy.model import Period
from dpsql.privacy.sqlite_ledger import SqliteLedger
from tests.fix_ledger import Clock, account_of, ask, item_of, spent


def test_reopened_ledger_remembers(tmp_path: Path, clock: Clock) -> None:
    """Charges, releases, entitlements and the epoch are in the file."""
    path = tmp_path / "new directory" / "ledger.db"
    with SqliteLedger(path, clock) as first:
        ask(first, account_of(), item_of("a", "1/3"))
    with SqliteLedger(path, clock) as second:
        assert spent(second, account_of()) == (Fraction(1, 3), Fraction(1, 3))
        assert ask(second, account_of(), item_of("a", "1/3")) == {"a": b"release of a"}


def test_two_open_ledgers_agree(tmp_path: Path, clock: Clock) -> None:
    """What one process charges the other sees at once."""
    with SqliteLedger(tmp_path / "l.db", clock) as one, SqliteLedger(tmp_path / "l.db", clock) as two:
        for i in range(4):
            ask((one, two)[i % 2], account_of(total="2"), item_of(str(i)))
            assert spent(one, account_of()) == spent(two, account_of()) == (Fraction(2 * (i + 1), 5),) * 2


@pytest.mark.parametrize("table", ["charges", "statements"])
@pytest.mark.parametrize("change", ["DELETE FROM {}", "UPDATE {} SET id = id + 1"])
def test_lines_can_only_be_added(ledger: SqliteLedger, tmp_path: Path, table: str, change: str) -> None:
    """The file itself refuses to change or to lose a line."""
    ask(ledger, account_of(), item_of("a"))
    connection = sqlite3.connect(tmp_path / "ledger.db")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(change.format(table))
    connection.close()


def test_file_is_private(ledger: SqliteLedger, tmp_path: Path) -> None:
    """Others on the machine can't read what was asked and answered."""
    ledger.epoch(Period.NEVER)
    assert stat.S_IMODE((tmp_path / "ledger.db").stat().st_mode) == 0o600


def test_other_files_are_refused(tmp_path: Path, clock: Clock) -> None:
    """Neither garbage nor the file of a later version is opened as a ledger, and a directory is none."""
    (tmp_path / "text").write_text("not a database, though longer than a header of one hundred bytes" * 9)
    connection = sqlite3.connect(tmp_path / "later")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for name, reason in (("text", "not a database"), ("later", "version 99"), ("", "opened")):
        with pytest.raises(ConfigError, match=reason):
            SqliteLedger(tmp_path / name, clock)
