"""What a trail is read for: to see what was asked, and that nothing was changed."""

import time
from pathlib import Path

import pytest

from dpsql.trail import folder as trail_folder
from dpsql.trail.folder import TrailFolder, examine_trail, files_of, newest_first
from tests.trail.lines import NOON, add


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a trail of five lines."""
    folder = TrailFolder(tmp_path / "audit")
    add(folder, "one", "two", "three", "four", "five")
    folder.close()
    return files_of(folder.directory)[0]


def test_the_newest_come_first(path: Path) -> None:
    """Also where a line is longer than what is read at a time."""
    folder = TrailFolder(path.parent)
    add(folder, "ε" * 99_000, "seven")
    folder.close()
    statements = [str(line.fields["statement"])[:5] for line in newest_first(path.parent)]
    assert statements == ["seven", "εεεεε", "five", "four", "three", "two", "one"]


def test_long_lines_are_read_in_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In proportion to their length: what was read before is not gone through again with each piece."""
    monkeypatch.setattr(trail_folder, "_PIECE", 2**8)
    folder = TrailFolder(path.parent)
    folder.add([{"statement": "x" * 2**22}], NOON.date())
    folder.close()
    since = time.process_time()
    assert len(list(newest_first(path.parent))) == 6
    assert time.process_time() - since < 1


def test_one_changed_byte_anywhere_is_found(path: Path) -> None:
    """And told once, by its file and line, whichever byte it is."""
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        wrong = examine_trail(path.parent).wrong
        line = whole[:place].count(b"\n") + 1
        assert wrong, place
        assert wrong[0].startswith(f"{path.name}, line {line} "), (place, wrong)


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_a_line_that_is_taken_out_is_found(path: Path) -> None:
    """In the middle, at the end."""
    lines = _lines(path)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    assert examine_trail(path.parent).wrong == [f"{path.name}, line 3: lines 3 to 3 are gone before it"]
    path.write_bytes(b"".join(lines[:4]))
    assert examine_trail(path.parent).wrong == ["the end is gone: there were 5 lines, and the last one is 4"]


def test_lines_that_change_places_are_found(path: Path) -> None:
    """Each is whole by itself."""
    lines = _lines(path)
    path.write_bytes(b"".join([lines[0], lines[2], lines[1], *lines[3:]]))
    assert len(examine_trail(path.parent).wrong) == 3


def test_an_end_that_is_written_anew_is_found(path: Path, tmp_path: Path) -> None:
    """Its hashes fit, and `head` knows another one."""
    other = TrailFolder(tmp_path / "other")
    add(other, "one", "two", "three", "four", "something else")
    other.close()
    path.write_bytes(files_of(other.directory)[0].read_bytes())
    assert examine_trail(path.parent).wrong == [f"{path.name}, line 5 is another one than was written"]


def test_old_files_may_be_removed(path: Path) -> None:
    """What is left is whole, and says from where on."""
    folder = TrailFolder(path.parent, largest=1)
    add(folder, "six")
    folder.close()
    path.unlink()
    examination = examine_trail(path.parent)
    assert (examination.lines, examination.wrong) == (1, [])
    assert examination.first is not None
    assert examination.first.link.number == 6


def test_half_a_line_at_the_end_is_being_written(path: Path) -> None:
    """It is no reason to sound an alarm."""
    with path.open("ab") as file:
        file.write(b'{"line":6,')
    assert examine_trail(path.parent).wrong == []
