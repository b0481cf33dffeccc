"""COPY … FROM STDIN among messages that were sent before the server could say that it copies."""

from collections.abc import Callable

import psycopg
import pytest

from dpsql.wire.protocol.messages import message
from tests.wire.raw import FLUSH, SYNC, Raw, bind, execute, parse, query

Connect = Callable[..., psycopg.Connection]
Reply = tuple[bytes, bytes]

COPY = "copy pg_temp.t from stdin"
DATA, DONE, FAIL = message(b"d", b"7\n"), message(b"c"), message(b"f", b"no\0")
NAMED = (parse(b"", COPY.encode()), bind(b"", b""), execute(b""))
COUNT = "select count(*) from trips"
COUNTED = (parse(b"", COUNT.encode()), bind(b"", b""), execute(b""))
GO_ON = [
    (query(COPY), DATA, DONE, query("select 1")),
    (query(COPY), DATA, DONE, query(COUNT)),
    (query(COPY), DATA, FAIL, query(COUNT)),
    (query(COPY), DONE, DONE, query(COUNT)),
    (DONE, query(COPY), DATA, DONE, query(COUNT)),
    (query(COUNT), DONE, query(COPY), DATA, DONE, query(COUNT)),
    (query(f"{COPY}; {COPY}"), DATA, DONE, DATA, DONE, query(COUNT)),
    (query(f"{COPY}; {COPY}"), DATA, DONE, FAIL, query(COUNT)),
    (*NAMED, DATA, DONE, SYNC, query(COUNT)),
    (*NAMED, FLUSH, DATA, DONE, FLUSH, *COUNTED, SYNC),
    (*NAMED, SYNC, DATA, DONE, SYNC, query(COUNT)),
    (*NAMED, SYNC, SYNC, DATA, DONE, SYNC, *COUNTED, SYNC),
    (*NAMED, DATA, DONE, query(COUNT)),
    (*NAMED, DATA, FAIL, SYNC, query(COUNT)),
    (*COUNTED, DONE, *NAMED, DATA, DONE, *COUNTED, SYNC),
]
"""After which the session goes on."""
END = [
    (query(COPY), query("select 1"), DATA, DONE),
    (query(COPY), query(COUNT), DATA, DONE),
    (query(COPY), query("begin; " + COUNT), DATA, DONE),
    (query(COPY), query("selec ' " + COUNT), DATA, DONE),
    (query(COPY), query("listen x"), DATA, DONE),
    (query(COPY), *COUNTED, SYNC),
    (*NAMED, query(COUNT), SYNC),
    (*NAMED, SYNC, query(COUNT)),
    (*NAMED, *COUNTED, SYNC),
    (*NAMED, message(b"F", bytes(10)), SYNC),
]
"""After which neither side knows any more which message is meant for whom."""


def _seen(replies: list[Reply]) -> list[Reply]:
    """Return what has to be equal: names of columns and codes of errors, and not where an error was found."""
    return [(kind, _code(body) if kind == b"E" else body if kind in b"DC" else b"") for kind, body in replies]


def _code(body: bytes) -> bytes:
    return next((part[1:] for part in body.split(b"\0") if part[:1] == b"C"), b"")


def _told(connection: psycopg.Connection, talk: tuple[bytes, ...]) -> list[Reply]:
    with connection, Raw(connection) as session:
        session.send(query("create temp table t (a int)"))
        session.receive()
        session.send(*talk, query("select sum(a), 'the end' from pg_temp.t"))
        replies: list[Reply] = []
        while not any(kind == b"D" and body.endswith(b"the end") for kind, body in replies):
            replies += session.receive()
    return _seen(replies)


@pytest.mark.parametrize("talk", GO_ON, ids=map(str, range(len(GO_ON))))
def test_copied_data_may_be_sent_ahead(talk: tuple[bytes, ...], connect: Connect, plain: str) -> None:
    """All in one piece, as PostgreSQL takes it; what was copied is there."""
    assert _told(connect(), talk) == _told(psycopg.connect(plain, autocommit=True), talk)


@pytest.mark.parametrize("talk", END, ids=map(str, range(len(END))))
def test_what_comes_instead_of_copied_data_ends_the_session(talk: tuple[bytes, ...], connect: Connect) -> None:
    """With PostgreSQL's code for it: a violation of the protocol, and no mistake of dpsql's; nothing was copied or asked."""
    connection = connect()
    connection.execute("create temp table t (a int)")
    with Raw(connection) as session:
        session.send(*talk)
        received = session.rest()
    assert b"C08P01\0" in received
    assert b"XX000" not in received
