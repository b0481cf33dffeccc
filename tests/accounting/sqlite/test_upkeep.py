"""Copies of a ledger's file: whole, private, and never half there; what a file lacks is told by the mark and the ledger."""

import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dpsql.accounting.sql.opening import mark_path
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.accounting.sqlite.upkeep import copy_ledger, examine, missing_charges_of, newest_lines, put_back
from dpsql.errors import ConfigError
from tests.accounting.sqlite.test_file import older


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Make a ledger."""
    path = tmp_path / "ledger.db"
    SqliteLedger(path, lambda: datetime.now(UTC)).close()
    return path


def test_a_copy_is_one_private_file(ledger: Path, tmp_path: Path) -> None:
    """With what stands in the log beside the ledger, which stays as it is; a link in its place is refused."""
    with SqliteLedger(ledger, lambda: datetime.now(UTC)) as opened:
        opened.advance("a reason that is in the log only")
        copy_ledger(ledger, tmp_path / "copy")
    examination = examine(tmp_path / "copy")
    assert (examination.epochs, examination.wrong) == (1, ())
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o600
    assert sorted(file.name for file in tmp_path.glob("copy*")) == ["copy"]
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="is there already"):
        copy_ledger(ledger, tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_copy_of_an_earlier_version_is_read(ledger: Path, tmp_path: Path, version: int) -> None:
    """It is verified and put back, and stays as it is until it is opened to be written."""
    with SqliteLedger(ledger, lambda: datetime.now(UTC)) as opened:
        opened.advance("a reason")
    now = examine(ledger)
    copy_ledger(ledger, tmp_path / "copy")
    older(tmp_path / "copy", version)
    assert examine(tmp_path / "copy") == now
    assert newest_lines(tmp_path / "copy", None, 5) == newest_lines(ledger, None, 5)
    assert missing_charges_of(ledger, examine(tmp_path / "copy")) == 0
    put_back(tmp_path / "copy", ledger, ".before")
    for file in (ledger, tmp_path / "copy"):
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    with SqliteLedger(ledger, lambda: datetime.now(UTC)):
        assert examine(ledger) == now


def test_what_is_wrong_with_an_earlier_version_is_said(ledger: Path) -> None:
    """A trigger that is gone is not made anew in silence; a later version is another dpsql's."""
    older(ledger, 3)
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("DROP TRIGGER charges_no_DELETE")
    assert any("charges_no_DELETE" in line for line in examine(ledger).wrong)
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(ConfigError, match="but of 99"):
        examine(ledger)


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """What can't be read is no ledger."""
    (tmp_path / "broken").write_bytes(b"no ledger" * 1000)
    with pytest.raises(ConfigError, match="can't be copied"):
        copy_ledger(tmp_path / "broken", tmp_path / "copy")
    assert not list(tmp_path.glob("copy*"))
    with pytest.raises(ConfigError, match="there is no ledger"):
        copy_ledger(tmp_path / "nothing", tmp_path / "copy")


def test_what_a_copy_lacks_is_told_by_the_mark_alone(ledger: Path, tmp_path: Path) -> None:
    """The ledger may be gone or broken; where the mark is of another one nobody can tell."""
    copy_ledger(ledger, tmp_path / "copy")
    examination = examine(tmp_path / "copy")
    marked = mark_path(ledger).read_text().replace('"lines": 0', '"lines": 7')
    mark_path(ledger).write_text(marked)
    assert missing_charges_of(ledger, examination) == missing_charges_of(ledger, examination, looking=False) == 7
    ledger.unlink()
    assert missing_charges_of(ledger, examination) == 7
    mark_path(ledger).write_text(marked.replace(examination.ledger, "another"))
    assert missing_charges_of(ledger, examination) is None


def test_what_was_there_is_kept(ledger: Path, tmp_path: Path) -> None:
    """With what lay beside it; and nothing is moved while somebody has it open."""
    copy_ledger(ledger, tmp_path / "copy")
    with closing(sqlite3.connect(ledger)) as held:
        held.execute("BEGIN IMMEDIATE")
        with pytest.raises(ConfigError, match="has the ledger"):
            put_back(tmp_path / "copy", ledger, ".before")
    before = ledger.read_bytes()
    moved = put_back(tmp_path / "copy", ledger, ".before")
    assert moved[0].read_bytes() == before
    assert examine(ledger) == examine(tmp_path / "copy")
    assert not list(tmp_path.glob("*.restored"))
