"""What of a ledger lies in the future, and the line that dates it up to now; see `dpsql.accounting.redating`."""

from datetime import UTC, date, datetime
from typing import Any

from dpsql.accounting.composition import compose
from dpsql.accounting.redating import AHEAD, REDATED, Redating
from dpsql.accounting.running_totals import RunningTotals
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sql import epochs, events, lines
from dpsql.accounting.sql.store import SqlConnection
from dpsql.policy.model import Period

_AHEAD = """
SELECT max(s.time), max(c.first_read), min(c.id), count(*) FROM charges c JOIN statements s ON s.id = c.statement
WHERE c.id > ?1 AND (s.time > ?2 OR c.first_read > ?3)
"""
_BEFORE = """
SELECT s.time FROM charges c JOIN statements s ON s.id = c.statement WHERE c.id < ?1 OR ?1 IS NULL ORDER BY c.id DESC LIMIT 1
"""
_EVENTS = "SELECT max(time) FROM events WHERE id > ?1"


def ahead(connection: SqlConnection, totals: RunningTotals, refresh: Period, now: datetime) -> datetime | None:
    """Return until when lies in the future what was written since it was last dated; None where nothing does."""
    times = [_time(found) for found in _charges(connection, totals, now)[:2]]
    event = totals.redatings[-1].event if totals.redatings else 0
    times.append(_time(connection.execute(_EVENTS, (event,)).fetchone()[0]))
    if epochs.is_ahead(connection, refresh, now):
        times.append(epochs.last_began(connection))
    latest = max(times)
    return latest if latest > now + AHEAD else None


def enter(connection: SqlConnection, totals: RunningTotals, now: datetime) -> Redating:
    """Write the line that dates up to now what lies in the future."""
    _, _, first, number = _charges(connection, totals, now)
    before = connection.execute(_BEFORE, (first,)).fetchone()
    begin = date.min if before is None else datetime.fromisoformat(before[0]).date()
    unwritten = Redating(0, now, begin, events.last_event(connection), number)
    statement = lines.enter_statement(
        connection, now, "", ("", ""), f"dpsql ledger redate: {number} charges, from {begin}"
    )
    read = ReadDays.of_now(now)
    line = lines.enter_charge(connection, statement, unwritten.key, REDATED, compose(()), read, measured=False)
    return Redating(line, now, begin, unwritten.event, number)


def _charges(connection: SqlConnection, totals: RunningTotals, now: datetime) -> tuple[Any, Any, int | None, int]:
    """Return of the charges that lie in the future the latest time and day of reading, the first one, and how many."""
    line, until = totals.redatings[-1].line if totals.redatings else 0, now + AHEAD
    found = connection.execute(_AHEAD, (line, until.isoformat(), until.date().isoformat())).fetchone()
    latest, first_read, first, number = found
    return latest, first_read, first, int(number)


def _time(written: Any) -> datetime:
    return datetime.min.replace(tzinfo=UTC) if written is None else datetime.fromisoformat(written).replace(tzinfo=UTC)
