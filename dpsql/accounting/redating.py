"""What was written while the clock was ahead is dated up to the day on which the operator says so, by a line of the ledger.

    charged on 2027-06-01  →  counts on the day of the line, and as of records that were read from the last charge before on
    closed or granted then  →  counts on the day of the line

Nothing that was told is taken back: each such charge was made between the last one before and the line, and so it counts in
each period and each window that may have had it. Lines themselves stay as they are.
"""

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from dpsql.accounting.ledger import Entry
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.standing import is_standing

REDATED = "redated"
"""The beginning of the keys of such lines, and their note."""
AHEAD = timedelta(hours=1)
"""How far what is written may lie in the future: a clock that is set back a little runs on by itself."""


@dataclass(frozen=True, slots=True)
class Redating:
    """A line by which those before it are dated."""

    line: int
    """Its number."""
    at: datetime
    """When it was written, by a clock that is right."""
    begin: date
    """The day of the last charge before the first one that lay in the future."""
    event: int
    """The last event that was written before."""
    lines: int
    """How many charges lay in the future."""

    @property
    def day(self) -> date:
        """Return the day on which what lay in the future counts."""
        return self.at.date()

    @property
    def key(self) -> str:
        """Return it as the key of its line."""
        return f"{REDATED} {self.begin.isoformat()} {self.event} {self.lines}"

    def dated(self, number: int, entry: Entry) -> Entry:
        """Return a line as it counts."""
        if number >= self.line:
            return entry
        read = self._read(entry)
        if is_standing(entry.key):  # which is read until its term is over, whatever the clock was when it was charged
            read = ReadDays(read.first, max(read.last, entry.read.last))
        return replace(entry, time=min(entry.time, self.at), read=read)

    def dated_event(self, number: int, time: datetime) -> datetime:
        """Return when an event counts."""
        return time if number > self.event else min(time, self.at)

    def _read(self, entry: Entry) -> ReadDays:
        """Return the days on which records were read at most: of a copy that was begun ahead it is not known since when."""
        read, last = entry.read, ReadDays.of_now(self.at).last
        if read.first <= self.day:
            return ReadDays(read.first, max(read.first, min(read.last, last)))
        return ReadDays(self.begin if read == ReadDays.of_now(entry.time) else date.min, last)


def redating_of(number: int, entry: Entry) -> Redating | None:
    """Return what a line says of the clock; None where it is another line."""
    if entry.note != REDATED:
        return None
    _, begin, event, lines = entry.key.split()
    return Redating(number, entry.time, date.fromisoformat(begin), int(event), int(lines))
