"""The trail's directory: a file a day (UTC) or part of one, which only grow, and `head`, which says where the last one ends.

`head` is locked by the writer, so that several processes write one chain; that it knows the last line shows if the end
of a file is cut off. All raise `OSError`.
"""

import errno
import fcntl
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from dpsql.private_files import make_directory, open_private, see_directory
from dpsql.trail.chain import BEGINNING, Link, chained, read_line

_LOG = logging.getLogger("dpsql.trail")
_LARGEST = 256 * 2**20
"""Bytes after which a day has another file."""
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
    def link(self) -> Link:
        """Return the last line's place."""
        return Link(self.line, self.hash)


def files_of(directory: Path) -> tuple[Path, ...]:
    """Return the files of a trail in their order."""
    return tuple(sorted(directory.glob("????-??-??-????.jsonl")))


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
        see_directory(directory)
        self._lock = open_private(directory / "head", os.O_RDWR | os.O_CREAT)
        self._of_process = threading.Lock()

    def close(self) -> None:
        """Close `head`."""
        os.close(self._lock)

    def add(self, lines: Sequence[Mapping[str, object]], today: date) -> tuple[int, ...]:
        """Add lines, which are on the disk once this returns, and return their sizes; where it raises, none is there."""
        with self._turn():
            head = self._seen(_head_of(os.pread(self._lock, 2 * _WIDTH, 0)))
            head = self._rotated(head, today)
            link, written = head.link, list[bytes]()
            for fields in lines:
                line, link = chained(fields, link)
                written.append(line)
            data = b"".join(written)
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
                self._see_place()
                yield
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _see_place(self) -> None:
        """See that the directory is the one that was opened: the chain would begin anew in another."""
        head = self.directory / "head"
        if not os.path.samestat(head.stat(), os.fstat(self._lock)):
            raise FileNotFoundError(errno.ENOENT, "was moved or replaced", str(head))

    def _append(self, path: Path, data: bytes, size: int) -> None:
        new = not path.exists()
        file = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)
            raise
        finally:
            os.close(file)
        if new:
            self._sync_directory()

    def _sync_directory(self) -> None:
        opened = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)

    def _write_head(self, head: Head) -> None:
        every = {"line": head.line, "hash": head.hash, "file": head.file, "size": head.size}
        os.pwrite(self._lock, json.dumps(every).ljust(_WIDTH).encode(), 0)

    def _rotated(self, head: Head, today: date) -> Head:
        """Return the head for the next lines: another file on another day, or where one is large; days never go back."""
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
        files = files_of(self.directory)
        if head is None:
            return self._from_the_files(files)
        if not head.file:
            return head
        later = [path for path in files if path.name >= head.file]
        size = later[0].stat().st_size if later and later[0].name == head.file else -1
        if size == head.size and len(later) == 1:
            return head
        if size < head.size:
            _LOG.error("lines of the audit trail are gone: %s does not end with line %d", head.file, head.line)
            return self._begun(head, head.file[:10])
        return self._beyond(head, later)

    def _from_the_files(self, files: Sequence[Path]) -> Head:
        if not files:
            return Head(BEGINNING.number, BEGINNING.hash)
        _LOG.warning("the audit trail's head is gone: its last file says where it ends")
        last = Head(BEGINNING.number, BEGINNING.hash, files[-1].name)
        for line in files[-1].read_bytes().splitlines(keepends=True):
            last_line = read_line(line.removesuffix(b"\n"))
            if last_line is not None and line.endswith(b"\n"):
                last = Head(last_line.link.number, last_line.link.hash, files[-1].name)
        return self._begun(last, files[-1].name[:10])

    def _beyond(self, head: Head, files: Sequence[Path]) -> Head:
        """Return where the lines end that come after those that `head` knows."""
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
