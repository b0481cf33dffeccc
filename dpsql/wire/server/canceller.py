"""A cancel request to the shadow, which is over when the shadow has carried it out."""

import asyncio

from dpsql.wire.protocol.messages import uint32

_CANCEL = 80877102


class Canceller(asyncio.Protocol):
    """Sends one cancel request; the shadow hangs up once it has signalled the session."""

    def __init__(self, key: bytes) -> None:
        """`key` is the session's, as its BackendKeyData has it."""
        self._key = key
        self._transport: asyncio.Transport | None = None
        self._over = asyncio.get_running_loop().create_future()

    # Methods that asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # noqa: D102
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(uint32(8 + len(self._key)) + uint32(_CANCEL) + self._key)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002, D102
        if not self._over.done():
            self._over.set_result(None)

    # Methods that the registry calls.

    async def over(self) -> None:
        """Wait until the shadow has signalled the session, as PostgreSQL's clients do, so that its next statement is safe."""
        try:
            await self._over
        finally:
            if self._transport is not None:
                self._transport.close()
