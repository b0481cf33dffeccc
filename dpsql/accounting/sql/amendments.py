"""The ledger's lines that an operator adds: more for a role to spend, and what was told without the ledger's knowing.

Neither changes a line. A grant is an event of the role's; a correction is a charge, which counts as any other: it is made
upwards only, since what was told can't be untold.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from fractions import Fraction

from dpsql.accounting.composition import compose
from dpsql.accounting.redating import Redating
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sql import events, lines
from dpsql.accounting.sql.store import SqlConnection
from dpsql.policy.model import Privacy

GRANTED = "granted"
CORRECTION = "correction"
"""The beginning of the keys of such charges, and their note."""
_GRANT = "INSERT INTO events (time, \"user\", role, what, cause, statement) VALUES (?1, '', ?2, 'granted', ?3, ?4)"
_GRANTS = "SELECT id, time, statement FROM events WHERE role = ?1 AND what = 'granted'"


def enter_grant(connection: SqlConnection, role: str, amount: Privacy, reason: str, now: datetime) -> None:
    """Write that a role may spend so much more in its present period."""
    connection.execute(_GRANT, (now.isoformat(), role, reason, f"{amount.epsilon} {amount.delta}"))


def granted(
    connection: SqlConnection, role: str, since: date, until: date | None, redatings: Sequence[Redating]
) -> Privacy:
    """Return what a role was granted from a day on, before another.

    Days to come do not count, so that a clock that was set back grants nothing twice.
    """

    def amounts() -> Iterator[Privacy]:
        for number, time, amount in connection.execute(_GRANTS, (role,)):
            day = events.event_time(number, time, redatings).date()
            if since <= day and (until is None or day < until):
                yield Privacy(*map(Fraction, amount.split()))

    return compose(amounts())


def enter_correction(
    connection: SqlConnection, role: str, kind: str, amount: Privacy, reason: str, now: datetime
) -> int:
    """Charge what was told otherwise: to a unit kind's budget and to a role's, or to no role's; return the line's number."""
    text = f"dpsql budget correct: {reason}"
    statement = lines.enter_statement(connection, now, "", (role, kind), text)
    key, read = f"{CORRECTION} {statement}", ReadDays.of_now(now)
    return lines.enter_charge(connection, statement, key, CORRECTION, amount, read, measured=True)
