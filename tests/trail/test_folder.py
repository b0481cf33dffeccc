"""Files that only grow, whoever writes them, and whatever a kill has left."""

import json
import logging
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from dpsql.trail.folder import TrailFolder, examine_trail, files_of, read_head
from tests.trail.lines import NOON, add

_SHORT = """
import resource, signal, sys
from pathlib import Path
from dpsql.trail.folder import TrailFolder
from tests.trail.lines import add
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = TrailFolder(Path(sys.argv[1]))
size = (Path(sys.argv[1]) / "2026-03-01-0001.jsonl").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
try:
    add(folder, "too much for the disk")
except OSError as failed:
    print(failed.strerror)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
add(folder, "once there is room")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[TrailFolder]:
    """A trail of three lines."""
    made = TrailFolder(tmp_path / "audit")
    add(made, "one", "two")
    add(made, "three")
    yield made
    made.close()


def _statements(folder: TrailFolder) -> list[str]:
    lines = [line for path in files_of(folder.directory) for line in path.read_text().splitlines()]
    return [json.loads(line)["statement"] for line in lines]


def _wrong(folder: TrailFolder) -> list[str]:
    return examine_trail(folder.directory).wrong


def test_lines_follow_each_other(folder: TrailFolder) -> None:
    """Nobody else can read them."""
    (path,) = files_of(folder.directory)
    assert (_statements(folder), _wrong(folder)) == (["one", "two", "three"], [])
    assert {stat.S_IMODE(file.stat().st_mode) for file in (path, folder.directory / "head")} == {0o600}
    assert stat.S_IMODE(folder.directory.stat().st_mode) == 0o700


def test_each_day_has_a_file_and_so_has_what_is_too_large(tmp_path: Path) -> None:
    """The chain goes on from one to the next; a clock that is set back begins no earlier day."""
    folder = TrailFolder(tmp_path / "audit", largest=300)
    for days in (0, 0, 1, 0, 2):
        add(folder, f"day {days}, which is long enough to fill a file" * 5, today=NOON.date() + timedelta(days))
    folder.close()
    names = [path.name for path in files_of(folder.directory)]
    assert names == [f"2026-03-0{part}.jsonl" for part in ("1-0001", "1-0002", "2-0001", "2-0002", "3-0001")]
    assert _wrong(folder) == []


def test_several_processes_write_one_chain(folder: TrailFolder) -> None:
    """Each has its turn."""
    others = [TrailFolder(folder.directory) for _ in range(4)]

    def write(other: TrailFolder) -> None:
        for number in range(25):
            add(other, f"{number}")

    threads = [threading.Thread(target=write, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    examination = examine_trail(folder.directory)
    assert (examination.lines, examination.wrong) == (103, [])


def test_half_a_line_is_cut_off_and_whole_ones_are_kept(folder: TrailFolder) -> None:
    """A kill between the file and `head`, or within a line; nobody was answered for the half."""
    (path,) = files_of(folder.directory)
    before = (folder.directory / "head").read_bytes()
    add(folder, "four")
    (folder.directory / "head").write_bytes(before)
    with path.open("ab") as file:
        file.write(b'{"line":5,"time":')
    add(folder, "five")
    assert (_statements(folder), _wrong(folder)) == (["one", "two", "three", "four", "five"], [])


def test_what_does_not_fit_is_not_there_by_half(folder: TrailFolder) -> None:
    """The kernel stops the write in its middle; the next line is whole."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _SHORT, str(folder.directory)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == "File too large\n"
    assert (_statements(folder), _wrong(folder)) == (["one", "two", "three", "once there is room"], [])


def test_a_lost_end_is_noticed_and_stays_so(folder: TrailFolder, caplog: pytest.LogCaptureFixture) -> None:
    """The next lines go into another file, behind the gap."""
    (path,) = files_of(folder.directory)
    os.truncate(path, path.read_bytes().rindex(b"\n", 0, -1) + 1)
    assert _wrong(folder) == ["the end is gone: there were 3 lines, and the last one is 2"]
    add(folder, "four")
    assert "lines of the audit trail are gone" in caplog.text
    assert _wrong(folder) == ["2026-03-01-0002.jsonl, line 1: lines 3 to 3 are gone before it"]


def test_lines_of_somebody_else_do_not_become_ours(folder: TrailFolder, caplog: pytest.LogCaptureFixture) -> None:
    """They stay where they are, for whoever looks into it."""
    (path,) = files_of(folder.directory)
    with path.open("a") as file:
        file.write('{"line":4,"previous":"","hash":""}\n')
    with caplog.at_level(logging.ERROR):
        add(folder, "four")
    assert "was changed" in caplog.text
    assert _wrong(folder) == ["2026-03-01-0001.jsonl, line 4 was changed"]


def test_without_head_the_last_line_tells_where_it_ends(folder: TrailFolder) -> None:
    """That it was gone is seen, and what comes is chained to what was there."""
    (folder.directory / "head").unlink()
    assert _wrong(folder) == ["the file head is gone or damaged, which says where the trail ends"]
    other = TrailFolder(folder.directory)
    add(other, "four")
    other.close()
    assert _wrong(folder) == []
    head = read_head(folder.directory)
    assert head is not None
    assert head.line == 4


def test_a_directory_in_its_place_is_not_written(folder: TrailFolder) -> None:
    """The chain would begin anew there, and nobody would miss what was before."""
    folder.directory.rename(folder.directory.with_name("moved"))
    TrailFolder(folder.directory).close()
    with pytest.raises(OSError, match="was moved or replaced"):
        add(folder, "four")
    assert files_of(folder.directory) == ()


def test_a_trail_of_another_account_is_not_written(tmp_path: Path) -> None:
    """A link that somebody has planted leads nowhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "audit").mkdir(mode=0o700)
    (tmp_path / "audit" / "head").symlink_to(tmp_path / "elsewhere" / "file")
    with pytest.raises(OSError, match="is a symbolic link"):
        TrailFolder(tmp_path / "audit")
