"""A minute of bytes that no driver sends, in pieces and out of order: the sessions beside go on, nothing leaks."""

import asyncio
import os
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.protocol.messages import FLUSH, SYNC, TERMINATE, Limits, message, text, uint32
from dpsql.wire.server.listener import Listener
from tests.wire.exact import Exact
from tests.wire.listening import dsn, listening
from tests.wire.raw import Raw, bind, close, describe, execute, parse, query

SECONDS = 60.0
LIMITS = Limits(connections_per_user=400, login_timeout=5.0, failures_per_user=10**6, failures_per_address=10**6)

_names = st.sampled_from([b"", b"a", b"b"])
_statements = st.sampled_from(
    [
        "select 1",
        "select count(*) from trips",
        "select count(*) from trips where fare > $1",
        "select * from trips",
        'select count(*) as "no budget" from trips',
        "begin",
        "rollback",
        "prepare a as select count(*) from trips",
        "execute a",
        "declare c cursor with hold for select count(*) from trips",
        "fetch 1 in c",
        "copy (select count(*) from trips) to stdout",
        "create temp table t (a int)",
        "copy t from stdin",
        "select 1; select count(*) from trips; select 1/0",
        "",
        "selec",
    ]
)
_valid = st.one_of(
    st.builds(query, _statements),
    st.builds(lambda name, statement: parse(name, statement.encode()), _names, _statements),
    st.builds(bind, _names, _names),
    st.builds(lambda portal, name: bind(portal, name, "3"), _names, _names),
    st.builds(describe, st.sampled_from([b"S", b"P", b"?"]), _names),
    st.builds(execute, _names),
    st.builds(lambda portal, rows: message(b"E", text(portal), uint32(rows)), _names, st.integers(0, 2)),
    st.builds(close, st.sampled_from([b"S", b"P"]), _names),
    st.sampled_from(
        [SYNC, SYNC, SYNC, FLUSH, TERMINATE, message(b"c"), message(b"d", b"1\n"), message(b"f", text("no"))]
    ),
)
_odd = st.one_of(
    st.binary(max_size=60),
    st.builds(message, st.binary(min_size=1, max_size=1), st.binary(max_size=40)),
    st.builds(
        lambda kind, length: kind + struct.pack("!I", length),
        st.binary(min_size=1, max_size=1),
        st.integers(0, 2**32 - 1),
    ),
    st.builds(lambda whole, cut: whole[:cut], _valid, st.integers(0, 12)),
)
_talk = st.lists(st.one_of(_valid, _valid, _valid, _odd), max_size=12)
_start = st.one_of(
    st.binary(max_size=80),
    st.builds(
        lambda body, code: struct.pack("!II", len(body) + 8, code) + body,
        st.binary(max_size=60),
        st.sampled_from([0x30000, 0x30002, 80877102, 80877103, 80877104]),
    ),
)


def _send(raw: socket.socket, sent: bytes, piece: int) -> None:
    """Write in pieces, then leave, with or without having read what came."""
    with suppress(OSError):
        for at in range(0, len(sent), piece):
            raw.sendall(sent[at : at + piece])
        raw.shutdown(socket.SHUT_WR)
        if piece % 2:
            while raw.recv(65536):
                pass


def _examples(listener: Listener, ask: Callable[[], None]) -> None:
    """Run one round of hypothesis."""

    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(_start, _talk, st.integers(1, 400))
    def round_(start: bytes, talk: list[bytes], piece: int) -> None:
        with socket.create_connection(("127.0.0.1", listener.port), timeout=10) as raw:
            _send(raw, start, piece)
        with psycopg.connect(f"{dsn(listener)} password=pw", autocommit=True) as connection, Raw(connection) as session:
            _send(session._socket, b"".join(talk), piece)
            connection.pgconn.finish()
        ask()

    round_()


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _everybody_has_left(listener: Listener, but: int) -> None:
    async with asyncio.timeout(20):
        while len(listener._open) > but:  # noqa: ASYNC110 # the listener has no reason to tell
            await asyncio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
def test_a_minute_of_noise_harms_nobody(shadow: Postgres, answers: Exact) -> None:
    """No session beside fails, and neither descriptors nor memory grow."""
    with (
        listening(answers, shadow, LIMITS) as (served, loop),
        psycopg.connect(f"{dsn(served)} password=pw", autocommit=True) as healthy,
    ):

        def ask() -> None:
            assert healthy.execute("select count(*) from trips where fare > %s", (0,)).fetchone() == (1000,)

        _examples(served, ask)
        asyncio.run_coroutine_threadsafe(_everybody_has_left(served, 1), loop).result(30)
        descriptors, memory, begun = _descriptors(), _memory(), time.monotonic()
        while time.monotonic() - begun < SECONDS:
            _examples(served, ask)
        asyncio.run_coroutine_threadsafe(_everybody_has_left(served, 1), loop).result(30)
        assert _descriptors() <= descriptors
        assert _memory() - memory < 40_000_000
