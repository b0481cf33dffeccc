"""Clients that have closed their sending side: some still wait for an answer, others are gone, and both look the same."""

import asyncio
from collections.abc import Callable

from dpsql.wire.protocol.transport import ClientTransport

_AT_FIRST = (
    0.1,
    0.1,
)  # seconds between probes: a client that is gone resets the connection at the first, which the second finds out
_LATER = 2.0


async def try_client(transport: ClientTransport, harmless: Callable[[], bytes]) -> None:
    """Send what every client ignores, now and then, until the connection is lost; b"" where nothing may be sent now."""
    pauses = iter(_AT_FIRST)
    while not transport.is_lost:
        await asyncio.sleep(next(pauses, _LATER))
        transport.write(harmless())
