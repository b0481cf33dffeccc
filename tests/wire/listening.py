"""A listener on a thread of its own, for as long as a test wants it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dpsql.gateway.request import Answers
from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.watch.warden import LeftoverSessions, ShadowSessions
from dpsql.trail.trail import Trail
from dpsql.wire.protocol.certificate import Certificate
from dpsql.wire.protocol.messages import Limits
from dpsql.wire.protocol.scram import Verifier
from dpsql.wire.server.acceptor import Silence
from dpsql.wire.server.listener import Listener
from dpsql.wire.server.registry import UserEntry
from tests.support.fix_shadow import USERS
from tests.wire.no_trail import NoTrail


@contextmanager
def listening(
    answers: Answers,
    shadow: Postgres,
    limits: Limits = Limits(),
    tls: Certificate | None = None,
    silence: Silence = Silence(),
    *,
    iterations: int = 1,
    left: LeftoverSessions | None = None,
    trail: Trail | None = None,
) -> Iterator[tuple[Listener, asyncio.AbstractEventLoop]]:
    """Serve everybody in `USERS` with the password pw; gives the listener and the loop that it runs on.

    With as many `iterations` as are usual, logging in takes longer than most of what tests ask.
    """
    users = {name: UserEntry(role, str(Verifier.of("pw", iterations=iterations))) for name, role in USERS.items()}
    served = Listener(
        answers,
        shadow.address,
        users,
        "taxi",
        "127.0.0.1",
        0,
        watched=ShadowSessions() if left is None else ShadowSessions(left),
        secret=b"of the tests",
        trail=NoTrail() if trail is None else trail,
        tls=tls,
        limits=limits,
        silence=silence,
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(served.start(), loop).result(10)
    try:
        yield served, loop
    finally:
        asyncio.run_coroutine_threadsafe(served.stop(2.0), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def dsn(listener: Listener, user: str = "ana") -> str:
    """Return where `listener` is and who asks, without a password and without TLS."""
    return f"host=127.0.0.1 port={listener.port} user={user} dbname=taxi sslmode=disable"
