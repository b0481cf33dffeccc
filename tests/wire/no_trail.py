"""A trail that keeps its lines in memory, or can't."""

from concurrent.futures import Future
from datetime import UTC, datetime

from dpsql.errors import AuditFailed
from dpsql.trail.record import AuditRecord


class NoTrail:
    """Lines that nobody keeps on a disk."""

    def __init__(self) -> None:
        """Begin without any."""
        self.records: list[AuditRecord] = []
        self.full = False
        """Whether nothing can be written."""

    def now(self) -> datetime:
        """Return the present time."""
        return datetime.now(UTC)

    def check(self) -> None:
        """See that lines can be written."""
        if self.full:
            raise AuditFailed

    def write(self, record: AuditRecord) -> "Future[None]":
        """Add a line."""
        written: Future[None] = Future()
        if self.full:
            written.set_exception(AuditFailed())
        else:
            self.records.append(record)
            written.set_result(None)
        return written

    def note(self, record: AuditRecord) -> None:
        """Add a line which nobody waits for."""
        self.records.append(record)
