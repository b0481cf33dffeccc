"""Clients that shut their side of the connection after their last message, as `nc` and scripts do: they are answered."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.protocol.messages import TERMINATE
from dpsql.wire.server.listener import Listener
from tests.wire.listening import dsn
from tests.wire.raw import FLUSH, SYNC, Raw, bind, execute, parse, query

Connect = Callable[..., psycopg.Connection]
LONG = "select count(*) from generate_series(1, 1000000)"
PRIVATE = "select count(*) from trips"
PIPELINE = (parse(b"", PRIVATE.encode()), bind(b"", b""), execute(b""))


def _kinds(received: bytes) -> bytes:
    """Return the kinds of messages, but for what tells of settings."""
    kinds = b""
    while received:
        kinds += received[:1]
        received = received[1 + int.from_bytes(received[1:5], "big") :]
    return kinds.replace(b"S", b"")


@pytest.mark.parametrize(
    ("sent", "kinds"),
    [
        ((query(LONG),), b"TDCZ"),
        ((query(PRIVATE),), b"TDCZ"),
        ((query(LONG), query(PRIVATE), query("select 1")), b"TDCZTDCZTDCZ"),
        ((*PIPELINE, SYNC), b"12DCZ"),
        ((*PIPELINE, FLUSH), b"12DC"),
        ((query("selec"), query(PRIVATE)), b"EZTDCZ"),
        ((query(LONG), query(PRIVATE)[:-3]), b"TDCZ"),
        ((query(LONG), TERMINATE), b"TDCZ"),
    ],
    ids=range(8),
)
def test_whoever_says_no_more_is_answered(connect: Connect, plain: str, sent: tuple[bytes, ...], kinds: bytes) -> None:
    """Just as by a plain server, which then hangs up."""

    def received(connection: psycopg.Connection) -> bytes:
        with Raw(connection) as raw:
            raw.send(*sent)
            raw._socket.shutdown(socket.SHUT_WR)
            return _kinds(raw.rest())

    with psycopg.connect(plain, autocommit=True) as there:
        assert received(connect()) == received(there) == kinds


SESSIONS = "select pid from pg_stat_get_activity(null) where usesysid = 'ana'::regrole"
CLIENT = """
import sys, psycopg
connection = psycopg.connect(sys.argv[1], autocommit=True)
connection.execute("set statement_timeout = 0")
connection.pgconn.send_query(b"select count(*) from generate_series(1, 1000000000000)")
connection.pgconn.flush()
print("asked", flush=True)
sys.stdin.read()
"""


def test_whoever_is_gone_is_not_waited_for(listener: Listener, shadow: Postgres) -> None:
    """A process that dies sends the same as one that waits; what it asked is cancelled all the same."""
    with psycopg.connect(shadow.dsn("taxi"), autocommit=True) as owner:
        before = set(owner.execute(SESSIONS).fetchall())
        client = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", CLIENT, f"{dsn(listener)} password=pw"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert client.stdout is not None
        assert client.stdout.readline() == b"asked\n"
        (own,) = set(owner.execute(SESSIONS).fetchall()) - before
        client.kill()
        client.communicate()
        deadline = time.monotonic() + 60
        while own in owner.execute(SESSIONS).fetchall():
            assert time.monotonic() < deadline
            time.sleep(0.02)
