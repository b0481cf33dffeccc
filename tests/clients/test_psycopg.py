"""psycopg 3: text and binary, prepared, server cursors, COPY, and as many statements as it takes to change its ways."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.clients.asked import COLUMNS, GROUPED, LONG, REFUSED, ROWS, TABLES
from tests.clients.data import BY_PAYMENT, LONG_TRIPS, TRIPS
from tests.clients.site import Site


@pytest.fixture
def connection(here: Site) -> Iterator[psycopg.Connection]:
    """Give a connection to dpsql."""
    with psycopg.connect(here.dsn, autocommit=True) as opened:
        yield opened


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("statement", [TABLES, COLUMNS])
def test_catalogue_is_as_on_a_plain_server(here: Site, plain: Site, statement: str, binary: bool) -> None:
    """Tables and columns, with types, keys and comments."""
    with psycopg.connect(here.dsn) as ours, psycopg.connect(plain.dsn) as theirs:
        asked = statement.encode()
        assert ours.execute(asked, binary=binary).fetchall() == theirs.execute(asked, binary=binary).fetchall()


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("prepare", [False, True])
def test_aggregates_are_answered(connection: psycopg.Connection, binary: bool, prepare: bool) -> None:
    """Without and with a parameter."""
    grouped = connection.execute(GROUPED.encode(), prepare=prepare, binary=binary).fetchall()
    long = connection.execute(f"{LONG}%s".encode(), (20,), prepare=prepare, binary=binary).fetchall()
    assert (grouped, long) == (BY_PAYMENT, [(LONG_TRIPS,)])


def test_prepares_by_itself_after_five(connection: psycopg.Connection) -> None:
    """The sixth execution is of a named statement."""
    answers = [connection.execute(f"{LONG}%s".encode(), (20,)).fetchall() for _ in range(8)]
    assert answers == [[(LONG_TRIPS,)]] * 8


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize("factory", [psycopg.Cursor, psycopg.RawCursor])
def test_an_offset_of_none_may_be_a_parameter(
    connection: psycopg.Connection, factory: type[psycopg.Cursor], prepare: bool
) -> None:
    """Prisma sends it so; another number would choose rows, also of the same prepared statement."""
    with factory(connection) as cursor:
        mark = b"$1" if factory is psycopg.RawCursor else b"%s"
        counted = b"SELECT count(*) FROM (SELECT trip_id FROM trips WHERE 1=1 OFFSET " + mark + b") AS sub"
        for _ in range(2):
            assert cursor.execute(counted, (0,), prepare=prepare).fetchall() == [(TRIPS,)]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                cursor.execute(counted, (1,), prepare=prepare)


@pytest.mark.parametrize("factory", [psycopg.Cursor, psycopg.ClientCursor, psycopg.RawCursor])
def test_rows_are_refused(connection: psycopg.Connection, factory: type[psycopg.Cursor]) -> None:
    """With the code that drivers turn into InsufficientPrivilege, and the connection goes on."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        factory(connection).execute(ROWS.encode())
    assert caught.value.sqlstate == REFUSED
    assert caught.value.diag.message_hint
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_server_cursor_fetches_in_steps(connection: psycopg.Connection) -> None:
    """DECLARE and FETCH."""
    with connection.transaction(), connection.cursor("steps") as cursor:
        cursor.itersize = 2
        assert list(cursor.execute(GROUPED.encode())) == BY_PAYMENT


@pytest.mark.parametrize(("options", "types"), [("", ()), ("(FORMAT binary)", ("text", "int8"))])
def test_copy_gives_the_rows(connection: psycopg.Connection, options: str, types: tuple[str, ...]) -> None:
    """As text and binary."""
    with connection.cursor().copy(f"COPY ({GROUPED}) TO STDOUT {options}".encode()) as copy:
        copy.set_types(types or ("text", "int8"))
        assert list(copy.rows()) == BY_PAYMENT


def test_temporary_table_keeps_an_answer(connection: psycopg.Connection) -> None:
    """What was answered may be kept, and looked at for nothing."""
    connection.execute(f"CREATE TEMP TABLE kept AS {GROUPED}".encode())
    assert connection.execute("SELECT sum(n)::int FROM kept").fetchone() == (3000,)


@pytest.mark.parametrize("version", ["3.2", "latest"])
def test_newer_protocols_are_brought_down(here: Site, version: str) -> None:
    """Libpq that asks for more goes on with the protocol that it is offered."""
    with psycopg.connect(f"{here.dsn} max_protocol_version={version}", autocommit=True) as connection:
        assert connection.info.vendor == "PostgreSQL"
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
