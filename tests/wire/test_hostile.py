"""Bytes that no driver sends: the client hears an error and is hung up on, and everybody else goes on."""

import socket
import struct
import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.server.listener import Listener
from tests.wire.exact import Exact
from tests.wire.guess import Guess
from tests.wire.listening import listening
from tests.wire.raw import SYNC, Raw, parse, query

Connect = Callable[..., psycopg.Connection]


def packet(body: bytes, code: int = 0x30000) -> bytes:
    """Return a start packet."""
    return struct.pack("!II", len(body) + 8, code) + body


def talk(listener: Listener, *parts: bytes) -> bytes:
    """Send `parts` and read until the server hangs up."""
    with socket.create_connection(("127.0.0.1", listener.port), timeout=10) as raw:
        for part in parts:
            raw.sendall(part)
        received = b""
        while piece := raw.recv(65536):
            received += piece
    return received


USER = packet(b"user\0ana\0database\0taxi\0\0")

MALFORMED = [
    b"GET / HTTP/1.1\r\nHost: example\r\n\r\n",
    struct.pack("!II", 4, 0x30000),
    struct.pack("!II", 2**31, 0x30000),
    packet(b"", 0x20000),
    packet(b"user\0ana"),
    packet(b"user\0ana\0odd\0\0"),
    packet(b"user\0\xff\xfe\0\0"),
    packet(b"\0"),
    USER + b"Q\0\0\0\x0dselect 1\0",
    USER + b"p\0\0\0\x03",
    USER + b"p\xff\xff\xff\xff",
    USER + b"p\0\0\0\x08abcd",
    USER + b"p\0\0\0\x17SCRAM-SHA-256\0\0\0\0\1x",
    USER + b"p\0\0\0\x1eSCRAM-SHA-256-PLUS\0\0\0\0\1x\0\0",
]


@pytest.mark.parametrize("sent", MALFORMED)
def test_malformed_start_gets_an_error_and_a_closed_socket(listener: Listener, sent: bytes) -> None:
    """The last that the client hears is an ErrorResponse."""
    received = talk(listener, sent)
    assert b"SFATAL\0" in received
    assert b"C08P01\0" in received or b"C28P01\0" in received


def test_silent_half_of_a_start_is_hung_up_on(listener: Listener) -> None:
    """Who does not log in within the time limit is let go."""
    assert talk(listener, USER[:5]) == b""


@pytest.mark.parametrize(
    "sent", [b"!\0\0\0\4", b"Q\0\0\0\3", b"Q\x7f\xff\xff\xff", b"P\0\0\0\5x", b"B\0\0\0\6a\0", b"E\0\0\0\4"]
)
def test_malformed_message_ends_the_session(connect: Connect, sent: bytes) -> None:
    """After log-in a malformed message gets 08P01 and a closed socket."""
    with Raw(connect()) as raw:
        raw.send(sent)
        received = raw.rest()
    assert b"SFATAL\0" in received
    assert b"C08P01\0" in received


def test_wrong_password_and_unknown_user_are_told_alike(listener: Listener) -> None:
    """Nobody learns by trying which users exist."""

    def refused(user: str, password: str) -> tuple[str | None, str]:
        dsn = f"host=127.0.0.1 port={listener.port} user={user} password={password} dbname=taxi sslmode=disable"
        with pytest.raises(psycopg.OperationalError) as caught:
            psycopg.connect(dsn)
        return caught.value.sqlstate, str(caught.value)

    assert refused("ana", "wrong") == refused("nobody-here", "pw")


def test_unknown_user_gets_the_same_salt_each_time(shadow: Postgres, answers: Exact) -> None:
    """A salt that changes, at a restart or before, would tell that the user does not exist."""

    def salt(user: str) -> bytes:
        guess = Guess(served, "wrong", user)
        guess.close()
        return guess.challenge.split(b",s=")[1]

    salts = []
    for _ in range(2):
        with listening(answers, shadow) as (served, _):
            salts += [salt("mallory"), salt("mallory")]
            assert salt("trudy") != salts[0]
    assert len(set(salts)) == 1


def test_other_database_is_unknown(listener: Listener) -> None:
    """Only the data set is served."""
    with pytest.raises(psycopg.OperationalError, match='database "postgres" does not exist'):
        psycopg.connect(f"host=127.0.0.1 port={listener.port} user=ana password=pw dbname=postgres sslmode=disable")


def test_large_values_pass_in_both_directions(connect: Connect) -> None:
    """Ten megabytes come back as they were sent."""
    value = "x" * 10_000_000
    assert connect().execute("select %s::text", (value,)).fetchone() == (value,)


def test_many_rows_pass(connect: Connect) -> None:
    """A large result arrives whole."""
    rows = connect().execute("select n, repeat('x', 100) from generate_series(1, 100000) n").fetchall()
    assert (len(rows), rows[-1][0]) == (100_000, 100_000)


def test_storm_of_connections_is_served(listener: Listener) -> None:
    """Two hundred clients that connect at once and ask are all answered."""
    dsn = f"host=127.0.0.1 port={listener.port} user=ana password=pw dbname=taxi sslmode=disable"
    got: list[object] = []

    def ask() -> None:
        with psycopg.connect(dsn) as connection:
            got.append(connection.execute("select count(*) from zones").fetchone())

    threads = [threading.Thread(target=ask) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [(10,)] * 200


@pytest.mark.parametrize("statement", ["select count(*) from trips", "listen x", "select 1", "prepare p as select 1"])
def test_query_after_a_failed_message_is_skipped(connect: Connect, plain: str, statement: str) -> None:
    """Up to the Sync nothing is looked at, not even a simple query, as on a plain server."""

    def kinds(connection: psycopg.Connection) -> bytes:
        with Raw(connection) as raw:
            raw.send(parse(b"", b"selec"), query(statement), SYNC)
            return raw.kinds()

    with psycopg.connect(plain) as there:
        assert kinds(connect()) == kinds(there) == b"EZ"


def test_abandoned_statement_is_cancelled(connect: Connect, shadow: Postgres) -> None:
    """Who asks and hangs up leaves nothing running in the shadow."""
    connection = connect()
    connection.execute("set statement_timeout = 0")
    connection.pgconn.send_query(b"select count(*) from generate_series(1, 1000000000000)")
    connection.pgconn.flush()
    with psycopg.connect(shadow.dsn("taxi"), autocommit=True) as owner:
        row = owner.execute(
            "select max(pid) from pg_stat_get_activity(null) where usesysid = 'ana'::regrole"
        ).fetchone()
        assert row is not None
        with Raw(connection) as raw:
            connection.pgconn.finish()
            raw._socket.shutdown(socket.SHUT_RDWR)
        begun = time.monotonic()
        while owner.execute("select from pg_stat_get_activity(%s)", row).fetchone() is not None:
            assert time.monotonic() - begun < 60
            time.sleep(0.02)
