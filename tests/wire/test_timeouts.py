"""How statement_timeout counts: between messages, from statement to statement, in all its units."""

import time
from collections.abc import Callable

import psycopg
import pytest

from dpsql.wire.intercept.interceptor import timeout_seconds
from tests.wire.raw import FLUSH, SYNC, Raw, bind, execute, parse, query

Connect = Callable[..., psycopg.Connection]


def _talked(connection: psycopg.Connection, statement: bytes) -> list[bytes]:
    """Return the kinds of reply around a pause in the middle of a statement, and after it."""
    with Raw(connection) as session:
        session.send(query("set statement_timeout = '200ms'"))
        session.receive()
        session.send(parse(b"", statement), FLUSH)
        seen = [session.kinds(b"1")]
        time.sleep(0.5)
        session.send(parse(b"", statement), bind(b"", b""), execute(b""), SYNC)
        seen.append(session.kinds())
        session.send(parse(b"", statement), bind(b"", b""), execute(b""), SYNC)
        seen.append(session.kinds())
    return seen


@pytest.mark.parametrize("statement", [b"select 1", b"select count(*) from trips"])
def test_a_timeout_between_messages_is_told_as_by_plain_postgresql(
    connect: Connect, plain: str, statement: bytes
) -> None:
    """What follows it up to Sync is skipped, and afterwards all is well."""
    with psycopg.connect(plain, autocommit=True) as there, connect() as here:
        assert _talked(here, statement) == _talked(there, statement) == [b"1", b"EZ", b"12DCZ"]


@pytest.mark.parametrize(
    ("setting", "limit"),
    [("0", None), ("40ms", 0.04), ("1.5s", 1.5), ("90s", 90.0), ("299999", 299.999), ("5min", None), ("2d", None)],
)
def test_a_setting_is_read_as_postgresql_shows_it(connect: Connect, setting: str, limit: float | None) -> None:
    """In whatever unit; what is not shorter than the limit of measurements makes no difference."""
    with connect(options=f"-c statement_timeout={setting}") as connection:
        ((shown,),) = connection.execute("show statement_timeout").fetchall()
        assert timeout_seconds(shown) == (None if limit is None else pytest.approx(limit))


def test_a_timeout_counts_from_the_beginning_of_each_statement(connect: Connect) -> None:
    """Of a simple query with several, as in PostgreSQL, each has the whole time."""
    with connect(options="-c statement_timeout=4s") as connection:
        begun = time.monotonic()
        while time.monotonic() - begun < 4.5:
            time.sleep(0.1)
            psycopg.ClientCursor(connection).execute("select 1; select count(*) from trips")
