"""An operator's view of a ledger on a server: whether it is whole, and its newest lines. Copies are the server's."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpsql.accounting.ledger import Entry
from dpsql.accounting.mark import read_mark
from dpsql.accounting.postgres import schema
from dpsql.accounting.postgres.session import SharedSession, shown_place
from dpsql.accounting.postgres.store import opening
from dpsql.accounting.sql import lines
from dpsql.accounting.sql.owner import owner
from dpsql.accounting.sql.soundness import Examined, examined, wrong_lines
from dpsql.accounting.sql.store import SqlConnection
from dpsql.errors import ConfigError


def examine_server(dsn: str) -> Examined:
    """Return what the ledger on a server holds, and whether all of it is as it was written.

    Raises:
        ConfigError: it can't be read, or is no ledger of this version.
    """
    with _reading(dsn) as connection:
        recorded = owner(connection)
        if recorded is None:
            raise ConfigError(f"ledger {shown_place(dsn)} belongs to no data set: somebody has changed it")
        changeable = (
            f"lines of {table} can be changed: its trigger is gone" for table in schema.changeable(connection)
        )
        return examined(connection, recorded, (*changeable, *wrong_lines(connection)))


def lacking(examined_ledger: Examined, beside: Path) -> int | None:
    """Return how many charges a ledger lacks by the mark of this machine; None if it is another one than was here."""
    last = read_mark(beside)
    if last is None:
        return 0
    return max(0, last.lines - examined_ledger.charges) if last.ledger == examined_ledger.ledger else None


def lines_on_server(dsn: str, role: str | None, limit: int) -> tuple[Entry, ...]:
    """Return a ledger's newest lines first, of one role or of all.

    Raises:
        ConfigError: it can't be read.
    """
    with _reading(dsn) as connection:
        return lines.newest(connection, role, limit)


@contextmanager
def _reading(dsn: str) -> Iterator[SqlConnection]:
    shared = SharedSession(dsn)
    try:
        with opening(shared, shown_place(dsn), keep=False) as connection:
            if not schema.is_there(connection):
                raise ConfigError(f"there is no ledger {shown_place(dsn)}")
            schema.see_version(connection, shown_place(dsn))
            yield connection
    finally:
        shared.session.close()
