"""psycopg2: the simple protocol, text only; what Superset and most older tools use."""

from collections.abc import Iterator
from io import StringIO

import psycopg2
import psycopg2.extensions
import pytest

from tests.clients.asked import COLUMNS, GROUPED, LONG, REFUSED, ROWS, TABLES
from tests.clients.data import BY_PAYMENT, LONG_TRIPS
from tests.clients.site import Site


@pytest.fixture
def cursor(here: Site) -> Iterator[psycopg2.extensions.cursor]:
    """Give a cursor on dpsql."""
    connection = psycopg2.connect(here.words)
    with connection, connection.cursor() as opened:
        yield opened
    connection.close()


def _rows(site: Site, statement: str) -> list[tuple[object, ...]]:
    connection = psycopg2.connect(site.words)
    with connection.cursor() as opened:
        opened.execute(statement)
        rows: list[tuple[object, ...]] = opened.fetchall()
    connection.close()
    return rows


@pytest.mark.parametrize("statement", [TABLES, COLUMNS])
def test_catalogue_is_as_on_a_plain_server(here: Site, plain: Site, statement: str) -> None:
    """Tables and columns, with types and comments."""
    assert _rows(here, statement) == _rows(plain, statement)


def test_aggregates_are_answered(cursor: psycopg2.extensions.cursor) -> None:
    """Without and with a parameter, which psycopg2 writes into the text."""
    cursor.execute(GROUPED)
    assert cursor.fetchall() == BY_PAYMENT
    cursor.execute(f"{LONG}%s", (20,))
    assert cursor.fetchall() == [(LONG_TRIPS,)]


def test_rows_are_refused(cursor: psycopg2.extensions.cursor) -> None:
    """With PostgreSQL's code, and the transaction can be rolled back."""
    with pytest.raises(psycopg2.errors.InsufficientPrivilege) as caught:
        cursor.execute(ROWS)
    assert caught.value.pgcode == REFUSED
    cursor.connection.rollback()
    cursor.execute("SELECT 1")
    assert cursor.fetchall() == [(1,)]


def test_server_cursor_fetches_in_steps(cursor: psycopg2.extensions.cursor) -> None:
    """A named cursor, two rows at a time."""
    with cursor.connection.cursor("steps") as named:
        named.itersize = 2
        named.execute(GROUPED)
        assert list(named) == BY_PAYMENT


def test_copy_gives_the_rows(cursor: psycopg2.extensions.cursor) -> None:
    """As CSV."""
    copied = StringIO()
    cursor.copy_expert(f"COPY ({GROUPED}) TO STDOUT (FORMAT csv)", copied)
    assert copied.getvalue() == "cash,1000\ncredit card,1000\n,1000\n"
