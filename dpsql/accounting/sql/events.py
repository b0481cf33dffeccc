"""The ledger's lines about failures: which accounts they have closed, and who has opened them again."""

from collections.abc import Sequence
from datetime import date, datetime

from dpsql.accounting.balance import Account
from dpsql.accounting.failures import Event, Failing, Failure
from dpsql.accounting.ledger import presentable
from dpsql.accounting.redating import Redating
from dpsql.accounting.sql.store import SqlConnection

CLOSED, OPENED = "closed", "opened"

_EVENT = """
INSERT INTO events (time, "user", role, what, cause, statement, form) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
"""
_LAST = "SELECT what FROM events WHERE role = ?1 AND what IN ('closed', 'opened') ORDER BY id DESC LIMIT 1"
# Days to come count too, so that a clock that was set back frees nothing.
_FAILURES = """
SELECT id, time FROM events WHERE role = ?1 AND what IN ('engine', 'late') AND substr(time, 1, 10) >= ?2
AND id > (SELECT coalesce(max(id), 0) FROM events WHERE role = ?1 AND what = 'opened')
"""
_BROKEN = """
SELECT form FROM events WHERE role = ?1 AND what = 'broken'
AND id > (SELECT coalesce(max(id), 0) FROM events WHERE role = ?1 AND what = 'opened')
"""
_MOST_BROKEN = 2
"""Bugs by which an account is closed."""
_SINCE = """
SELECT time, "user", role, what, cause, statement FROM events
WHERE role = ?1 AND what <> 'granted'
AND id > (SELECT coalesce(max(id), 0) FROM events WHERE role = ?1 AND what = 'opened') ORDER BY id
"""


def is_closed(connection: SqlConnection, role: str) -> bool:
    """Return whether a role's account is closed."""
    last: tuple[str] | None = connection.execute(_LAST, (role,)).fetchone()
    return last == (CLOSED,)


def broken_forms(connection: SqlConnection, role: str) -> tuple[str, ...]:
    """Return the forms of measurements that were met by a bug since a role's account was last opened, one for each time."""
    return tuple(form for (form,) in connection.execute(_BROKEN, (role,)).fetchall())


def enter_failure(
    connection: SqlConnection,
    account: Account,
    text: str,
    now: datetime,
    failure: Failure,
    form: str,
    *,
    redatings: Sequence[Redating],
) -> bool:
    """Write a failure, and close the role's account if it is one too many; return whether this closed it."""
    role = account.role
    connection.execute(_EVENT, (now.isoformat(), account.user, role.name, failure.how, failure.cause, text, form))
    if failure.how is Failing.BROKEN:
        many = len(broken_forms(connection, role.name)) >= _MOST_BROKEN
    else:
        many = _failures(connection, role.name, now.date(), redatings) >= role.limits.failures
    if not many or is_closed(connection, role.name):
        return False
    connection.execute(_EVENT, (now.isoformat(), account.user, role.name, CLOSED, failure.cause, text, ""))
    return True


def enter_opening(connection: SqlConnection, role: str, now: datetime) -> None:
    """Write that a role's account is open again."""
    connection.execute(_EVENT, (now.isoformat(), "", role, OPENED, "dpsql unlock", "", ""))


def since_opening(connection: SqlConnection, role: str) -> tuple[Event, ...]:
    """Return what befell a role's account since it was last opened, oldest first."""
    rows = connection.execute(_SINCE, (role,)).fetchall()
    return tuple(Event(datetime.fromisoformat(time), *map(presentable, texts)) for time, *texts in rows)


def last_event(connection: SqlConnection) -> int:
    """Return the number of the last event."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])


def _failures(connection: SqlConnection, role: str, day: date, redatings: Sequence[Redating]) -> int:
    times = connection.execute(_FAILURES, (role, day.isoformat())).fetchall()
    return sum(event_time(number, time, redatings).date() >= day for number, time in times)


def event_time(number: int, written: str, redatings: Sequence[Redating]) -> datetime:
    """Return when an event counts."""
    time = datetime.fromisoformat(written)
    return min((redating.dated_event(number, time) for redating in redatings), default=time)
