"""The ledger's epochs: which is the last one, and beginning the next."""

from datetime import date, datetime

from dpsql.accounting.sql import releases
from dpsql.accounting.sql.store import SqlConnection

_LAST = "SELECT number, began, reason FROM epochs ORDER BY number DESC LIMIT 1"
_NEXT = "INSERT INTO epochs (began, reason) VALUES (?1, ?2) RETURNING number"


def last_epoch(connection: SqlConnection) -> tuple[int, date]:
    """Return the last epoch, and the day on which it began."""
    row = connection.execute(_LAST).fetchone()
    return (int(row[0]), datetime.fromisoformat(row[1]).date()) if row else (0, date.min)


def last_reason(connection: SqlConnection) -> str | None:
    """Return why the last epoch began."""
    row = connection.execute(_LAST).fetchone()
    return None if row is None else str(row[2])


def enter_epoch(connection: SqlConnection, reason: str, now: datetime) -> int:
    """Begin the next epoch; return its number."""
    # Keys contain the epoch, so what was stored under earlier ones can't be asked for again.
    releases.forget(connection)
    return int(connection.execute(_NEXT, (now.isoformat(), reason)).fetchone()[0])
