"""The trail's directory: a file a day (UTC) or part of one, which only grow, and its readers.

`head` is locked by the writer, so that several processes write one chain; that it knows the last line shows if the end
of a file is cut off. All raise `OSError`.
"""

import errno
import fcntl
import json
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from dpsql.private_files import make_directory, open_private, require_private_directory
from dpsql.trail.record import BEGINNING, ChainedLine, ChainLink, chain_line, read_line

_LOG = logging.getLogger("dpsql.trail")
_LARGEST = 256 * 2**20
"""Bytes after which a day has another file."""
_FILE = re.compile(r".{4}-..-..-.{4}\.jsonl")
# `head` has one line, and blanks behind it: {"line": 17, "hash": "…", "file": "2026-03-01-0002.jsonl", "size": 48211}
_WIDTH = 256
"""Bytes of `head`, for any contents, so that one write replaces it."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where the trail ends."""

    line: int
    hash: str
    file: str = ""
    size: int = 0

    @property
    def link(self) -> ChainLink:
        """Return the last line's place."""
        return ChainLink(self.line, self.hash)


def files_of(directory: Path, first: str = "") -> tuple[Path, ...]:
    """Return the files of a trail in their order, from the one of a name on."""
    return tuple(directory / name for name in _names_in(directory, first)) if directory.is_dir() else ()


def _names_in(directory: Path, first: str = "") -> Sequence[str]:
    """Return the files' names.

    Each line that is added asks: the names of years are looked through more quickly than paths are made of them.
    """
    names = os.listdir(directory)  # noqa: PTH208 # see above
    return sorted(name for name in names if name >= first and _FILE.fullmatch(name))


def read_head(directory: Path) -> Head | None:
    """Return where a trail ended when it was written last; None where nothing tells."""
    try:
        with os.fdopen(open_private(directory / "head", os.O_RDONLY), "rb") as file:
            return _head_of(file.read())
    except OSError:
        return None


def _head_of(written: bytes) -> Head | None:
    try:
        return Head(**json.loads(written))
    except (ValueError, TypeError):
        return None


class TrailFolder:
    """A directory to which lines are added; what is there is never changed."""

    def __init__(self, directory: Path, *, largest: int = _LARGEST) -> None:
        """Make the directory unless there is one."""
        self.directory, self._largest = directory, largest
        make_directory(directory)
        require_private_directory(directory)
        self._head = directory / "head"
        self._lock = open_private(self._head, os.O_RDWR | os.O_CREAT)
        self._of_process = threading.Lock()
        self._last: tuple[bytes, Head | None] = (b"", None)
        """The contents of `head` as this process wrote it last, and what they say."""

    def close(self) -> None:
        """Close `head`."""
        os.close(self._lock)

    def add(self, lines: Sequence[Mapping[str, object]], today: date) -> tuple[int, ...]:
        """Add lines, which are on the disk once this returns, and return their sizes; where it raises, none is there."""
        with self._turn():
            contents = os.pread(self._lock, 2 * _WIDTH, 0)
            head = self._seen(self._last[1] if contents == self._last[0] else _head_of(contents))
            head = self._rotated(head, today)
            link, written = head.link, list[bytes]()
            for fields in lines:
                line, link = chain_line(fields, link)
                written.append(line)
            data = b"".join(written)
            # First the lines, which are synced, and then `head`, which is not. After a power cut `head` may be older
            # than the lines, never newer: `_seen` takes over what comes after it.
            self._append(self.directory / head.file, data, head.size)
            self._write_head(Head(link.number, link.hash, head.file, head.size + len(data)))
        return tuple(map(len, written))

    def touch(self) -> None:
        """Write what says where the last line ends once more, to see that it can be."""
        with self._turn():
            os.pwrite(self._lock, os.pread(self._lock, 2 * _WIDTH, 0), 0)
            os.fsync(self._lock)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._of_process:  # which has one lock of the file, for all of its threads
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            try:
                self._require_same_directory()
                yield
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _require_same_directory(self) -> None:
        """See that the directory is the one that was opened: the chain would begin anew in another."""
        if not os.path.samestat(self._head.stat(), os.fstat(self._lock)):
            raise FileNotFoundError(errno.ENOENT, "was moved or replaced", str(self._head))

    def _append(self, path: Path, data: bytes, size: int) -> None:
        new = not size  # one that a kill has left empty is new once more
        file = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        except OSError:
            # What was written in part goes: the next line begins where `head` says that the last one ended.
            os.ftruncate(file, size)
            raise
        finally:
            os.close(file)
        if new:
            # A new file's name is the directory's, which a power cut would lose.
            self._sync_directory()

    def _sync_directory(self) -> None:
        opened = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)

    def _write_head(self, head: Head) -> None:
        every = {"line": head.line, "hash": head.hash, "file": head.file, "size": head.size}
        contents = json.dumps(every).ljust(_WIDTH).encode()
        os.pwrite(self._lock, contents, 0)
        self._last = contents, head

    def _rotated(self, head: Head, today: date) -> Head:
        """Return the head for the next lines: another file on another day, or where one is large; days never go back."""
        # Days written like this compare as texts. Where the clock is put back, the later day's file goes on: the names
        # of files stay in the order of their lines.
        day = max(f"{today:%Y-%m-%d}", head.file[:10])
        if head.file[:10] == day and head.size < self._largest:
            return head
        return self._begun(head, day)

    def _begun(self, head: Head, day: str) -> Head:
        """Return the head at the beginning of the day's next file."""
        parts = [int(file.stem[11:]) for file in files_of(self.directory) if file.name.startswith(day)]
        return Head(head.line, head.hash, f"{day}-{max(parts, default=0) + 1:04d}.jsonl")

    def _seen(self, head: Head | None) -> Head:
        """Return where the trail ends, after a kill, a power cut or somebody else's change.

        Lines that `head` does not know yet are taken over, half of a line is cut off: nobody was answered for it. A
        changed file stays unchanged from now on, and the next lines go into another one.
        """
        if head is None:
            return self._from_the_files(files_of(self.directory))
        if not head.file:
            return head
        later = _names_in(self.directory, head.file)
        size = (self.directory / head.file).stat().st_size if later[:1] == [head.file] else -1
        # Nearly always: nobody else has written, and there is no later file.
        if size == head.size and len(later) == 1:
            return head
        # The next line follows the last one that `head` knows, and goes into a new file. Verifying then finds the gap,
        # and names it.
        if size < head.size:
            _LOG.error("lines of the audit trail are gone: %s does not end with line %d", head.file, head.line)
            return self._begun(head, head.file[:10])
        return self._beyond(head, files_of(self.directory, head.file))

    def _from_the_files(self, files: Sequence[Path]) -> Head:
        if not files:
            return Head(BEGINNING.number, BEGINNING.hash)
        _LOG.warning("the audit trail's head is gone: its last file says where it ends")
        last = Head(BEGINNING.number, BEGINNING.hash, files[-1].name)
        # What counts is the last line that agrees with its own hash. The next one begins a new file, whatever stands
        # behind it here.
        for line in files[-1].read_bytes().splitlines(keepends=True):
            last_line = read_line(line.removesuffix(b"\n"))
            if last_line is not None and line.endswith(b"\n"):
                last = Head(last_line.link.number, last_line.link.hash, files[-1].name)
        return self._begun(last, files[-1].name[:10])

    def _beyond(self, head: Head, files: Sequence[Path]) -> Head:
        """Return where the lines end that come after those that `head` knows."""
        # A process that is killed between its lines and its `head` leaves lines that are whole, and follow.
        for path in files:
            at = head.size if path.name == head.file else 0
            with path.open("rb") as file:
                file.seek(at)
                for line in file:
                    following = read_line(line.removesuffix(b"\n"))
                    if not line.endswith(b"\n"):
                        _LOG.warning("half of a line at the end of %s was cut off: it was not finished", path.name)
                        os.truncate(path, at)
                        break
                    if following is None or not following.follows(head.link):
                        _LOG.error("the audit trail was changed: %s after line %d", path.name, head.line)
                        return self._begun(head, files[-1].name[:10])
                    at += len(line)
                    head = Head(following.link.number, following.link.hash, path.name, at)
            head = Head(head.line, head.hash, path.name, at)
        return head


# The trail for its readers: from its end for people, from its beginning to see that nothing was changed.

_PIECE = 2**16


@dataclass(slots=True)
class TrailExamination:
    """The contents of a trail, and the faults in it."""

    lines: int = 0
    first: ChainedLine | None = None
    """The files before it were removed, whole ones at a time."""
    last: ChainLink = BEGINNING
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
    # `head` is read before the files: what is added meanwhile comes after it, and is no fault.
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
    # The first line may have any number, since old files may be removed. A changed line has no place in the chain: that
    # the one after it does not follow is the same fault, and is not told twice.
    if trail.lines and not line.follows(trail.last) and not (trail.changed and lost == 1):
        gone = f"lines {before + 1:,} to {number - 1:,} are gone before it" if lost > 0 else "it does not follow"
        trail.wrong.append(f"{where}: {gone}")
    # Hashes have no key: who changes a line can compute those of all later lines anew. What `head` says of its line
    # shows it.
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
            # From the right, in pieces: "…abc\nde" and "fgh\ni…". Of the second "fgh" waits in `behind` until the first
            # gives "de".
            first, *lines = file.read(size).split(b"\n")
            if lines:
                lines[-1] = b"".join((lines[-1], *reversed(behind)))
                behind.clear()
            yield from (line for line in reversed(lines) if line)
            behind.append(first)  # of a line that begins before it
        if line := b"".join(reversed(behind)):
            yield line
