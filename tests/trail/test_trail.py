"""The thread that writes: those who wait share a sync, and what can't be written is kept."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dpsql.errors import AuditFailed, ConfigError
from dpsql.trail.folder import examine_trail, files_of
from dpsql.trail.record import AuditVerdict
from dpsql.trail.trail import AuditTrail
from tests.trail.lines import NOON, record


@pytest.fixture
def trail(tmp_path: Path) -> Iterator[AuditTrail]:
    """An empty trail, which is open."""
    opened = AuditTrail(tmp_path / "audit", lambda: NOON)
    yield opened
    opened.close()


def _written(place: Path) -> list[tuple[str, str, str | None]]:
    lines = [json.loads(line) for path in files_of(place) for line in path.read_text().splitlines()]
    return [(line["statement"], line["verdict"], line.get("code")) for line in lines]


def test_a_line_is_there_when_its_result_is(trail: AuditTrail, tmp_path: Path) -> None:
    """And those that nobody waited for come before it, in their order."""
    trail.note(record("noted"))
    trail.write(record("waited for")).result(10)
    assert [statement for statement, *_ in _written(tmp_path / "audit")] == ["noted", "waited for"]


def test_all_that_was_noted_is_there_after_the_end(tmp_path: Path) -> None:
    """However much it is."""
    trail = AuditTrail(tmp_path / "audit", lambda: NOON)
    for number in range(2_500):
        trail.note(record(str(number)))
    trail.close()
    examination = examine_trail(tmp_path / "audit")
    assert (examination.lines, examination.wrong) == (2_500, [])


def test_what_cannot_be_written_is_refused_and_kept(
    trail: AuditTrail, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The directory is away: nothing is taken meanwhile; when it is back the lines are, and say what clients heard."""
    place, away = tmp_path / "audit", tmp_path / "away"
    trail.write(record("before")).result(10)
    place.rename(away)
    with caplog.at_level(logging.WARNING):
        with pytest.raises(AuditFailed):
            trail.write(replace(record("meanwhile"), verdict=AuditVerdict.ANSWERED)).result(10)
        with pytest.raises(AuditFailed):
            trail.check()
        trail.note(record("noted"))
        away.rename(place)
        trail.write(record("after")).result(10)
    trail.check()
    assert _written(place) == [
        ("before", "free", None),
        ("meanwhile", "failed", "58030"),
        ("noted", "free", None),
        ("after", "free", None),
    ]
    assert examine_trail(place).wrong == []
    assert "no statement is taken until it can" in caplog.text
    assert "is written again" in caplog.text


def test_a_disk_that_is_nearly_full_is_told_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As of the ledger; once there is room it goes on by itself."""
    monkeypatch.setattr("dpsql.trail.trail._AGAIN", 0.01)
    trail = AuditTrail(tmp_path / "audit", lambda: NOON)
    trail.check()
    monkeypatch.setattr("dpsql.trail.trail.ROOM", 2**80)
    _wait_for(lambda: not trail.writable)
    with pytest.raises(AuditFailed):
        trail.check()
    assert "bytes are free on its disk" in caplog.text
    monkeypatch.setattr("dpsql.trail.trail.ROOM", 0)
    _wait_for(lambda: trail.writable)
    trail.check()
    trail.close()


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_place_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    """With the key that says another."""
    (tmp_path / "audit").write_text("a file")
    with pytest.raises(ConfigError, match=r"the audit trail .* can't be written") as told:
        AuditTrail(tmp_path / "audit", lambda: NOON)
    assert told.value.hint == "audit names a directory that dpsql may make and write to."
