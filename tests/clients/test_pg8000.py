"""pg8000: pure Python, binds without format codes."""

from collections.abc import Iterator
from io import StringIO

import pg8000.dbapi
import pytest

from tests.clients.asked import COLUMNS, GROUPED, LONG, REFUSED, ROWS, TABLES
from tests.clients.data import BY_PAYMENT, LONG_TRIPS
from tests.clients.site import Site


def _connect(site: Site) -> pg8000.dbapi.Connection:
    return pg8000.dbapi.connect(site.user, site.host, site.database, site.port, site.password)


@pytest.fixture
def cursor(here: Site) -> Iterator[pg8000.dbapi.Cursor]:
    """Give a cursor on dpsql."""
    connection = _connect(here)
    yield connection.cursor()
    connection.close()


def _rows(site: Site, statement: str) -> list[list[object]]:
    connection = _connect(site)
    cursor = connection.cursor()
    cursor.execute(statement)
    rows: list[list[object]] = list(cursor.fetchall())
    connection.close()
    return rows


@pytest.mark.parametrize("statement", [TABLES, COLUMNS])
def test_catalogue_is_as_on_a_plain_server(here: Site, plain: Site, statement: str) -> None:
    """Tables and columns, with types and comments."""
    assert _rows(here, statement) == _rows(plain, statement)


def test_aggregates_are_answered(cursor: pg8000.dbapi.Cursor) -> None:
    """Without and with a parameter."""
    cursor.execute(GROUPED)
    assert [tuple(row) for row in cursor.fetchall()] == BY_PAYMENT
    cursor.execute(f"{LONG}%s", (20,))
    assert [tuple(row) for row in cursor.fetchall()] == [(LONG_TRIPS,)]


def test_rows_are_refused(cursor: pg8000.dbapi.Cursor) -> None:
    """With PostgreSQL's code."""
    with pytest.raises(pg8000.dbapi.DatabaseError) as caught:
        cursor.execute(ROWS)
    assert caught.value.args[0]["C"] == REFUSED


def test_copy_gives_the_rows(cursor: pg8000.dbapi.Cursor) -> None:
    """As text."""
    copied = StringIO()
    cursor.execute(f"COPY ({GROUPED}) TO STDOUT", stream=copied)
    assert copied.getvalue() == "cash\t1000\ncredit card\t1000\n\\N\t1000\n"
