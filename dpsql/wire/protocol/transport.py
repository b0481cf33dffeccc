"""A client's connection: a buffer of what has come, and flow control in both directions."""

import asyncio
import ssl
from asyncio import sslproto
from collections import deque
from collections.abc import Callable
from typing import cast

_ENOUGH = 256 * 1024
"""Bytes that may wait to be read before nothing more is taken from the network."""
_LAST_WORDS = 30.0  # seconds for a client to take them
# asyncio sets a buffer of this size aside for each connection with TLS: 256 KiB unless told otherwise.
sslproto.SSLProtocol.max_size = 64 * 1024


class AcceptedConnection(asyncio.Protocol):
    """A connection that was accepted."""

    accepting: "asyncio.Task[None] | None" = None
    """The task that sets the connection up, until it is done."""

    @property
    def may_go(self) -> bool:
        """Return whether it may be hung up on to make room for another."""
        raise NotImplementedError

    def abort(self) -> None:
        """Hang up at once."""
        if self.accepting is not None:
            self.accepting.cancel()


class ClientTransport(AcceptedConnection):
    """Bytes from and to one client."""

    def __init__(self, accepted: "Callable[[ClientTransport], None]") -> None:
        """`accepted` is called once, when the connection is there."""
        self.on_lost: Callable[[], None] = _nothing
        self.on_full: Callable[[], None] = _nothing
        """Called when the client does not read what is written."""
        self.on_end: Callable[[], None] = _nothing
        """Called when it will send nothing more, and may still read."""
        self.on_free: Callable[[], None] = _nothing
        self._accepted = accepted
        self._transport: asyncio.Transport | None = None
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._stopped = False
        self._reader: asyncio.Future[None] | None = None
        self._last: asyncio.TimerHandle | None = None

    # Methods that asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # noqa: D102
        self._transport = cast("asyncio.Transport", transport)
        self._accepted(self)

    def data_received(self, data: bytes) -> None:  # noqa: D102
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _ENOUGH and self._transport is not None:
            self._stopped = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:  # noqa: D102
        self._ended = True
        self._wake()
        # Nothing more will come, and what was asked can be answered; TLS does not know such an end.
        if self.is_encrypted:
            return False
        self.on_end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002, D102
        self._transport = None
        self._ended = True
        if self._last is not None:
            self._last.cancel()
        self._wake()
        self.on_lost()

    def pause_writing(self) -> None:  # noqa: D102
        self.on_full()

    def resume_writing(self) -> None:  # noqa: D102
        self.on_free()

    # Methods that the listener and the session call.

    @property
    def is_empty(self) -> bool:
        """Return whether nothing waits to be read."""
        return not self._pieces

    @property
    def is_lost(self) -> bool:
        """Return whether nothing can be sent any more."""
        return self._transport is None

    @property
    def address(self) -> str:
        """Return where the client is, as far as the network tells."""
        name = None if self._transport is None else self._transport.get_extra_info("peername")
        return str(name[0]) if name else ""

    @property
    def is_encrypted(self) -> bool:
        """Return whether TLS is on."""
        return self._transport is not None and self._transport.get_extra_info("ssl_object") is not None

    async def read(self) -> bytes:
        """Return what has come, as soon as anything has; b"" when nothing more will."""
        while not self._pieces:
            if self._ended:
                return b""
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        if self._stopped and self._transport is not None:
            self._stopped = False
            self._transport.resume_reading()
        return data

    def write(self, data: bytes) -> None:
        """Send `data`; into the void when the client has gone."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def encrypt(self, context: ssl.SSLContext, seconds: float) -> None:
        """Speak TLS from now on.

        Raises:
            OSError: when the client does not (`ssl.SSLError` is one).
        """
        if self._transport is None:
            raise ConnectionResetError
        loop = asyncio.get_running_loop()
        self._transport = await loop.start_tls(
            self._transport, self, context, server_side=True, ssl_handshake_timeout=seconds
        )
        if self._transport is None:
            raise ConnectionResetError

    def close(self) -> None:
        """Read nothing more, send what is written and hang up; at once after a while, if it is not taken."""
        # With TLS the connection is lost only when the client says good-bye, which an idle one does not.
        self._ended = True
        self._pieces.clear()
        self._wake()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()
            self._last = asyncio.get_running_loop().call_later(_LAST_WORDS, self.abort)

    def abort(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()
        super().abort()

    @property
    def may_go(self) -> bool:
        """Return that it may: only those are asked of whom nobody knows who they are."""
        return True

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)


def _nothing() -> None:
    """Do nothing: nobody listens yet."""
