"""The processes that serve one address together: what they accept from, and how a cancel request finds its connection.

A client sends a cancel request over a connection of its own, which any of them may accept. A process that does not
have its key asks the others, each by a socket of its own, which takes nothing but cancel requests.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from dpsql.wire.protocol.messages import uint32
from dpsql.wire.protocol.startup import StartupCode
from dpsql.wire.server.acceptor import Sockets

# A cancel request to the shadow, which is over when the shadow has carried it out.


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
        transport.write(uint32(8 + len(self._key)) + uint32(StartupCode.CANCEL) + self._key)

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


# The processes, and how they ask each other.

_REQUEST = 16
"""Bytes of a cancel request: its length, its code, the process's number and its key."""
_PATIENCE = 30.0
"""Seconds for another process to carry it out."""


@dataclass(frozen=True, slots=True)
class ProcessSlot:
    """The place of one process among those that serve an address."""

    number: int
    """From 0; what only one of them does, the first one does."""
    sockets: Sockets
    """The sockets that all accept clients from."""
    doors: tuple[Path, ...]
    """By number, where each takes cancel requests from the others."""


class Siblings:
    """The other processes, and the door by which they reach this one."""

    def __init__(self, post: ProcessSlot, cancel: Callable[[int, bytes], Awaitable[bool]]) -> None:
        """`cancel` carries out a cancel request here, and tells whether its key is of a connection here."""
        self._post, self._cancel = post, cancel
        self._door: asyncio.Server | None = None

    async def open(self) -> None:
        """Open the door.

        Raises:
            OSError: it can't be opened.
        """
        own = self._post.doors[self._post.number]
        self._door = await asyncio.get_running_loop().create_unix_server(lambda: _Request(self._cancel), own)

    def close(self) -> None:
        """Close it."""
        if self._door is not None:
            self._door.close()

    async def cancel(self, process: int, key: bytes) -> None:
        """Ask all others to cancel what a connection of theirs runs; return when that is done."""
        own = self._post.number
        await asyncio.gather(*(_ask(door, process, key) for n, door in enumerate(self._post.doors) if n != own))


class _Request(asyncio.Protocol):
    """A cancel request that another process passes on; it is carried out when the connection is closed."""

    def __init__(self, cancel: Callable[[int, bytes], Awaitable[bool]]) -> None:
        self._cancel = cancel
        self._transport: asyncio.Transport | None = None
        self._come = b""
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._come += data
        if self._task is None and len(self._come) >= _REQUEST:
            self._task = asyncio.get_running_loop().create_task(self._carry_out(self._come))

    async def _carry_out(self, request: bytes) -> None:
        length, code, process = (int.from_bytes(request[at : at + 4], "big") for at in (0, 4, 8))
        try:
            if (length, code) == (len(request), StartupCode.CANCEL):
                await self._cancel(process, request[12:])
        finally:
            if self._transport is not None:
                self._transport.close()


async def _ask(door: Path, process: int, key: bytes) -> None:
    with contextlib.suppress(OSError):  # which is also what a timeout is; where nobody is at the door nothing runs
        async with asyncio.timeout(_PATIENCE):
            canceller = Canceller(uint32(process) + key)
            await asyncio.get_running_loop().create_unix_connection(lambda: canceller, str(door))
            await canceller.over()
