"""The ledger's lines as they are read: newest first for people, in their order for a book."""

from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction

from dpsql.accounting.ledger import Entry, presentable
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


def newest(connection: SqlConnection, role: str | None, limit: int) -> tuple[Entry, ...]:
    """Return the newest lines first, of one role or of all."""
    return tuple(entry for _, entry in _read(connection, _LAST_LINES, (role, limit)))


def after(connection: SqlConnection, number: int) -> Iterator[tuple[int, Entry]]:
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
