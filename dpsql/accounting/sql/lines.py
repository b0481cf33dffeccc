"""The ledger's lines: as they are read, those about failures, and those that an operator adds."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from fractions import Fraction

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import Entry, Event, Failure, FailureKind, Redating, presentable
from dpsql.accounting.privacy_loss import compose
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sql.store import SqlConnection
from dpsql.policy.model import Privacy

_LINES = """
SELECT c.id, s.time, s."user", s.role, s.kind, s.text, c.key, c.note, c.epsilon, c.delta, c.rho, c.measured,
  c.first_read, c.last_read
FROM charges c JOIN statements s ON s.id = c.statement
"""
_NEW_LINES = _LINES + "WHERE c.id > ?1 ORDER BY c.id"
_LAST_LINES = _LINES + "WHERE s.role = ?1 OR ?1 IS NULL ORDER BY c.id DESC LIMIT ?2"

_STATEMENT = """
INSERT INTO statements (time, "user", role, kind, text) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id
"""
_CHARGE = """
INSERT INTO charges (statement, key, note, epsilon, delta, rho, measured, first_read, last_read)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id
"""


def enter_statement(connection: SqlConnection, now: datetime, user: str, whose: tuple[str, str], text: str) -> int:
    """Write a statement that is to be charged, of a role and the unit kind that it protects; return its number."""
    return int(connection.execute(_STATEMENT, (now.isoformat(), user, *whose, text)).fetchone()[0])


def enter_charge(
    connection: SqlConnection, statement: int, key: str, note: str, cost: Privacy, read: ReadDays, *, measured: bool
) -> int:
    """Write a statement's charge for one measurement, for which records are read on some days; return its number."""
    days = (read.first.isoformat(), read.last.isoformat())
    rho = str(cost.rho) if cost.rho else None
    values = (statement, key, note, str(cost.epsilon), str(cost.delta), rho, int(measured), *days)
    return int(connection.execute(_CHARGE, values).fetchone()[0])


def newest_lines(connection: SqlConnection, role: str | None, limit: int) -> tuple[Entry, ...]:
    """Return the newest lines first, of one role or of all."""
    return tuple(entry for _, entry in _read(connection, _LAST_LINES, (role, limit)))


def lines_after(connection: SqlConnection, number: int) -> Iterator[tuple[int, Entry]]:
    """Yield the lines after one, with their numbers."""
    return _read(connection, _NEW_LINES, (number,))


def _read(connection: SqlConnection, sql: str, values: tuple[object, ...]) -> Iterator[tuple[int, Entry]]:
    for number, written, user, role, kind, text, key, note, *cost, measured, first, last in connection.execute(
        sql, values
    ):
        # What has no ρ of its own has NULL there.
        paid = Privacy(*(Fraction(amount or 0) for amount in cost))
        time, said = datetime.fromisoformat(written), presentable(text)
        # Ledgers of before have no days: what was charged then counts as read of the records themselves.
        read = ReadDays.of_now(time) if first is None else ReadDays(date.fromisoformat(first), date.fromisoformat(last))
        yield int(number), Entry(time, user, role, kind, said, key, note, paid, bool(measured), read)


# The ledger's lines about failures: which accounts they have closed, and who has opened them again.

CLOSED, OPENED = "closed", "opened"

_EVENT = """
INSERT INTO events (time, "user", role, what, cause, statement, form) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
"""
_LAST_CLOSING = "SELECT what FROM events WHERE role = ?1 AND what IN ('closed', 'opened') ORDER BY id DESC LIMIT 1"
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
    last: tuple[str] | None = connection.execute(_LAST_CLOSING, (role,)).fetchone()
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
    if failure.how is FailureKind.BROKEN:
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


# The ledger's lines that an operator adds: more for a role to spend, and what was told without the ledger's knowing.
#
# Neither changes a line. A grant is an event of the role's; a correction is a charge, which counts as any other: it is made
# upwards only, since what was told can't be untold.

GRANTED = "granted"
CORRECTION = "correction"
"""The beginning of the keys of such charges, and their note."""
_GRANT = "INSERT INTO events (time, \"user\", role, what, cause, statement) VALUES (?1, '', ?2, 'granted', ?3, ?4)"
_GRANTS = "SELECT id, time, statement FROM events WHERE role = ?1 AND what = 'granted'"


def enter_grant(connection: SqlConnection, role: str, amount: Privacy, reason: str, now: datetime) -> None:
    """Write that a role may spend so much more in its present period."""
    connection.execute(_GRANT, (now.isoformat(), role, reason, f"{amount.epsilon} {amount.delta}"))


def granted_between(
    connection: SqlConnection, role: str, since: date, until: date | None, redatings: Sequence[Redating]
) -> Privacy:
    """Return what a role was granted from a day on, before another.

    Days to come do not count, so that a clock that was set back grants nothing twice.
    """

    def amounts() -> Iterator[Privacy]:
        for number, time, amount in connection.execute(_GRANTS, (role,)):
            day = event_time(number, time, redatings).date()
            if since <= day and (until is None or day < until):
                yield Privacy(*map(Fraction, amount.split()))

    return compose(amounts())


def enter_correction(
    connection: SqlConnection, role: str, kind: str, amount: Privacy, reason: str, now: datetime
) -> int:
    """Charge what was told otherwise: to a unit kind's budget and to a role's, or to no role's; return the line's number."""
    text = f"dpsql budget correct: {reason}"
    statement = enter_statement(connection, now, "", (role, kind), text)
    key, read = f"{CORRECTION} {statement}", ReadDays.of_now(now)
    return enter_charge(connection, statement, key, CORRECTION, amount, read, measured=True)
