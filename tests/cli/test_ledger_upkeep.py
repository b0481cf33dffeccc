"""`dpsql ledger`: copies, what is wrong with a file, putting a copy back; no charge is forgotten without a word."""

import json
import sqlite3
import stat
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.accounting.sql.opening import mark_path
from dpsql.cli.main import app
from dpsql.open_ledger import open_ledger
from dpsql.policy.config import Config, SqliteLedgerConfig
from dpsql.policy.load import load
from dpsql.policy.model import Privacy
from tests.policy.fix_config import write_files

RUN = CliRunner()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration whose ledger has one charge; the terminal is wide."""
    monkeypatch.setenv("COLUMNS", "160")
    path = write_files(tmp_path)
    with open_ledger(load(path, {})) as ledger:
        _charge(load(path, {}), ledger, "first")
    return path


def _charge(loaded: Config, ledger: SqlLedger, key: str) -> None:
    account = Account("ana", loaded.policy.roles["owner"], loaded.policy.budgets["passenger"])
    item = ChargeItem(key, Privacy(Fraction(1, 1000)), "count")
    with ledger.open_statement(account, f"SELECT '{key}'\x1b[2J", [item]) as statement:
        statement.store(key, b"release")


def _charge_more(config: Path, key: str) -> None:
    with open_ledger(load(config, {})) as ledger:
        _charge(load(config, {}), ledger, key)


def _place(config: Path) -> Path:
    ledger = load(config, {}).ledger
    assert isinstance(ledger, SqliteLedgerConfig)
    return ledger.path


def _run(config: Path, *arguments: str) -> Result:
    return RUN.invoke(app, ["ledger", *arguments, "--config", str(config)])


def test_a_copy_is_made_while_it_is_written(config: Path, tmp_path: Path) -> None:
    """Whoever charges meanwhile goes on; the copy is one state of it, readable by its owner alone, and not replaced."""
    over, loaded = threading.Event(), load(config, {})

    def charge() -> None:
        number = 0
        with open_ledger(loaded) as ledger:
            while not over.is_set():
                _charge(loaded, ledger, f"more {(number := number + 1)}")

    writing = threading.Thread(target=charge)
    writing.start()
    try:
        for number in range(3):
            copied = _run(config, "backup", str(tmp_path / f"copy-{number}"))
            assert (copied.exit_code, "whole, with" in copied.stdout) == (0, True), copied.output
            assert stat.S_IMODE((tmp_path / f"copy-{number}").stat().st_mode) == 0o600
    finally:
        over.set()
        writing.join()
    assert _run(config, "verify", str(tmp_path / "copy-0")).exit_code == 0
    assert not list(tmp_path.glob("*.new*"))
    again = _run(config, "backup", str(tmp_path / "copy-0"))
    assert (again.exit_code, "is there already" in again.stderr) == (1, True)


def test_a_whole_ledger_is_verified_and_not_touched(config: Path) -> None:
    """It says how much there is."""
    before = _place(config).read_bytes()
    done = _run(config, "verify")
    assert (done.exit_code, 'whole, with 1 charges for 1 statements of "taxi"' in done.stdout) == (0, True)
    assert _place(config).read_bytes() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DROP TRIGGER charges_no_UPDATE", "lines can be changed: these triggers are gone: charges_no_UPDATE"),
        ("DROP TRIGGER charges_no_DELETE; DELETE FROM charges WHERE id = 1", "1 lines of charges are gone"),
        (
            "DROP TRIGGER charges_no_UPDATE; UPDATE charges SET epsilon = '-1' WHERE id = 2",
            "line 2 of charges has no amount",
        ),
        ("DROP TRIGGER statements_no_DELETE; DELETE FROM statements WHERE id = 1", "1 charges are of no statement"),
    ],
)
def test_a_ledger_that_was_changed_is_found(config: Path, change: str, said: str) -> None:
    """Lines that are gone or altered, and what keeps them."""
    _charge_more(config, "second")
    with closing(sqlite3.connect(_place(config))) as connection:
        connection.executescript(change)
    done = _run(config, "verify")
    assert (done.exit_code, said in done.stderr) == (1, True), done.output


@pytest.mark.parametrize("damage", ["bytes", "none"])
def test_a_broken_file_is_told(config: Path, damage: str) -> None:
    """In a sentence, with exit code 1."""
    place = _place(config)
    if damage == "bytes":
        content = bytearray(place.read_bytes())
        content[4096:12288] = b"\xff" * 8192
        place.write_bytes(content)
    else:
        place.unlink()
    done = _run(config, "verify")
    assert done.exit_code == 1
    assert done.stderr.startswith("ERROR:")


def test_a_newest_copy_is_put_back(config: Path, tmp_path: Path) -> None:
    """In the place of one that is broken, which is kept; what was charged is charged, and asking again free."""
    _charge_more(config, "second")
    copy, place = tmp_path / "copy", _place(config)
    assert _run(config, "backup", str(copy)).exit_code == 0
    place.write_bytes(b"broken" * 1000)
    done = _run(config, "restore", str(copy))
    assert done.exit_code == 0, done.output
    assert [put_aside.read_bytes()[:6] for put_aside in place.parent.glob(f"{place.name}.before-*Z")] == [b"broken"]
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    with open_ledger(load(config, {})) as ledger:
        assert len(ledger.entries(None, 10)) == 2
    assert _run(config, "verify").exit_code == 0
    assert copy.exists()


def test_an_older_copy_is_put_back_only_if_its_loss_is_accepted(config: Path, tmp_path: Path) -> None:
    """It is told how many charges are missing; nothing has changed until it is said that they may be."""
    copy, place = tmp_path / "copy", _place(config)
    assert _run(config, "backup", str(copy)).exit_code == 0
    _charge_more(config, "second")
    assert "it lacks the last 1 charges" in _run(config, "verify", str(copy)).stdout
    before = place.read_bytes()
    refused = _run(config, "restore", str(copy))
    assert (refused.exit_code, "lacks the last 1 charges: what was released since" in refused.stderr) == (1, True)
    assert place.read_bytes() == before
    assert _run(config, "restore", str(copy), "--accept-loss").exit_code == 0
    with open_ledger(load(config, {})) as ledger:
        assert len(ledger.entries(None, 10)) == 1
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("SELECT reason FROM owners ORDER BY id DESC").fetchone() == ("--new-ledger",)


def test_another_ledger_is_not_put_back(config: Path, tmp_path: Path) -> None:
    """One that was made elsewhere knows nothing of what was told here."""
    place = _place(config)
    away = place.rename(tmp_path / "away")
    mark = mark_path(place).rename(tmp_path / "mark")
    open_ledger(load(config, {})).close()
    other = place.rename(tmp_path / "other")
    away.rename(place)
    mark.rename(mark_path(place))
    done = _run(config, "restore", str(other))
    assert (done.exit_code, "is not of the ledger that was here" in done.stderr) == (1, True)


def test_nothing_is_put_back_while_it_is_open(config: Path, tmp_path: Path) -> None:
    """A server would go on with a file that is no longer there."""
    copy = tmp_path / "copy"
    assert _run(config, "backup", str(copy)).exit_code == 0
    with open_ledger(load(config, {})) as ledger:
        done = _run(config, "restore", str(copy))
        assert (done.exit_code, "a process has the ledger" in done.stderr) == (1, True), done.output
        _charge(load(config, {}), ledger, "second")
    assert not list(tmp_path.glob("**/*.restored"))


def test_lines_are_shown(config: Path) -> None:
    """As a table, or an object a line; somebody's statement says nothing to the terminal."""
    _charge_more(config, "second")
    shown = _run(config, "show")
    assert (shown.exit_code, "\x1b[2J" in shown.stdout) == (0, False)
    first, second = map(json.loads, _run(config, "show", "--json").stdout.splitlines())
    assert (first["statement"], second["statement"]) == ("SELECT 'second' [2J", "SELECT 'first' [2J")
    assert {key: first[key] for key in ("user", "role", "protects", "epsilon", "delta", "note")} == {
        "user": "ana", "role": "owner", "protects": "passenger", "epsilon": "0.001", "delta": "0", "note": "count",
    }  # fmt: skip
    assert len(_run(config, "show", "--json", "--limit", "1").stdout.splitlines()) == 1
    assert _run(config, "show", "--json", "--role", "nobody").stdout == ""


def _on_server(config: Path, dsn: str) -> Path:
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("sqlite:///ledger.db", f"'{dsn}'"), encoding="utf-8")
    return config


def test_a_ledger_on_a_server_is_verified_and_shown_and_its_server_copies_it(config: Path, dsn: str) -> None:
    """What a file's commands would do is refused with what does it there."""
    _on_server(config, dsn)
    missing = _run(config, "verify")
    assert (missing.exit_code, "there is no ledger" in missing.stderr) == (1, True)
    for key in ("first", "second"):
        _charge_more(config, key)
    verified = _run(config, "verify")
    assert (verified.exit_code, verified.stdout.partition(": ")[2].rpartition(": ")[2]) == (
        0,
        'whole, with 2 charges for 2 statements of "taxi"\n',
    )
    shown = [json.loads(line)["statement"] for line in _run(config, "show", "--json").stdout.splitlines()]
    assert shown == ["SELECT 'second' [2J", "SELECT 'first' [2J"]
    for arguments in (("backup", "copy"), ("restore", "copy"), ("verify", "copy")):
        refused = _run(config, *arguments)
        assert (refused.exit_code, "pg_dump --schema=dpsql_ledger" in refused.stderr) == (1, True)
    with psycopg.connect(dsn) as owner:
        owner.execute("SET LOCAL session_replication_role = replica")
        owner.execute("DELETE FROM dpsql_ledger.charges WHERE id = 2")
    lacking = _run(config, "verify")
    assert (lacking.exit_code, "lacks 1 charges" in lacking.stderr) == (1, True)
