"""The trail for its readers: from its end for people, from its beginning to see that nothing was changed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dpsql.trail.chain import BEGINNING, ChainedLine, Link, read_line
from dpsql.trail.folder import Head, files_of, read_head

_PIECE = 2**16


@dataclass(slots=True)
class TrailExamination:
    """The contents of a trail, and the faults in it."""

    lines: int = 0
    first: ChainedLine | None = None
    """The files before it were removed, whole ones at a time."""
    last: Link = BEGINNING
    wrong: list[str] = field(default_factory=list)
    releases: set[str] = field(default_factory=set)
    """The releases that lines name."""
    changed: bool = False
    """Whether the line before was changed."""


def newest_first(directory: Path) -> Iterator[ChainedLine]:
    """Yield the lines from the last one on; what was changed is left out."""
    for path in reversed(files_of(directory)):
        for raw in _backwards(path):
            chained = read_line(raw)
            if chained is not None:
                yield chained


def examine_trail(directory: Path) -> TrailExamination:
    """Read all of a trail: whether each line is as it was written, and none is missing after the first.

    It may be written meanwhile.
    """
    head, trail = read_head(directory), TrailExamination()
    for path in files_of(directory):
        for place, raw in enumerate(_forwards(path), start=1):
            _examine(trail, f"{path.name}, line {place}", read_line(raw), head)
    if head is None and trail.lines:
        trail.wrong.append("the file head is gone or damaged, which says where the trail ends")
    if head is not None and head.line > trail.last.number:
        last = trail.last.number or "gone, too"
        trail.wrong.append(f"the end is gone: there were {head.line:,} lines, and the last one is {last}")
    return trail


def _examine(trail: TrailExamination, where: str, line: ChainedLine | None, head: Head | None) -> None:
    """Take one more line into account."""
    if line is None:
        trail.wrong.append(f"{where} was changed")
        trail.changed = True
        return
    before, number = trail.last.number, line.link.number
    lost = number - before - 1
    if trail.lines and not line.follows(trail.last) and not (trail.changed and lost == 1):
        gone = f"lines {before + 1:,} to {number - 1:,} are gone before it" if lost > 0 else "it does not follow"
        trail.wrong.append(f"{where}: {gone}")
    if head is not None and head.line == number and head.hash != line.link.hash:
        trail.wrong.append(f"{where} is another one than was written")
    releases = line.fields.get("releases")
    trail.releases.update(map(str, releases) if isinstance(releases, list) else ())
    trail.first, trail.last, trail.lines, trail.changed = trail.first or line, line.link, trail.lines + 1, False


def _forwards(path: Path) -> Iterator[bytes]:
    """Yield a file's lines; half of one at its end is being written, or was not finished."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]


def _backwards(path: Path) -> Iterator[bytes]:
    """Yield a file's lines from the last one on."""
    with path.open("rb") as file:
        at, behind = file.seek(0, 2), list[bytes]()
        while at > 0:
            size = min(_PIECE, at)
            at -= size
            file.seek(at)
            first, *lines = file.read(size).split(b"\n")
            if lines:
                lines[-1] = b"".join((lines[-1], *reversed(behind)))
                behind.clear()
            yield from (line for line in reversed(lines) if line)
            behind.append(first)  # of a line that begins before it
        if line := b"".join(reversed(behind)):
            yield line
