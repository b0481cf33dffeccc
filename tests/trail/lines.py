"""Lines of a trail that tests write."""

from datetime import UTC, date, datetime

from dpsql.trail.folder import TrailFolder
from dpsql.trail.record import AuditEvent, AuditRecord, AuditVerdict

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def record(statement: str) -> AuditRecord:
    """Return what the line of a statement says."""
    return AuditRecord(
        NOON, AuditEvent.STATEMENT, "ana", "owner", "127.0.0.1", statement=statement, verdict=AuditVerdict.FREE
    )


def add(folder: TrailFolder, *statements: str, today: date = NOON.date()) -> None:
    """Add the lines of statements, all at once."""
    folder.add([record(statement).fields() for statement in statements], today)
