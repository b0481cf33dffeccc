"""The ledger's lines as they are read: newest first for people, in their order for a book."""

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction

from dpsql.accounting.ledger import Entry, presentable
from dpsql.policy.model import Privacy

_LINES = """
SELECT c.id, s.time, s.user, s.role, s.kind, s.text, c.key, c.note, c.epsilon, c.delta, c.measured
FROM charges c JOIN statements s ON s.id = c.statement
"""
_NEW_LINES = _LINES + "WHERE c.id > ? ORDER BY c.id"
_LAST_LINES = _LINES + "WHERE ?1 IS NULL OR s.role = ?1 ORDER BY c.id DESC LIMIT ?2"


def newest(connection: sqlite3.Connection, role: str | None, limit: int) -> tuple[Entry, ...]:
    """Return the newest lines first, of one role or of all."""
    return tuple(entry for _, entry in _read(connection, _LAST_LINES, (role, limit)))


def after(connection: sqlite3.Connection, number: int) -> Iterator[tuple[int, Entry]]:
    """Yield the lines after one, with their numbers."""
    return _read(connection, _NEW_LINES, (number,))


def _read(connection: sqlite3.Connection, sql: str, values: tuple[object, ...]) -> Iterator[tuple[int, Entry]]:
    for number, time, user, role, kind, text, key, note, epsilon, delta, measured in connection.execute(sql, values):
        cost, said = Privacy(Fraction(epsilon), Fraction(delta)), presentable(text)
        entry = Entry(datetime.fromisoformat(time), user, role, kind, said, key, note, cost, bool(measured))
        yield int(number), entry
