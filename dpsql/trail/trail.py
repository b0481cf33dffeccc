"""The trail that a server writes: one thread adds lines for all sessions, and those who wait share a sync.

Promise: nothing is lost in silence. Statements that were not charged are counted, of a user who has had very many such
lines. Where lines can't be written they are kept, and no statement is taken and nobody let in until they are; the
server's log says so.
"""

import logging
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from dpsql.accounting.sqlite.ledger import ROOM
from dpsql.errors import AuditFailed, ConfigError
from dpsql.rate_limited_log import RateLimitedLog
from dpsql.trail.folder import TrailFolder, newest_first
from dpsql.trail.record import AuditEvent, AuditRecord, ChainedLine

# How many bytes of lines that cost nothing a user has: a bucket that fills by time, and what is counted once it is empty.

BUCKET = 32 * 2**20
"""Bytes that a full bucket has: thousands of statements of a dashboard, or of a tool that reads a catalogue."""
A_SECOND = 4 * 2**10
"""Bytes by which it fills: a third of a gigabyte a day."""
UNTIL_TOLD = 60.0
"""Seconds until a count is written, so that counts take a line a minute."""
Whose = tuple[str, str]
"""A user, and the role."""


class LineAllowance:
    """The buckets of all users of one process, and what was counted; its caller has the lock."""

    def __init__(self, passing: Callable[[], float] = time.monotonic) -> None:
        self._passing = passing
        self._taken: dict[str, tuple[float, float]] = {}
        """For each user who took something: bytes that the bucket lacked, and when."""
        self._counts: dict[Whose, Counter[str]] = {}
        self._since = 0.0

    def admits(self, user: str) -> bool:
        """Return whether a user's bucket has something left."""
        return self._lacking(user) < BUCKET

    def take(self, user: str, size: int) -> None:
        """Take the bytes of a line that was written, also where so many were not left."""
        # A line is written whole if anything is left for it. What it takes beyond that has to come in again before the
        # next one.
        lacking = self._lacking(user) + size
        self._taken[user] = (lacking, self._passing())

    def count(self, whose: Whose, verdict: str) -> None:
        """Count a line that is not written."""
        if not self._counts:
            self._since = self._passing()
        self._counts.setdefault(whose, Counter())[verdict] += 1

    def due(self, *, now: bool = False) -> Iterator[tuple[Whose, str]]:
        """Yield, once a minute or `now`, what is to be written of what was counted, which is forgotten then."""
        if not self._counts or not (now or self._passing() >= self._since + UNTIL_TOLD):
            return
        counts, self._counts = self._counts, {}
        for whose, verdicts in counts.items():
            each = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(verdicts.items()))
            yield whose, f"… and {verdicts.total():,} more: {each}"

    def _lacking(self, user: str) -> float:
        lacking, since = self._taken.get(user, (0.0, 0.0))
        lacking -= (self._passing() - since) * A_SECOND
        # A full bucket needs no entry; an empty one is full again after 2.3 hours.
        if lacking <= 0:
            self._taken.pop(user, None)
        return max(lacking, 0.0)


# The trail, and its writing thread.

_LOG = logging.getLogger("dpsql.trail")
_RATE_LIMITED = RateLimitedLog(_LOG)
_TOGETHER = 0.2
"""Seconds that a line waits for others, if nobody waits for it."""
_AGAIN = 1.0
"""Seconds until what could not be written is tried again."""
_MOST = 200
"""Lines that are written at a time."""


class Trail(Protocol):
    """The part of the trail that a session needs."""

    def now(self) -> datetime:
        """Return the present time."""

    def check(self) -> None:
        """See that lines can be written.

        Raises:
            AuditFailed: they can't.
        """

    def write(self, record: AuditRecord) -> "Future[None]":
        """Add a line; the result is there once it is on the disk, or AuditFailed."""

    def note(self, record: AuditRecord) -> None:
        """Add a line which nobody waits for."""


@dataclass(slots=True)
class _Waiting:
    record: AuditRecord
    written: "Future[None] | None"


class AuditTrail:
    """The lines of one process, added to a directory that others may write to as well."""

    def __init__(self, directory: Path, clock: Callable[[], datetime]) -> None:
        """Open the trail, or begin it.

        Raises:
            ConfigError: its directory can't be used.
        """
        self._clock = clock
        self._directory = directory
        try:
            self._folder = TrailFolder(directory)
        except OSError as error:
            raise ConfigError(
                f"the audit trail {directory} can't be written: {error.strerror or error}",
                hint="audit names a directory that dpsql may make and write to.",
            ) from error
        self._turn = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._allowance = LineAllowance()
        self._hurry = self._stopping = self._failing = self._no_room = False
        # Once before anybody may ask `check`; from then on the thread looks, with each turn.
        self._look_for_room()
        self._thread = threading.Thread(target=self._run, name="dpsql-trail", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write the rest, and stop."""
        with self._turn:
            self._stopping = True
            self._turn.notify()
        self._thread.join()
        self._folder.close()

    def now(self) -> datetime:
        """Return the present time."""
        return self._clock()

    def check(self) -> None:
        """See that lines can be written; see `Trail`."""
        if self._failing or self._no_room:
            raise AuditFailed

    def require_writable_file(self) -> None:
        """Return if a line could be written now: something is, which changes nothing.

        Raises:
            AuditFailed: none could.
        """
        self.check()
        try:
            self._folder.touch()
        except OSError as error:
            _RATE_LIMITED.warning("the audit trail can't be written: %s", error)
            raise AuditFailed from error

    def newest_first(self) -> Iterator[ChainedLine]:
        """Yield the lines of all processes, the newest first."""
        return newest_first(self._directory)

    def write(self, record: AuditRecord) -> "Future[None]":
        """Add a line, whose result is there once it is on the disk, or counted; see `Trail`."""
        written: Future[None] = Future()
        written.set_running_or_notify_cancel()  # the waiting thread may go; the line is written
        self._add(_Waiting(record, written))
        return written

    def note(self, record: AuditRecord) -> None:
        """Add a line which nobody waits for; see `Trail`."""
        self._add(_Waiting(record, None))

    @property
    def writable(self) -> bool:
        """Return whether lines could be written when that was tried last."""
        return not (self._failing or self._no_room)

    def counts(self) -> Mapping[tuple[str, str, str], int]:
        """Return how many lines this process has added: by event, role (of statements) and verdict."""
        with self._turn:
            return dict(self._counts)

    def _add(self, line: _Waiting) -> None:
        record = line.record
        role = record.role or "" if record.event is AuditEvent.STATEMENT else ""
        with self._turn:
            self._counts[record.event, role, record.verdict or ""] += 1
            written = not record.counts_only or self._allowance.admits(record.user)
            if written:
                self._waiting.append(line)
                self._hurry = self._hurry or line.written is not None
                self._turn.notify()
            else:
                self._allowance.count((record.user, role), record.verdict or "")
        if written or line.written is None:
            return
        # Nothing of this line goes to the disk, so that nobody has to wait for it. But while lines can't be written
        # nobody who waits for one is answered, also if it would only be counted.
        if self.writable:
            line.written.set_result(None)
        else:
            line.written.set_exception(AuditFailed())

    def _run(self) -> None:
        """Write until there is nothing left to write and nobody adds any more.

        The disk is looked at here: where it hangs, the thread that asks whether lines can be written must not.
        """
        while True:
            lines = self._taken()
            self._look_for_room()
            self._tell_counts(now=not lines and self._stopping)
            if not lines:
                # The last counts are lines, too, so that there is one more turn for them. Where the disk fails at the
                # end, the rest is given up, which `_taken` logs.
                if self._stopping and not (self._waiting and not self._failing):
                    return
                continue
            try:
                sizes = self._folder.add([line.record.fields() for line in lines], self.now().date())
            except OSError as error:
                self._keep(lines, error)
            else:
                self._wrote(lines, sizes)

    def _taken(self) -> list[_Waiting]:
        """Wait for lines and return them; none after a while, or when nobody adds any more."""
        with self._turn:
            if self._failing:
                self._turn.wait_for(lambda: self._stopping, _AGAIN)
            if not self._turn.wait_for(lambda: self._waiting or self._stopping, _AGAIN):
                return []
            # Lines that nobody waits for gather for a moment. One that a client waits for is written at once, with all that
            # have come by then: one sync for all of them.
            self._turn.wait_for(lambda: self._hurry or self._stopping, _TOGETHER)
            if self._failing and self._stopping:
                _LOG.error("%d lines of the audit trail could not be written", len(self._waiting))
                return []
            if len(self._waiting) > _MOST:  # somebody asks much: who waits for a line does not wait for all of theirs
                self._waiting.sort(key=lambda line: line.written is None)
            lines, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            self._hurry = any(line.written is not None for line in self._waiting)
            return lines

    def _look_for_room(self) -> None:
        """See whether there is room on the disk for more."""
        try:
            free = shutil.disk_usage(self._directory).free
        except OSError as error:
            free, why = 0, str(error)
        else:
            why = f"{free} bytes are free on its disk"
        if free < ROOM and not self._no_room:
            _LOG.error("the audit trail can't be written, and no statement is taken until it can: %s", why)
        self._no_room = free < ROOM

    def _keep(self, lines: list[_Waiting], error: OSError) -> None:
        """Keep the lines that could not be written, and tell the threads that wait for them; they are tried again."""
        if not self._failing:
            _LOG.error("the audit trail can't be written, and no statement is taken until it can: %s", error)
        # Who waits hears of it now, and must not be answered later. So the line that is written in the end says that it
        # failed.
        kept = [line if line.written is None else _Waiting(line.record.unwritten(), None) for line in lines]
        with self._turn:
            self._failing = True
            # In front of what was added since, so that they are among the first that are tried again.
            self._waiting = kept + self._waiting
        for waiting in lines:
            if waiting.written is not None:
                waiting.written.set_exception(AuditFailed())

    def _tell_counts(self, *, now: bool) -> None:
        """Add a line for each user of whom statements were counted."""
        with self._turn:
            for (user, role), about in self._allowance.due(now=now):
                more = AuditRecord(self.now(), AuditEvent.MORE, user, role or None, about=about)
                self._waiting.append(_Waiting(more, None))

    def _wrote(self, lines: list[_Waiting], sizes: Sequence[int]) -> None:
        with self._turn:
            for line, size in zip(lines, sizes, strict=True):
                if line.record.counts_only:
                    self._allowance.take(line.record.user, size)
        # Before the results are set: a session that is answered may call `check` for its next statement at once.
        if self._failing:
            _LOG.warning("the audit trail is written again")
            self._failing = False
        for line in lines:
            if line.written is not None:
                line.written.set_result(None)
