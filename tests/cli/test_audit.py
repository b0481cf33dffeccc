"""`dpsql audit`: what is printed of the trail, and what is said of one that is not whole."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dpsql.cli.main import app
from dpsql.open_ledger import place_of_trail
from dpsql.policy.load import load
from dpsql.trail.folder import TrailFolder, files_of
from tests.policy.fix_config import write_files
from tests.trail.lines import NOON, record

RUN = CliRunner()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration whose trail has lines of two users and two days; the terminal is wide."""
    monkeypatch.setenv("COLUMNS", "160")
    path = write_files(tmp_path)
    folder = TrailFolder(place_of_trail(load(path, {})))
    first, second = record("SELECT 'first'\x1b[2J"), replace(record("SELECT 'second'"), user="bob")
    late = replace(record("SELECT 'third'"), time=NOON + timedelta(days=1))
    folder.add([written.fields() for written in (first, second)], NOON.date())
    folder.add([late.fields()], late.time.date())
    folder.close()
    return path


def _run(config: Path, *arguments: str) -> Result:
    return RUN.invoke(app, ["audit", *arguments, "--config", str(config)])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), ["first", "second", "third"]),
        (("--user", "bob"), ["second"]),
        (("--since", "2026-03-02"), ["third"]),
        (("--since", "2026-03-01T12:00"), ["first", "second", "third"]),
        (("--limit", "2"), ["second", "third"]),
        (("--user", "nobody"), []),
    ],
)
def test_the_lines_that_are_wanted_are_printed(config: Path, arguments: tuple[str, ...], expected: list[str]) -> None:
    """In their order, as a table and as objects; nothing that a terminal would obey."""
    shown, objects = _run(config, *arguments), _run(config, *arguments, "--json")
    assert (shown.exit_code, objects.exit_code) == (0, 0)
    assert [word for word in ("first", "second", "third") if word in shown.stdout] == expected
    assert [json.loads(line)["statement"].split("'")[1] for line in objects.stdout.splitlines()] == expected
    assert "\x1b" not in shown.stdout + objects.stdout


def test_a_long_statement_hides_no_other(config: Path) -> None:
    """A table has its beginning; objects have all of it."""
    long = "SELECT 1 /* " + "x y " * 20_000 + "*/"
    folder = TrailFolder(place_of_trail(load(config, {})))
    folder.add([record(long).fields()], NOON.date())
    folder.close()
    assert len(_run(config).stdout.splitlines()) < 100
    assert json.loads(_run(config, "--json").stdout.splitlines()[-1])["statement"] == long


def test_a_whole_trail_is_verified(config: Path) -> None:
    """It says how far it goes, so that the hash can be written down elsewhere."""
    done = _run(config, "--verify")
    assert done.exit_code == 0
    assert "whole, 3 lines\nthe last is line 3 with the hash " in done.stdout


def test_a_changed_byte_is_told(config: Path) -> None:
    """With the file and the line, on the error stream; exit 1."""
    path = files_of(place_of_trail(load(config, {})))[0]
    path.write_bytes(path.read_bytes().replace(b'"user":"bob"', b'"user":"ana"'))
    done = _run(config, "--verify")
    assert (done.exit_code, f"{path.name}, line 2 was changed" in done.stderr) == (1, True)


def test_a_copy_is_verified_by_its_directory(config: Path, tmp_path: Path) -> None:
    """What an auditor took home."""
    place, copy = place_of_trail(load(config, {})), tmp_path / "copy"
    copy.mkdir(mode=0o700)
    for path in (*files_of(place), place / "head"):
        (copy / path.name).write_bytes(path.read_bytes())
    assert _run(config, "--verify", "--directory", str(copy)).exit_code == 0


def test_where_there_is_none_it_says_when_it_begins(tmp_path: Path) -> None:
    """Exit 1."""
    done = _run(write_files(tmp_path), "--verify")
    assert (done.exit_code, "there is no audit trail in " in done.stderr) == (1, True)
