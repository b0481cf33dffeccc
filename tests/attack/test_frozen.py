"""However much a client sends at once, the event loop looks at all others in between."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.intercept.session import Session
from dpsql.wire.protocol.messages import SYNC, Frame, message, parse_message, text
from dpsql.wire.protocol.replies import Replies
from dpsql.wire.server.listener import Listener
from tests.attack.test_hidden_statements import Nobody
from tests.support.fix_shadow import shadow, shadow_directory  # noqa: F401
from tests.wire.listening import dsn, listening
from tests.wire.raw import Raw

SENT = {
    "parses": (b"".join(parse_message(b"", b"select %d" % n) for n in range(4_000)) + SYNC, 400),
    "copied": (message(b"Q", text("copy kept from stdin")) + message(b"d", b"\n") * 10_000 + message(b"c"), 4_000),
}
"""With how many of them are a user's share of a turn of the loop at most: at five microseconds each, and half of one."""
Served = tuple[Listener, asyncio.AbstractEventLoop]


@pytest.fixture(scope="module")
def served(shadow: Postgres) -> Iterator[Served]:  # noqa: F811
    """Serve, and give the loop."""
    with listening(Nobody(), shadow) as both:
        yield both


@contextmanager
def counting(loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Count what is handled in each turn of the loop: messages of clients, and replies that something is done about."""
    turns, going = [0], [True]
    take, reply = Session._take, Replies._reply

    async def counted(session: Session, frame: Frame) -> None:
        turns[-1] += 1
        await take(session, frame)

    def replied(replies: Replies, kind: bytes, raw: bytes) -> bytes:
        turns[-1] += 1
        return reply(replies, kind, raw)

    def turn() -> None:
        if turns[-1]:
            turns.append(0)
        if going[0]:
            loop.call_soon(turn)

    monkeypatch.setattr(Session, "_take", counted)
    monkeypatch.setattr(Replies, "_reply", replied)
    loop.call_soon_threadsafe(turn)
    yield turns
    going[0] = False


@pytest.mark.parametrize("what", SENT)
def test_others_have_their_turn(what: str, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before all that has come was taken, and before all of its replies have come."""
    (listener, loop), (sent, most) = served, SENT[what]
    with psycopg.connect(f"{dsn(listener)} password=pw", autocommit=True) as client:
        client.execute("create temp table kept (a text)")
        with Raw(client) as raw, counting(loop, monkeypatch) as turns:
            raw.send(sent)
            raw.receive()
    assert sum(turns) >= 4_000
    assert max(turns) <= most


def test_all_connections_of_a_user_share_a_turn(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three send as much as one does alone."""
    (listener, loop), (sent, most), number = served, SENT["parses"], 3
    with ExitStack() as until:
        clients = [until.enter_context(psycopg.connect(f"{dsn(listener)} password=pw")) for _ in range(number)]
        raws = [until.enter_context(Raw(client)) for client in clients]
        with counting(loop, monkeypatch) as turns:
            for raw in raws:
                raw.send(sent)
            for raw in raws:
                raw.receive()
    assert sum(turns) >= number * 4_000
    # A session's replies come by themselves, so many as it may await.
    assert max(turns) <= most + number * 70
