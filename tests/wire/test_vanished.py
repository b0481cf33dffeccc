"""Clients that vanish from the network without a word: they give their seats back."""

import os
import socket
import sys
import time
from contextlib import suppress

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.protocol.messages import Limits
from dpsql.wire.server.acceptor import Silence
from tests.wire.exact import Exact
from tests.wire.listening import dsn, listening

_TCP_REPAIR = 19
"""Linux forgets a connection in this state without telling the other side."""


def _vanish(connection: psycopg.Connection) -> None:
    """Let a client disappear as a machine does that loses its power."""
    with socket.socket(fileno=os.dup(connection.fileno())) as raw:
        try:
            raw.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
        except PermissionError:
            pytest.skip("only root can forget a connection")
    connection.close()


@pytest.mark.skipif(sys.platform != "linux", reason="TCP_REPAIR is Linux's")
@pytest.mark.parametrize("statement", [None, "select count(*) from generate_series(1, 1000000000000)"])
def test_a_seat_comes_back(shadow: Postgres, answers: Exact, statement: str | None) -> None:
    """Of whoever waits for nothing, and of whoever waits for an answer."""
    limits, silence = Limits(connections_per_user=1), Silence(idle=1, interval=1)
    with listening(answers, shadow, limits, silence=silence) as (served, _):
        where = f"{dsn(served)} password=pw"
        gone = psycopg.connect(where, autocommit=True)
        if statement is not None:
            gone.pgconn.send_query(statement.encode())
            gone.pgconn.flush()
        with pytest.raises(psycopg.OperationalError, match="too many connections"):
            psycopg.connect(where)
        _vanish(gone)
        deadline = time.monotonic() + 60
        while True:
            with suppress(psycopg.OperationalError), psycopg.connect(where) as again:
                assert again.execute("select 1").fetchone() == (1,)
                break
            assert time.monotonic() < deadline
            time.sleep(0.02)
