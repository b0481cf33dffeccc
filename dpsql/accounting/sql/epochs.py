"""The ledger's epochs: which is the last one, and beginning the next."""

from datetime import date, datetime

from dpsql.accounting.redating import AHEAD
from dpsql.accounting.sql import releases
from dpsql.accounting.sql.store import SqlConnection
from dpsql.policy.model import Period

_LAST = "SELECT number, began, reason FROM epochs ORDER BY number DESC LIMIT 1"
_NEXT = "INSERT INTO epochs (began, reason) VALUES (?1, ?2) RETURNING number"


def last_epoch(connection: SqlConnection) -> tuple[int, date]:
    """Return the last epoch, and the day on which it began."""
    row = connection.execute(_LAST).fetchone()
    return (int(row[0]), datetime.fromisoformat(row[1]).date()) if row else (0, date.min)


def last_began(connection: SqlConnection) -> datetime:
    """Return when the last epoch began."""
    return datetime.fromisoformat(connection.execute(_LAST).fetchone()[1])


def is_ahead(connection: SqlConnection, refresh: Period, now: datetime) -> bool:
    """Return whether the last epoch has begun in the future, and would last until then."""
    return refresh is not Period.NEVER and last_epoch(connection)[1] > (now + AHEAD).date()


def last_reason(connection: SqlConnection) -> str | None:
    """Return why the last epoch began."""
    row = connection.execute(_LAST).fetchone()
    return None if row is None else str(row[2])


def enter_epoch(connection: SqlConnection, reason: str, now: datetime) -> int:
    """Begin the next epoch; return its number."""
    # Keys contain the epoch, so what was stored under earlier ones can't be asked for again.
    releases.forget(connection)
    return int(connection.execute(_NEXT, (now.isoformat(), reason)).fetchone()[0])
